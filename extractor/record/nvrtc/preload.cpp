// Loaded by LD_PRELOAD into the application's processes: stands before NVRTC and keeps the texts that it compiles.
// Programs that are linked with NVRTC find these functions first; for those that load it themselves (PyTorch), dlsym
// hands them out (dlsym.cpp). Each calls NVRTC's own and returns what that returned. The border that keeps the process
// safe: errno is put back, exceptions end here, and a process that is not recorded is left alone.
#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "extractor/record/nvrtc/live_programs.h"
#include "extractor/record/nvrtc/stands.h"

namespace kernelift::record {
namespace {

/// NVRTC's function of that name: of the libraries behind this one, or of the one that was loaded for somebody alone.
void* nvrtc_function(const char* name) {
  const Dlsym find = real_dlsym();
  if (!find) return nullptr;
  if (void* next = find(RTLD_NEXT, name)) return next;
  void* library = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* into) {
        const char* slash = info->dlpi_name ? std::strrchr(info->dlpi_name, '/') : nullptr;
        const char* file = slash ? slash + 1 : info->dlpi_name;
        if (!file || std::strncmp(file, "libnvrtc.so", std::strlen("libnvrtc.so")) != 0) return 0;
        *static_cast<void**>(into) = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
        return 1;
      },
      &library);
  return library ? find(library, name) : nullptr;
}

template <class Function>
Function* nvrtc(const char* name) {
  return reinterpret_cast<Function*>(nvrtc_function(name));
}

/// As NVRTC says that it failed within: there is no NVRTC behind us.
constexpr int kInternalError = 11;

LivePrograms& programs() {
  static auto* live = new LivePrograms;  // Never deleted: the process may end in the middle of anything.
  return *live;
}

const char* folder() {
  const char* text = std::getenv("KERNELIFT_RECORD_FOLDER");
  return text && *text ? text : nullptr;
}

template <class Work>
void quietly(Work&& work) noexcept {
  if (!folder()) return;
  int saved = errno;
  try {
    work();
  } catch (...) {}
  errno = saved;
}

std::string object_of(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) && info.dli_fname ? info.dli_fname : "";
}

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size(); at += words.back().size() + 1) words.emplace_back(text.c_str() + at);
  return words;
}

void keep(void* program, int options, const char* const* texts, const void* caller) {
  NvrtcReader reader;
  reader.size_of_cubin = nvrtc<int(void*, size_t*)>("nvrtcGetCUBINSize");
  reader.cubin = nvrtc<int(void*, char*)>("nvrtcGetCUBIN");
  reader.size_of_ptx = nvrtc<int(void*, size_t*)>("nvrtcGetPTXSize");
  reader.ptx = nvrtc<int(void*, char*)>("nvrtcGetPTX");
  reader.lowered_name = nvrtc<int(void*, const char*, const char**)>("nvrtcGetLoweredName");
  auto made = programs().compiled(program, options, texts, reader);
  if (!made) return;
  made->caller = object_of(caller), made->command = own_command();
  auto written = made->write(std::filesystem::path(folder()) / kProgramsFolder);
  (void)written;  // There is nobody to tell; extract says that the text is not known.
}

}  // namespace
}  // namespace kernelift::record

#define KL_EXPORT extern "C" __attribute__((visibility("default")))

using namespace kernelift::record;

KL_EXPORT int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                                 const char* const* texts, const char* const* names) {
  auto* real = nvrtc<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(__func__);
  if (!real) return kInternalError;
  int result = real(program, source, name, headers, texts, names);
  if (result == 0) quietly([&] { programs().created(*program, source, name, headers, texts, names); });
  return result;
}

KL_EXPORT int nvrtcAddNameExpression(void* program, const char* expression) {
  auto* real = nvrtc<int(void*, const char*)>(__func__);
  if (!real) return kInternalError;
  int result = real(program, expression);
  if (result == 0) quietly([&] { programs().named(program, expression); });
  return result;
}

KL_EXPORT int nvrtcCompileProgram(void* program, int options, const char* const* texts) {
  auto* real = nvrtc<int(void*, int, const char* const*)>(__func__);
  if (!real) return kInternalError;
  const void* caller = __builtin_return_address(0);
  int result = real(program, options, texts);
  if (result == 0) quietly([&] { keep(program, options, texts, caller); });
  return result;
}

KL_EXPORT int nvrtcDestroyProgram(void** program) {
  auto* real = nvrtc<int(void**)>(__func__);
  if (!real) return kInternalError;
  if (program) quietly([&] { programs().destroyed(*program); });
  return real(program);
}

namespace kernelift::record {

void* stand_for(const char* name) {
  if (std::strncmp(name, "nvrtc", 5) != 0) return nullptr;
  const std::pair<const char*, void*> stands[] = {
      {"nvrtcCreateProgram", reinterpret_cast<void*>(nvrtcCreateProgram)},
      {"nvrtcAddNameExpression", reinterpret_cast<void*>(nvrtcAddNameExpression)},
      {"nvrtcCompileProgram", reinterpret_cast<void*>(nvrtcCompileProgram)},
      {"nvrtcDestroyProgram", reinterpret_cast<void*>(nvrtcDestroyProgram)}};
  for (auto& [own, function] : stands)
    if (std::strcmp(name, own) == 0) return function;
  return nullptr;
}

Dlsym real_dlsym() {
  static const Dlsym real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return real;
}

}  // namespace kernelift::record
