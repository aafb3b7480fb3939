// A candidate that is admitted leaves the host half of the application as it is. Candidates are made by a grammar;
// those that admission and the patch's planning let pass are put into an application and compiled for the host:
//   1. The proof finds the host half equal, so admission alone would have been enough. Not asked of a candidate that
//      uses a name which only the application's own text behind the kernel has: admission does not see that text.
//   2. Where the proof finds it equal, the host half's IR, printed and compared as text, is equal too.
//   3. So it is where all that is the device's is the host's as well: no host code finds anything of the candidate.
#include <clang/AST/ASTConsumer.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>
#include <regex>

#include "core/base/file.h"
#include "core/compiler/frontend.h"
#include "core/compiler/host_half.h"
#include "core/compiler/written/source_tokens.h"
#include "core/compiler/written/written_text.h"
#include "reintegrate/patch/source_patch.h"
#include "reintegrate/patch/text_diff.h"
#include "reintegrate/proof/host_proof.h"
#include "sandbox/compile/admission.h"
#include "tests/fuzz/candidate_grammar.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

namespace {

const char* const kHeader =
    "#pragma once\n"
    "#define BLOCK 64\n"
    "enum Color { Red, Green };\n"
    "struct Point { int a, b; };\n"
    "inline long widen(long x) { return x; }\n"
    "template <class T> int rating(T) { return 1; }\n"
    "template <class T> struct Wrapped { T kept; Wrapped(T t) : kept(t) {} };\n"
    "namespace lib {\n"
    "enum class Mode { Off, On };\n"
    "struct Vec { float x, y; };\n"
    "template <class T> struct Traits { using type = int; static constexpr int size = 4; };\n"
    "template <class T> struct Box { T value; Box(T t) : value(t) {} int get() const { return 3; } };\n"
    "template <class T> inline constexpr int rank = 1;\n"
    "template <class T> const int kept = sizeof(T);\n"
    "template <class T> int measure(T) { return 2; }\n"
    "template <class T> bool operator==(const T&, const Vec&) { return true; }\n"
    "inline double norm(Vec v) { return v.x; }\n"
    "constexpr int limit = 7;\n"
    "template <class T> int rate(T t) { return rating(t) + sizeof(Traits<T>); }\n"
    "template <class T> bool same(T t) { return t == t; }\n"
    "}\n";

/// The parts in front of the slice, of the slice, and behind it.
const char* const kBefore =
    "#include \"config.h\"\n"
    "struct Options { int verbose; };\n";
const char* const kSlice =
    "constexpr int kScale = 2;\n"
    "__host__ __device__ inline float scaled(float x) { return kScale * x; }\n"
    "// The kernel.\n"
    "__global__ void scale(float* a, int n) {\n"
    "  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
    "  if (i < n) a[i] = scaled(a[i]);\n"
    "}\n";
const char* const kBehind =
    "static int smaller(long a, long b) { return a < b ? a : b; }\n"
    "int host_work(float* a, int n, const Options& options) {\n"
    "  static int calls = widen(3);\n"
    "  lib::Vec v{1, 2}, w = v;\n"
    "  lib::Mode mode = n > 3 ? lib::Mode::On : lib::Mode::Off;\n"
    "  Point point{n, 2};\n"
    "  auto [p, q] = point;\n"
    "  Color color = n ? Red : Green;\n"
    "  lib::Box box(3);\n"
    "  Wrapped wrapped(4.0f);\n"
    "  dim3 grid(n), other = grid;\n"
    "  int total = ++calls + p + q + box.get() + int(wrapped.kept) + other.x;\n"
    "  total += (mode == lib::Mode::On) + (mode < lib::Mode::On) + (color == Red) + (color < Green) + (Red | color);\n"
    "  total += (v == w) + lib::measure(v) + measure(v) + lib::rate(point) + lib::rate(color) + lib::same(color) + "
    "lib::same(mode);\n"
    "  total += lib::Traits<float>::size + lib::Traits<Point>::size + lib::rank<int> + lib::kept<float> + lib::limit;\n"
    "  total += widen(2) + smaller(n, kScale) + abs(-n) + int(fabs(n) + fabs(2.5) + sqrt(2.0) + norm(v));\n"
    "  total += sizeof(Point) + sizeof(float2) + alignof(lib::Vec) + BLOCK + make_int2(1, 2).x + rating(point);\n"
    "  if (cudaMalloc(&a, n * sizeof(float)) != cudaSuccess || NULL == a) return 1;\n"
    "  scale<<<grid, BLOCK>>>(a, n);\n"
    "  if (cudaGetLastError() == cudaSuccess) printf(\"%d %f\", total, scaled(2));\n"
    "  if (options.verbose) memcpy(&v, &w, sizeof v);\n"
    "  auto later = [&](int x) { return x + total; };\n"
    "  int* fresh_memory = new int(later(3));\n"
    "  delete fresh_memory;\n"
    "  if (cudaFree(a) != cudaSuccess) return 2;\n"
    "  cudaMemcpy(a, a, 4, cudaMemcpyHostToDevice);\n"
    "  return later(max(n, 3) + min(n, 4));\n"
    "}\n";

using Symbols = std::map<std::string, std::string>;

/// Functions and variables as printed, without numbers of attributes and metadata, and with the content of unnamed
/// constants in place of their numbers. Without what a kernel or device variable adds: stubs, handles, shadows.
Symbols printed_symbols(const llvm::Module& module) {
  std::map<std::string, std::string> unnamed;
  for (auto& variable : module.globals()) {
    if (!variable.hasPrivateLinkage() || !variable.hasInitializer()) continue;
    std::string content;
    llvm::raw_string_ostream(content) << *variable.getInitializer();
    unnamed["@" + variable.getName().str()] = content;
  }
  static const std::regex attached(", ![a-z_.A-Z]+ ![0-9]+| #[0-9]+|!srcloc ![0-9]+"),
      constant("@\\.str[.0-9]*|@__const[A-Za-z0-9_.]*");
  auto plain = [&](const llvm::Value& value) {
    std::string text, made;
    llvm::raw_string_ostream(text) << value;
    text = std::regex_replace(text, attached, "");
    size_t last = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), constant), end; at != end; ++at) {
      made.append(text, last, static_cast<size_t>(at->position()) - last);
      auto found = unnamed.find(at->str());
      made += found == unnamed.end() ? at->str() : found->second;
      last = static_cast<size_t>(at->position() + at->length());
    }
    return made.append(text, last);
  };
  Symbols all;
  for (auto& function : module)
    if (!function.isDeclaration() && !function.getName().contains("__device_stub__"))
      all[function.getName().str()] =
          plain(function) + function.getAttributes().getAsString(llvm::AttributeList::FunctionIndex);
  for (auto& variable : module.globals()) {
    bool shadow = variable.hasLocalLinkage() && variable.hasInitializer() &&
                  llvm::isa<llvm::UndefValue>(variable.getInitializer());
    if (!variable.hasPrivateLinkage() && !shadow && !variable.isDeclaration())
      all[variable.getName().str()] = plain(variable);
  }
  for (auto& alias : module.aliases()) all[alias.getName().str()] = plain(alias);
  all["module assembly"] = module.getModuleInlineAsm();
  return all;
}

/// An application, in a namespace or not, and what it is without a patch.
struct Application {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fuzz"));
  std::string original, text;
  Mep mep;
  ScanIndex scan;
  std::set<std::string> host_names;  ///< Only the text outside of the slice has them, or the slice gives them to it.
  OwnText own;
  std::set<std::string> own_findings;
  Symbols host;

  explicit Application(bool in_namespace) {
    const std::string open = in_namespace ? "namespace app {\n" : "", close = in_namespace ? "}\n" : "";
    text = std::string(kBefore) + open + kSlice + kBehind + close;
    original = "#include \"config.h\"\n" + open + kSlice + close;
    fuzz::put(folder.path() / "config.h", kHeader);
    fuzz::put(folder.path() / "app.cu", text);
    auto lines = static_cast<uint32_t>(std::ranges::count(text, '\n'));
    auto slice = static_cast<uint32_t>(std::ranges::count(std::string_view(kSlice), '\n')) + in_namespace;
    mep.origins = {{"app.cu", 1}};
    for (uint32_t line = 0; line < slice; ++line) mep.origins.push_back({"app.cu", line + 3});
    if (in_namespace) mep.origins.push_back({"app.cu", lines});
    const std::string scope = in_namespace ? "app::" : "";
    mep.kernel_key = scope + "scale(float*, int)", mep.kernel_name = scope + "scale", mep.kernel_id = "1234abcd";
    mep.unit = "app.cu", mep.app_root = folder.path().string();
    mep.parameters = {{"a", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
    scan.root = mep.app_root, scan.language = "cuda";
    scan.units = {{(folder.path() / "app.cu").string(), mep.app_root, {"nvcc", "-c", "app.cu", "-o", "o"}, {}, "lean"}};
    ScannedKernel kernel;
    kernel.id = mep.kernel_id, kernel.key = mep.kernel_key, kernel.name = mep.kernel_name;
    size_t begin = text.find("__global__");
    kernel.definition = {"app.cu", begin, text.find("\n}\n", begin) + 2, 0, 0};
    scan.kernels = {kernel};
    own = OwnText(original);
    auto admitted = findings(original);
    fuzz::require(admitted.ok(), admitted.ok() ? "" : admitted.error().message.c_str());
    for (auto& finding : *admitted) own_findings.insert(finding.identity());
    auto first = host_symbols(text);
    fuzz::require(first.ok(), first.ok() ? "" : first.error().message.c_str());
    host = std::move(*first);
    auto read = read_host_text(unit(), {{folder.path() / "app.cu", "#include \"config.h\"\n", {}}}, true);
    fuzz::require(read.ok(), "the headers can be read");
    for (auto& token : source_tokens(text))
      if (token.kind == SourceToken::Kind::Identifier && !read->identifiers.contains(token.text))
        host_names.insert(token.text);
  }

  HostUnit unit() const {
    HostUnit made{scan.units[0].file, mep.app_root, {}, SourceInput::Language::Cuda, HeaderSet::Lean};
    made.command = std::move(*parse_compiler_command(scan.units[0].command, mep.app_root));
    return made;
  }
  /// What the parse of a candidate finds, if it compiles.
  Result<std::vector<sandbox::AdmissionFinding>> findings(const std::string& candidate) const {
    llvm::LLVMContext context;
    std::vector<sandbox::AdmissionFinding> found;
    FrontendOptions options;
    options.folder = mep.app_root;
    options.observer = [&](clang::CompilerInstance& compiler) { return sandbox::watch_admission(compiler, found); };
    if (auto compiled = compile_to_device_ir(context, candidate, options); !compiled.ok())
      return std::move(compiled).error();
    return found;
  }
  Result<Symbols> host_symbols(const std::string& patched) const {
    llvm::LLVMContext context;
    auto half = compile_host_half(context, unit(), {{folder.path() / "app.cu", patched, {}}}, true);
    if (!half.ok()) return std::move(half).error();
    return printed_symbols(*half->module);
  }
  /// Why the candidate is not admitted; empty if it is.
  std::string refusal(const std::string& candidate) const {
    std::string why = own.first_refusal(written_constructs(candidate), "kernel.cu");
    if (!why.empty()) return why;
    auto found = findings(candidate);
    return found.ok() ? sandbox::first_refusal(*found, own_findings) : found.error().message;
  }
  bool uses_host_names(const std::string& added) const {
    return std::ranges::any_of(source_tokens(added), [&](auto& token) { return host_names.contains(token.text); });
  }
};

/// Set: candidates and findings are printed, and a finding does not end the process.
bool is_shown() {
  static const bool shown = std::getenv("KERNELIFT_SHOW_CANDIDATES") != nullptr;
  return shown;
}

void found(const char* what, const std::string& why, const std::string& candidate) {
  std::fprintf(stderr, "%s: %s\n--- the candidate\n%s---\n", what, why.c_str(), candidate.c_str());
  if (!is_shown()) std::abort();
}

std::string first_difference(const Symbols& before, const Symbols& after) {
  for (auto& [name, text] : after)
    if (auto at = before.find(name); at == before.end() || at->second != text)
      return name + "\n" + (at == before.end() ? "(nothing)" : at->second) + "\n" + text;
  for (auto& [name, text] : before)
    if (!after.contains(name)) return name + "\n" + text + "\n(nothing)";
  return {};
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Application applications[] = {Application(false), Application(true)};
  if (size < 2) return 0;
  const Application& application = applications[data[0] & 1];
  auto made = fuzz::candidate_text({reinterpret_cast<const char*>(data + 1), size - 1}, application.original);
  if (is_shown()) std::fprintf(stderr, "--- candidate\n%s", made.text.c_str());
  if (std::string why = application.refusal(made.text); !why.empty()) {
    if (is_shown()) std::fprintf(stderr, "--- refused: %s\n", why.c_str());
    return 0;
  }
  Candidate candidate;
  candidate.source = made.text, candidate.launches = {CandidateLaunch::as_recorded(application.mep.kernel_name)};
  auto patch = reintegrate::plan_patch(
      {application.mep, application.original, candidate, &application.scan, application.folder.path()});
  if (!patch.ok()) return 0;
  auto proof = reintegrate::compare_host_half({application.mep, &application.scan, *patch, {}});
  if (is_shown())
    std::fprintf(stderr, "--- admitted; the proof: %s\n", proof.ok() ? "equal" : proof.error().message.c_str());
  if (!proof.ok()) {
    const std::string& why = proof.error().message;
    // A text that does not compile changes no program; the names of kernels and macros are judged by the proof alone,
    // and so is what host code finds.
    const auto parts = {"does not compile",          "the patch adds a kernel", "defines the macro",
                        "of the candidate, as nvcc", "is named by a macro",     "would be a name of the whole program",
                        "a name that is used there", "which is a macro there"};
    const bool known = std::ranges::any_of(parts, [&](const char* part) { return why.find(part) != why.npos; });
    if (!known && !application.uses_host_names(made.added)) found("admitted, but the proof says", why, made.text);
    return 0;
  }
  if (patch->changes.empty()) return 0;
  auto host = application.host_symbols(patch->changes[0].after);
  if (!host.ok()) found("proven, but it does not compile", host.error().message, made.text);
  else if (std::string difference = first_difference(application.host, *host); !difference.empty())
    found("proven, but the host's IR differs", difference, made.text);
  const std::string visible =
      std::regex_replace(patch->changes[0].after, std::regex("\\b__device__\\b"), "__device__ __host__");
  auto seen = application.host_symbols(visible);
  if (!seen.ok()) return 0;
  if (std::string difference = first_difference(application.host, *seen); !difference.empty())
    found("proven, but host code finds what is the device's", difference, made.text);
  return 0;
}
