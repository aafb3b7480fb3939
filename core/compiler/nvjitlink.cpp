// See nvjitlink.h. The library's functions are declared here: they are plain C with opaque handles, stable since CUDA
// 12, and so building Kernelift needs no toolkit for them.
#include "core/compiler/nvjitlink.h"

#include <dlfcn.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "core/toolchain/cuda_libraries.h"

namespace kernelift {
namespace {

constexpr int kMajors[] = {13, 12};
constexpr int kInputPtx = 2;  // NVJITLINK_INPUT_PTX
constexpr size_t kLongestDetail = 1000;

struct JitLink {
  using Handle = void*;
  int (*create)(Handle*, uint32_t, const char**) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*add)(Handle, int, const void*, size_t, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubin_size)(Handle, size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*error_size)(Handle, size_t*) = nullptr;
  int (*error)(Handle, char*) = nullptr;
  int (*info_size)(Handle, size_t*) = nullptr;
  int (*info)(Handle, char*) = nullptr;
};

Result<JitLink> open_library() {
  std::string trouble;
  for (int major : kMajors) {
    auto file = find_cuda_library("libnvJitLink.so", major);
    if (!file.ok()) {
      if (trouble.empty()) trouble = file.error().message;
      continue;
    }
    void* library = dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      trouble = dlerror();
      continue;
    }
    JitLink link;
    bool all = true;
    auto look_up = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      all = all && function;
    };
    look_up(link.create, "nvJitLinkCreate"), look_up(link.destroy, "nvJitLinkDestroy");
    look_up(link.add, "nvJitLinkAddData"), look_up(link.complete, "nvJitLinkComplete");
    look_up(link.cubin_size, "nvJitLinkGetLinkedCubinSize"), look_up(link.cubin, "nvJitLinkGetLinkedCubin");
    look_up(link.error_size, "nvJitLinkGetErrorLogSize"), look_up(link.error, "nvJitLinkGetErrorLog");
    look_up(link.info_size, "nvJitLinkGetInfoLogSize"), look_up(link.info, "nvJitLinkGetInfoLog");
    if (all) return link;
    trouble = file->string() + " lacks functions of nvJitLink";
  }
  return environment_error(trouble);
}

const Result<JitLink>& library() {
  static const Result<JitLink> opened = [] {
    // It would read and write a cache in the user's home, which is not accessible in the jail.
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    return open_library();
  }();
  return opened;
}

std::string log_of(int (*size_of)(void*, size_t*), int (*get)(void*, char*), void* handle) {
  size_t size = 0;
  if (size_of(handle, &size) != 0 || size == 0) return {};
  std::string text(size, '\0');
  if (get(handle, text.data()) != 0) return {};
  text.resize(text.find('\0') == std::string::npos ? size : text.find('\0'));
  return text;
}

}  // namespace

std::map<std::string, CubinFacts> facts_from_log(const std::string& log) {
  // Not a regular expression: for a mangled name of ten thousand characters it would overflow the stack.
  constexpr std::string_view kCompiling = "Compiling entry function '";
  static const std::regex stack(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  static const std::regex used(R"(Used (\d+) registers)"), shared(R"((\d+) bytes smem)");
  std::map<std::string, CubinFacts> facts;
  CubinFacts* current = nullptr;
  std::istringstream lines(log);
  auto number = [](const std::ssub_match& text) {
    return static_cast<uint32_t>(std::strtoul(text.str().c_str(), nullptr, 10));
  };
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (size_t at = line.find(kCompiling); at != line.npos)
      current =
          &facts[line.substr(at + kCompiling.size(), line.find('\'', at + kCompiling.size()) - at - kCompiling.size())];
    if (!current) continue;
    if (std::regex_search(line, match, stack))
      current->stack_bytes = number(match[1]), current->spill_stores = number(match[2]),
      current->spill_loads = number(match[3]);
    if (!std::regex_search(line, match, used)) continue;
    current->registers = number(match[1]);
    if (std::regex_search(line, match, shared)) current->shared_bytes = number(match[1]);
    current = nullptr;  // The linker's summary follows, with other figures.
  }
  return facts;
}

std::string exhausted_resource(const std::string& error_log) {
  static const std::regex too_much(
      R"(uses too much (\w+) (?:data|space|memory) \((0x[0-9a-fA-F]+|\d+) bytes, (0x[0-9a-fA-F]+|\d+) max)");
  std::smatch match;
  if (!std::regex_search(error_log, match, too_much)) return {};
  auto number = [](const std::string& text) { return std::to_string(std::strtoull(text.c_str(), nullptr, 0)); };
  return "bytes of " + match[1].str() + " memory: " + number(match[2]) + ", limit " + number(match[3]);
}

std::vector<std::string> assembler_options(const UnitFlags& flags) {
  std::vector<std::string> options;
  if (flags.most_registers > 0) options.push_back("-maxrregcount=" + std::to_string(flags.most_registers));
  if (!flags.cache_loads.empty()) options.push_back("-Xptxas=-dlcm=" + flags.cache_loads);
  return options;
}

Cubin compile_cubin(const std::string& ptx, const std::string& arch, const std::vector<std::string>& further) {
  const JitLink& link = *library();
  Cubin made;
  std::string arch_option = "-arch=" + arch;
  std::vector<const char*> options{arch_option.c_str(), "-O3", "-verbose"};
  for (auto& option : further) options.push_back(option.c_str());
  void* handle = nullptr;
  auto fail = [&](const char* what) {
    std::string log = handle ? log_of(link.error_size, link.error, handle) : "";
    made.detail = exhausted_resource(log);
    made.outcome = made.detail.empty() ? Outcome::CompileFailed : Outcome::OverResources;
    if (made.detail.empty())
      made.detail = std::string(what) + (log.empty() ? "" : ": " + log.substr(0, kLongestDetail));
    if (handle) link.destroy(&handle);
    return made;
  };
  if (link.create(&handle, static_cast<uint32_t>(options.size()), options.data()) != 0)
    return fail(("nvJitLink does not know " + arch).c_str());
  if (link.add(handle, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel.ptx") != 0)
    return fail("nvJitLink refuses the PTX");
  if (link.complete(handle) != 0) return fail("nvJitLink failed");
  size_t size = 0;
  if (link.cubin_size(handle, &size) != 0 || size == 0) return fail("nvJitLink made no image");
  made.image.resize(size);
  if (link.cubin(handle, made.image.data()) != 0) return fail("nvJitLink made no image");
  made.kernels = facts_from_log(log_of(link.info_size, link.info, handle));
  link.destroy(&handle);
  return made;
}

Status open_cubin_compiler() {
  if (!library().ok()) return library().error();
  // The first link loads further libraries, which a confined process may not map: it is made here, and once.
  static const Cubin first = compile_cubin(
      ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p) {\n  .reg .b64 %r;\n"
      "  ld.param.u64 %r, [p];\n  red.global.add.u32 [%r], 1;\n  ret;\n}\n",
      "sm_75");
  if (first.outcome != Outcome::Ok) return environment_error("nvJitLink: " + first.detail);
  return done();
}

}  // namespace kernelift
