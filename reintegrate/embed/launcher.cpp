// The generated header is C++11, because it must compile with the application's own language standard. Placeholders in
// the templates are @WORDS@.
#include "reintegrate/embed/launcher.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/base/hash.h"
#include "core/base/shown/outside_text.h"
#include "core/model/launch_values.h"
#include "reintegrate/embed/ptx_text.h"

namespace kernelift::reintegrate {
namespace {

constexpr size_t kLiteralBytes = 8000;  ///< Bytes of one string literal; some compilers accept no more than 16 KiB.
constexpr std::string_view kLiteralEnd = ")ptx\"";
constexpr size_t kCommentColumns = 118;

/// The preprocessor's part of the guard: that the toolkit can run the code.
constexpr const char* kCondition = "KERNELIFT_EMBED && CUDART_VERSION >= 12010 && !defined(KERNELIFT_LEAN_HEADERS)";

const char* const kHead =
    R"text(// Tuned code for the kernel '@KERNEL@', written by `kernelift apply`. Not meant to be edited.
//
@STORY@//
// The kernel in the source remains the reference. After a change to it this file is out of date: generate it again by
// tuning again (`kernelift optimize`, or `record`, `extract`, `tune` and `apply`), or remove it.
// To run without it: set KERNELIFT_EMBED=0 in the environment, or compile with -DKERNELIFT_EMBED=0.
// To remove it: delete this file and its #include, and replace @NAME@::launch(kernel, ...)(...)
// by kernel<<<...>>>(...) again.
#pragma once
#include <cuda_runtime.h>
#ifdef __unix__
#include <sched.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>

#ifndef KERNELIFT_EMBED
#define KERNELIFT_EMBED 1
#endif

namespace @NAME@ {
// A hash of this file's text: if another kernel of this name has such a file too, in this program or in a library, the
// linker must not merge their inline functions. Nor may it merge those of units that are compiled with other macros.
// Toolkits before CUDA 12.1 cannot load kernel libraries, and the CPU device cannot run PTX: there the original runs.
#if @CONDITION@
inline namespace @VERSION@ {
#else
inline namespace @VERSION@_off {
#endif
namespace code {

// Addresses of the application's variables of which the tuned code reads copies.
struct Symbols {
  const void* of[@VARIABLES@ + 1];
  Symbols() : of() {}
};

#if @CONDITION@
)text";

// The body is split into several literals, because compilers limit their length.
const char* const kBodyGuard = R"text(
template <std::size_t kBytes> struct Number;
template <> struct Number<1> { typedef unsigned char Bits; typedef signed char Value; };
template <> struct Number<2> { typedef unsigned short Bits; typedef short Value; };
template <> struct Number<4> { typedef unsigned int Bits; typedef int Value; };
template <> struct Number<8> { typedef unsigned long long Bits; typedef long long Value; };

template <std::size_t kBytes> typename Number<kBytes>::Bits bits(const void* argument) {
  typename Number<kBytes>::Bits value;
  std::memcpy(&value, argument, kBytes);
  return value;
}
template <std::size_t kBytes> typename Number<kBytes>::Value number(const void* argument) {
  return static_cast<typename Number<kBytes>::Value>(bits<kBytes>(argument));
}
inline unsigned long long address(const void* argument) { return bits<sizeof(void*)>(argument); }
template <class Value, class Limit> bool within(Value value, Limit low, Limit high) {
  return low <= static_cast<Limit>(value) && static_cast<Limit>(value) <= high;
}
// True if [p, p + p_bytes) and [q, q + q_bytes) do not overlap.
inline bool apart(unsigned long long p, unsigned long long p_bytes, unsigned long long q, unsigned long long q_bytes) {
  return p < q ? q - p >= p_bytes : p - q >= q_bytes;
}
inline bool same(const dim3& is, unsigned x, unsigned y, unsigned z) { return is.x == x && is.y == y && is.z == z; }

// True under the conditions for which this code was verified; `a` points to the addresses of the kernel's arguments.
inline bool verified(const dim3& grid, const dim3& block, std::size_t shared, void* const* a) {
  (void)grid, (void)block, (void)shared, (void)a;
  return @CLAUSES@;
}

// Compares the types of the kernel's parameters: if they have changed, the tuned code does not belong to the kernel any
// more. Arithmetic types and pointers to them are compared without qualifiers, enumerations by their underlying types;
// of other types (structures, vectors) only the size is compared.
template <std::size_t kBytes> struct Sized;
template <class T, bool kEnum = std::is_enum<T>::value> struct Plain { typedef typename std::remove_cv<T>::type Type; };
template <class T> struct Plain<T, true> { typedef typename std::underlying_type<T>::type Type; };
template <class T> struct Plain<T*, false> { typedef typename Plain<T>::Type* Type; };
template <class P, class Known> struct Same : std::is_same<typename Plain<typename std::remove_cv<P>::type>::Type, Known> {};
template <class P, std::size_t kBytes> struct Same<P, Sized<kBytes> > : std::integral_constant<bool, sizeof(P) == kBytes> {};
template <class... P> struct List {};
template <class A, class B> struct SameAll : std::false_type {};
template <> struct SameAll<List<>, List<> > : std::true_type {};
template <class P, class... Ps, class K, class... Ks>
struct SameAll<List<P, Ps...>, List<K, Ks...> > : std::integral_constant<bool, Same<P, K>::value && SameAll<List<Ps...>, List<Ks...> >::value> {};
template <class... P> bool same_parameters() { return SameAll<List<P...>, List<@TYPES@> >::value; }

)text";

const char* const kBodyModule = R"text(enum State { kUnknown = 0, kReady, kUnusable };

struct Module {
  static const int kDevices = 64;
  std::atomic<int> states[kDevices];  // One State per device.
  std::atomic_flag preparing = ATOMIC_FLAG_INIT;
  const void* kernel;                 // A cudaKernel_t: valid in every context.
  void* library;
  bool loaded;
  const char* report;                 // File to which the process appends its launch counts at exit; or null.
  std::atomic<unsigned long long> tuned, original;
  Module() : kernel(nullptr), library(nullptr), loaded(false), report(std::getenv("KERNELIFT_EMBED_REPORT")), tuned(0), original(0) {
    for (int i = 0; i < kDevices; ++i) states[i].store(kUnknown, std::memory_order_relaxed);
  }
};
inline void write_report();
inline Module& module() {
  // Never destroyed: kernels may be launched until the process ends.
  static Module* one = [] {
    Module* made = new Module;
    if (made->report) (void)std::atexit(write_report);
    return made;
  }();
  return *one;
}
inline void write_report() {
  Module& of = module();
  std::FILE* file = std::fopen(of.report, "a");
  if (!file) return;
  std::fprintf(file, "@NAME@ %llu tuned %llu original\n", of.tuned.load(), of.original.load());
  (void)std::fclose(file);
}

inline const void* load_library(Module& of) {
#if CUDART_VERSION >= 12080
  cudaLibrary_t library;
  cudaKernel_t kernel;
  if (cudaLibraryLoadData(&library, ptx(), nullptr, nullptr, 0, nullptr, nullptr, 0) != cudaSuccess) return nullptr;
  if (cudaLibraryGetKernel(&kernel, library, "@ENTRY@") != cudaSuccess) return nullptr;
  of.library = reinterpret_cast<void*>(library);
  return reinterpret_cast<const void*>(kernel);
#else
  // Uses the driver's functions; the driver's kernel handles are valid for the runtime too.
  typedef int (*Load)(void** library, const void* code, int*, void**, unsigned, int*, void**, unsigned);
  typedef int (*Get)(void** kernel, void* library, const char* name);
  void *load = nullptr, *get = nullptr, *library = nullptr, *kernel = nullptr;
  if (cudaGetDriverEntryPoint("cuLibraryLoadData", &load, cudaEnableDefault) != cudaSuccess || !load) return nullptr;
  if (cudaGetDriverEntryPoint("cuLibraryGetKernel", &get, cudaEnableDefault) != cudaSuccess || !get) return nullptr;
  if (reinterpret_cast<Load>(load)(&library, ptx(), nullptr, nullptr, 0, nullptr, nullptr, 0) != 0) return nullptr;
  if (reinterpret_cast<Get>(get)(&kernel, library, "@ENTRY@") != 0) return nullptr;
  of.library = library;
  return kernel;
#endif
}

@BINDING@inline bool usable(Module& of, int device, const Symbols& symbols) {
  (void)symbols;
  const char* wanted = std::getenv("KERNELIFT_EMBED");
  if (wanted && wanted[0] == '0') return false;
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess) return false;
  if (cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess) return false;
  if (major != @MAJOR@ || minor != @MINOR@) return false;
  if (!of.loaded) of.loaded = true, of.kernel = load_library(of);
  // Querying the attributes makes the driver compile the kernel for this device now instead of at the first launch.
  cudaFuncAttributes attributes;
  if (!of.kernel || cudaFuncGetAttributes(&attributes, of.kernel) != cudaSuccess) return false;
@PREPARE@  return true;
}

// One thread prepares, others wait for it. A std::mutex would bring functions of the standard library with it that are
// not inline.
struct Preparing {
  std::atomic_flag& flag;
  explicit Preparing(std::atomic_flag& one) : flag(one) {
    while (flag.test_and_set(std::memory_order_acquire)) {
#ifdef __unix__
      (void)sched_yield();
#endif
    }
  }
  ~Preparing() { flag.clear(std::memory_order_release); }
};

// Prepares the kernel once per device, in relaxed capture mode: its calls must not break a capture in another thread.
inline bool prepare(Module& of, int device, const Symbols& symbols) {
  Preparing alone(of.preparing);
  int known = of.states[device].load(std::memory_order_relaxed);
  if (known != kUnknown) return known == kReady;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  if (cudaThreadExchangeStreamCaptureMode(&mode) != cudaSuccess) return (void)cudaGetLastError(), false;
  bool ready = usable(of, device, symbols);
  (void)cudaThreadExchangeStreamCaptureMode(&mode);
  if (!ready) (void)cudaGetLastError();
  of.states[device].store(ready ? kReady : kUnusable, std::memory_order_release);
  return ready;
}

// A graph that has captured a launch may later be updated with other arguments and another grid without passing the
// guard: code that is right for certain arguments only is not launched into graphs.
const bool kInGraphs = @IN_GRAPHS@;

inline bool launched(Module& of, const Symbols& symbols, const dim3& grid, const dim3& block, std::size_t shared, cudaStream_t stream, void** a) {
  if (!verified(grid, block, shared, a) || cudaPeekAtLastError() != cudaSuccess) return false;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device < 0 || device >= Module::kDevices) return (void)cudaGetLastError(), false;
  int state = of.states[device].load(std::memory_order_acquire);
  if (state == kUnusable) return false;
  if (state == kUnknown || !kInGraphs) {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess) return (void)cudaGetLastError(), false;
    if (capture != cudaStreamCaptureStatusNone) return false;
  }
  if (state == kUnknown && !prepare(of, device, symbols)) return false;
@LAUNCH@
  (void)cudaGetLastError();
  of.states[device].store(kUnusable, std::memory_order_release);
  return false;
}

// True if the tuned code was launched. False: nothing was launched, and no CUDA error is left behind.
inline bool run(const Symbols& symbols, const dim3& grid, const dim3& block, std::size_t shared, cudaStream_t stream, void** a) {
  Module& of = module();
  bool tuned = launched(of, symbols, grid, block, shared, stream, a);
  if (of.report) ++(tuned ? of.tuned : of.original);
  return tuned;
}

#else
inline bool run(const Symbols&, const dim3&, const dim3&, std::size_t, cudaStream_t, void**) { return false; }
template <class... P> bool same_parameters() { return false; }
#endif

}  // namespace code
)text";

const char* const kBodyLaunch = R"text(
// The result of launch(): calling it with the kernel's arguments launches the kernel.
template <class... P> class Launch {
 public:
  Launch(const code::Symbols& symbols, void (*kernel)(P...), bool tuned, dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream)
      : symbols_(symbols), kernel_(kernel), tuned_(tuned), grid_(grid), block_(block), shared_(shared), stream_(stream) {}
  void operator()(P... arguments) const {
    void* addresses[] = {const_cast<void*>(static_cast<const volatile void*>(std::addressof(arguments)))..., nullptr};
    if (tuned_ && code::same_parameters<P...>() && code::run(symbols_, grid_, block_, shared_, stream_, addresses)) return;
    kernel_<<<grid_, block_, shared_, stream_>>>(static_cast<P&&>(arguments)...);
  }

 private:
  code::Symbols symbols_;
  void (*kernel_)(P...);
  bool tuned_;
  dim3 grid_, block_;
  std::size_t shared_;
  cudaStream_t stream_;
};

@SITE@// launch(kernel, grid, block, shared, stream)(arguments...) replaces kernel<<<grid, block, shared, stream>>>(arguments...).
template <class... P>
Launch<P...> launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = 0)@CONST@ {
  return Launch<P...>(@SYMBOLS@, kernel, true, grid, block, shared, stream);
}

// The same for a site that also launches other kernels or other instances of the template: only `tuned` has tuned code.
template <class... P, class... Q>
Launch<P...> launch_one(void (*tuned)(Q...), void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared = 0, cudaStream_t stream = 0)@CONST@ {
  bool same = reinterpret_cast<void (*)()>(tuned) == reinterpret_cast<void (*)()>(kernel);
  return Launch<P...>(@SYMBOLS@, kernel, same, grid, block, shared, stream);
}

// Replaces cudaLaunchKernel(kernel, grid, block, arguments, shared, stream).
template <class Kernel, class... Q>
cudaError_t launch_packed(void (*tuned)(Q...), Kernel* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0,
                          cudaStream_t stream = 0)@CONST@ {
  const void* entry = reinterpret_cast<const void*>(kernel);
  if (reinterpret_cast<const void*>(tuned) == entry && code::same_parameters<Q...>() &&
      code::run(@SYMBOLS@, grid, block, shared, stream, arguments))
    return cudaSuccess;
  return cudaLaunchKernel(entry, grid, block, arguments, shared, stream);
}
@SITE_END@
}  // inline namespace
}  // namespace @NAME@
)text";

// Added for kernels that read constants.
const char* const kBinding = R"text(// Address of the tuned code's own copy of a variable, on the current device.
inline bool own_copy(Module& of, const char* name, std::size_t size, void** copy) {
  std::size_t bytes = 0;
#if CUDART_VERSION >= 12080
  bool found = cudaLibraryGetGlobal(copy, &bytes, reinterpret_cast<cudaLibrary_t>(of.library), name) == cudaSuccess;
#else
  typedef int (*Get)(void** address, std::size_t* bytes, void* library, const char* name);
  static void* get = nullptr;
  bool found = (get || cudaGetDriverEntryPoint("cuLibraryGetGlobal", &get, cudaEnableDefault) == cudaSuccess) && get &&
               reinterpret_cast<Get>(get)(copy, &bytes, of.library, name) == 0;
#endif
  return found && bytes == size;
}

struct Variable { const char* name; std::size_t size; };
inline const Variable* variables() {
  static const Variable all[] = {@LIST@};
  return all;
}

// Source and destination of a copy. They are queried at each launch, because a device reset moves them.
inline bool both_sides(Module& of, const Symbols& symbols, int i, void** from, void** to) {
  return symbols.of[i] && cudaGetSymbolAddress(from, symbols.of[i]) == cudaSuccess && own_copy(of, variables()[i].name, variables()[i].size, to);
}

// Copies the application's variables to those that the tuned code reads, in stream order.
inline bool refresh(Module& of, const Symbols& symbols, cudaStream_t stream) {
  for (int i = 0; i < @VARIABLES@; ++i) {
    void *from = nullptr, *to = nullptr;
    if (!both_sides(of, symbols, i, &from, &to)) return false;
    if (cudaMemcpyAsync(to, from, variables()[i].size, cudaMemcpyDeviceToDevice, stream) != cudaSuccess) return false;
  }
  return true;
}

)text";

const char* const kSite = R"text(// A launch site with the variables bound to it: bind(@SPELLINGS@).launch(...).
class Site {
 public:
  explicit Site(const code::Symbols& symbols) : symbols_(symbols) {}

)text";

const char* const kSiteEnd = R"text(
 private:
  code::Symbols symbols_;
};

template <class... S> Site bind(const S&... variables) {
  static_assert(sizeof...(S) == @VARIABLES@, "bind() takes the variables that the tuned code reads");
  const std::size_t sizes[] = {sizeof(S)...}, known[] = {@BYTES@};
  const void* addresses[] = {static_cast<const void*>(&variables)...};
  code::Symbols symbols;
  for (int i = 0; i < @VARIABLES@; ++i)
    if (sizes[i] == known[i]) symbols.of[i] = addresses[i];
  return Site(symbols);
}
)text";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The text as a wrapped C++ comment.
std::string comment(const std::string& text) {
  std::string out, line = "//", paragraph = comment_text(text);
  for (size_t at = 0; at < paragraph.size();) {
    size_t end = std::min(paragraph.find(' ', at), paragraph.size());
    std::string word = paragraph.substr(at, end - at);
    at = end + 1;
    if (line.size() + 1 + word.size() > kCommentColumns) out += line + "\n", line = "//  ";
    line += " " + word;
  }
  return out + line + "\n";
}

/// A C++ function that returns the text, split into literals that every compiler accepts.
std::string literal(const std::string& ptx) {
  std::string out = "inline const char* ptx() {\n  static const char text[] =\n";
  for (size_t at = 0; at < ptx.size();) {
    size_t end = std::min(at + kLiteralBytes, ptx.size());
    if (end < ptx.size())
      if (size_t newline = ptx.rfind('\n', end - 1); newline != ptx.npos && newline >= at) end = newline + 1;
    out += "R\"ptx(" + ptx.substr(at, end - at) + std::string(kLiteralEnd) + "\n";
    at = end;
  }
  return out + "      ;\n  return text;\n}\n";
}

/// The statements that launch the candidate, with its geometry computed from the launch site's grid and block.
std::string launch_statements(const Mep& mep, const Candidate& candidate, bool binds) {
  CandidateLaunch launch = candidate.launches.empty() ? CandidateLaunch::as_recorded("") : candidate.launches[0];
  std::map<std::string, std::string> sizes, variables;
  for (int axis = 0; axis < 3; ++axis)
    sizes[kGridVariables[axis]] = std::string("grid.") + "xyz"[axis],
    sizes[kBlockVariables[axis]] = std::string("block.") + "xyz"[axis];
  variables[kSharedVariable] = "static_cast<long long>(shared)";
  for (auto& [name, spelled] : sizes) variables[name] = "static_cast<long long>(" + spelled + ")";
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (auto& parameter = mep.parameters[p]; parameter.is_integer())
      variables.emplace(parameter.name, "static_cast<long long>(*static_cast<const " + parameter.scalar + "*>(a[" +
                                            std::to_string(p) + "]))");
  auto value = [&](const Expression& expression) {
    Expression wanted = expression.simplified(candidate.values);
    auto size = wanted.as_variable() ? sizes.find(*wanted.as_variable()) : sizes.end();
    if (size != sizes.end()) return size->second;
    if (auto number = wanted.as_constant(); number && *number >= 0) return std::to_string(*number) + "u";
    return "static_cast<unsigned>(" + wanted.cpp(variables) + ")";
  };
  auto dims = [&](const Expression* wanted) {
    return value(wanted[0]) + ", " + value(wanted[1]) + ", " + value(wanted[2]);
  };
  std::string bytes =
      launch.shared.is_variable(kSharedVariable)
          ? "shared"
          : "static_cast<std::size_t>(" + launch.shared.simplified(candidate.values).cpp(variables) + ")";
  std::string first = binds ? "  if (!refresh(of, symbols, stream)) return (void)cudaGetLastError(), false;\n" : "";
  return first + "  const dim3 tuned_grid(" + dims(launch.grid) + "), tuned_block(" + dims(launch.block) +
         ");\n  if (cudaLaunchKernel(of.kernel, tuned_grid, tuned_block, a, " + bytes +
         ", stream) == cudaSuccess) return true;";
}

/// The statements that set for the embedded kernel what the application had set for its own: more than 48 KB of dynamic
/// shared memory, and the carveout between shared memory and L1 cache.
Result<std::string> preparation(const Mep& mep, const Candidate& candidate) {
  uint32_t shared = 0;
  uint64_t threads = 0;
  int carveout = -1;
  for (auto& instance : mep.instances) {
    CandidateLaunch launch = candidate.launches.empty() ? CandidateLaunch::as_recorded("") : candidate.launches[0];
    KERNELIFT_ASSIGN(Geometry geometry,
                     launch.evaluate(instance.geometry, with_arguments(mep, instance, candidate.values)));
    shared = std::max(shared, geometry.shared_bytes);
    threads = std::max(threads, geometry.block.count());
    carveout = std::max(carveout, instance.settings.carveout);
  }
  auto set = [](const char* attribute, long long value) {
    return "  if (cudaFuncSetAttribute(of.kernel, " + std::string(attribute) + ", " + std::to_string(value) +
           ") != cudaSuccess) return false;\n";
  };
  std::string text = "  if (attributes.maxThreadsPerBlock < " + std::to_string(threads) + ") return false;\n";
  if (shared > 0) text += set("cudaFuncAttributeMaxDynamicSharedMemorySize", shared);
  if (carveout >= 0) text += set("cudaFuncAttributePreferredSharedMemoryCarveout", carveout);
  return text;
}

}  // namespace

std::string launcher_name(const std::string& kernel_name) {
  constexpr size_t kLongest = 60;
  constexpr size_t kHashed = 9;
  std::string name = "kernelift_";
  bool lossy = false;
  for (char c : kernel_name) {
    bool plain = std::isalnum(static_cast<unsigned char>(c));
    lossy |= !plain && !std::strchr("_:<>, ", c);
    if (plain || name.back() != '_') name += plain ? c : '_';
  }
  while (name.back() == '_') name.pop_back();
  if (lossy || name.size() > kLongest)
    name = name.substr(0, kLongest - kHashed) + "_" + hash_text(kernel_name).hex().substr(0, kHashed - 1);
  return name;
}

std::string launcher_prefix(const std::string& launcher, const std::vector<BoundVariable>& bound) {
  std::string list;
  for (auto& variable : bound) list += (list.empty() ? "" : ", ") + variable.spelling;
  return launcher + "::" + (bound.empty() ? "" : "bind(" + list + ").");
}

Result<std::string> launcher_text(const Mep& mep, const Candidate& candidate, const EmbeddedCode& code,
                                  const ShapeGuard& guard, const std::vector<BoundVariable>& bound,
                                  const std::vector<std::string>& launched_in, const std::filesystem::path& header) {
  std::string arch = ptx_target(code.ptx);
  bool known = arch.size() >= 5 && arch.starts_with("sm_") && arch.find_first_not_of("0123456789", 3) == arch.npos;
  if (!known)
    return refused("the PTX is for '" + arch +
                   "', which is not a plain compute capability: the launcher could not decide which GPUs can run it");
  std::string major = arch.substr(3, arch.size() - 4), minor = arch.substr(arch.size() - 1);
  int version = ptx_version(code.ptx);
  const bool in_graphs = guard.any_arguments && bound.empty();

  std::string files, clauses, conditions = "compute capability " + major + "." + minor;
  for (auto& file : launched_in) files += (files.empty() ? "" : ", ") + file;
  for (auto& clause : guard.clauses) {
    clauses += (clauses.empty() ? "" : " &&\n         ") + clause.code;
    conditions += "; " + clause.text;
  }
  for (auto& macro : guard.macros) conditions += "; compiled with " + macro.text;
  std::string story =
      comment("What it is: PTX, NVIDIA's portable assembly, which " + code.compiler +
              " generated from a tuned version of '" + mep.kernel_name + "' (" + code.origin + "). The launches in " +
              files + " go through launch() below. Why it is not C++: " + code.why);
  story +=
      comment("When it runs: " + conditions + ". The driver must know PTX " + std::to_string(version / 10) + "." +
              std::to_string(version % 10) +
              ". In every other case, and whenever anything fails, the kernel in the source is launched as before.");
  if (!in_graphs)
    story += comment(
        "Launches that a CUDA graph captures run the original, because a graph may be given other arguments later.");
  for (auto& what : guard.unguarded) story += comment("Not part of that condition: " + what + ".");
  if (code.ptx.find(kLiteralEnd) != code.ptx.npos)
    return refused("its PTX has what would end the string that holds it");
  story += comment("Measured on " + code.measured_on + ". Hash of the PTX: " + hash_text(code.ptx).hex() + ".");

  std::string types, condition = kCondition, text = std::string(kHead);
  for (size_t i = 0; i < mep.instances[0].parameters.size(); ++i) {
    bool plain = i < guard.types.size() && !guard.types[i].empty();
    types += (i ? ", " : "") +
             (plain ? guard.types[i] : "Sized<" + std::to_string(mep.instances[0].parameters[i].size) + ">");
  }
  for (auto& macro : guard.macros) condition += " && \\\n    " + macro.code;
  std::string body = std::string(kBodyGuard) + kBodyModule + kBodyLaunch;
  KERNELIFT_ASSIGN(std::string prepare, preparation(mep, candidate));
  std::string list, bytes, spellings;
  uint64_t copied = 0;
  for (size_t i = 0; i < bound.size(); ++i) {
    list += "{\"" + bound[i].name + "\", " + std::to_string(bound[i].size) + "}, ";
    bytes += (i ? ", " : "") + std::to_string(bound[i].size);
    spellings += (i ? ", " : "") + bound[i].spelling;
    copied += bound[i].size;
    prepare += (i ? "" : "  void *from = nullptr, *to = nullptr;\n") +
               ("  if (!both_sides(of, symbols, " + std::to_string(i) + ", &from, &to)) return false;\n");
  }
  if (!bound.empty())
    story += comment("Constants: it has its own copies of " + spellings +
                     "; each launch first copies the application's values to them (" + std::to_string(copied) +
                     " bytes), in the launch's stream.");
  replace_all(text, "@STORY@", story);
  replace_all(text, "@CONDITION@", condition);
  replace_all(body, "@BINDING@", bound.empty() ? "" : kBinding);
  replace_all(body, "@SITE@", bound.empty() ? "" : kSite);
  replace_all(body, "@SITE_END@", bound.empty() ? "" : kSiteEnd);
  replace_all(body, "@CONST@", bound.empty() ? "" : " const");
  replace_all(body, "@SYMBOLS@", bound.empty() ? "code::Symbols()" : "symbols_");
  replace_all(body, "@LIST@", list);
  replace_all(body, "@BYTES@", bytes);
  replace_all(body, "@SPELLINGS@", spellings);
  replace_all(body, "@CLAUSES@", clauses.empty() ? "true" : clauses);
  replace_all(body, "@TYPES@", types);
  replace_all(body, "@IN_GRAPHS@", in_graphs ? "true" : "false");
  replace_all(body, "@MAJOR@", major);
  replace_all(body, "@MINOR@", minor);
  replace_all(body, "@PREPARE@", prepare);
  replace_all(body, "@LAUNCH@", launch_statements(mep, candidate, !bound.empty()));
  replace_all(body, "@ENTRY@", code.entry);
  for (std::string* part : {&text, &body}) {
    replace_all(*part, "@VARIABLES@", std::to_string(bound.size()));
    replace_all(*part, "@NAME@", header.empty() ? launcher_name(mep.kernel_name) : header.stem().string());
    replace_all(*part, "@KERNEL@", comment_text(mep.kernel_name));
  }
  text += literal(code.ptx) + body;
  replace_all(text, "@VERSION@", "v_" + hash_text(header.generic_string() + "\n" + text).hex().substr(0, 16));
  return text;
}

}  // namespace kernelift::reintegrate
