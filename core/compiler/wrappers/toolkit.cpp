// The look-alike, a folder that build systems accept as a CUDA toolkit. CMake's FindCUDAToolkit needs nvcc,
// include/cuda_runtime.h, the runtime libraries and nvvm/libdevice; Makefiles need bin, include and lib64 (or lib).
// HIP's build systems look for hipcc.
#include <unistd.h>

#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "core/base/words.h"
#include "core/compiler/paths.h"
#include "core/compiler/wrappers/hip_installation.h"
#include "core/compiler/wrappers/wrapper.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

constexpr const char* kLinkers = "linker";  ///< linker_folder() within the look-alike.
constexpr const char* kWrappedCompilers[] = {"nvcc", "hipcc", "amdclang++", "amdclang", "clang++", "clang"};

Status link_to(const fs::path& target, const fs::path& link) {
  std::error_code error;
  if (fs::is_symlink(link, error) && fs::read_symlink(link, error) == target) return done();
  fs::create_directories(link.parent_path(), error);
  // Made under a temporary name and renamed, because a build may be running with this folder.
  fs::path temporary = link.string() + "." + std::to_string(getpid());
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, link, error);
  if (error) return environment_error("cannot make the link " + link.string() + ": " + error.message());
  return done();
}

/// Writes a file with this text. An equal file is not replaced, because a build may be running with this folder.
Status provide(const fs::path& path, std::string_view text, bool program = false) {
  std::error_code error;
  if (fs::exists(path, error))
    if (auto old = read_text(path); old.ok() && *old == text) return done();
  KERNELIFT_TRY(write_atomically(path, text));
  constexpr auto kRuns = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  if (program) fs::permissions(path, kRuns, fs::perm_options::add, error);
  if (program && error) return environment_error("cannot make " + path.string() + " a program: " + error.message());
  return done();
}

/// Any linker that the application's build calls may link programs, without an rpath of ours. A shared library without
/// a soname is recorded with the path from which it was linked, so the look-alike holds a copy of the runtime without a
/// soname, and linker scripts name it by its absolute path. Overwrites DT_SONAME in place.
bool drop_soname(std::string& elf) {
  Elf64_Ehdr head;
  if (elf.size() < sizeof head) return false;
  std::memcpy(&head, elf.data(), sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) return false;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    size_t at = head.e_phoff + i * sizeof segment;
    if (at + sizeof segment > elf.size()) return false;
    std::memcpy(&segment, elf.data() + at, sizeof segment);
    if (segment.p_type != PT_DYNAMIC) continue;
    for (size_t offset = segment.p_offset;
         offset + sizeof(Elf64_Dyn) <= elf.size() && offset < segment.p_offset + segment.p_filesz;
         offset += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, elf.data() + offset, sizeof entry);
      if (entry.d_tag != DT_SONAME) continue;
      entry.d_tag = DT_DEBUG;  // Has no effect in a shared library.
      std::memcpy(elf.data() + offset, &entry, sizeof entry);
    }
    return true;
  }
  return false;
}

Status copy_runtime(const fs::path& libraries) {
  fs::path source = runtime_library_folder() / "libcudart.so.13";
  std::error_code error;
  if (!fs::exists(source, error))
    return environment_error("the CPU device's runtime library is not installed at " + source.string() +
                             "; reinstall Kernelift");
  KERNELIFT_ASSIGN(std::string elf, read_text(source));
  if (!drop_soname(elf)) return environment_error(source.string() + " is not a shared library; reinstall Kernelift");
  fs::path copy = libraries / "libcudart-kernelift.so";
  KERNELIFT_TRY(provide(copy, elf));
  // The archive contains libtbb, which not every machine has; linker and loader look for it beside the runtime.
  for (auto& library : paths_in(runtime_library_folder()))
    if (library.filename().string().starts_with("libtbb.so"))
      KERNELIFT_TRY(link_to(library, libraries / library.filename()));
  if (copy.string().find('"') != std::string::npos)
    return environment_error("linkers cannot use " + copy.string() +
                             ", because its path holds a \"; give another folder with --state");
  std::string script = "/* Kernelift's CUDA runtime for the CPU device. */\nINPUT(\"" + copy.string() + "\")\n";
  for (const char* name : {"libcudart.so", "libcudart_static.a", "libamdhip64.so"})
    for (const fs::path& folder : {libraries, libraries.parent_path() / kLinkers})
      KERNELIFT_TRY(provide(folder / name, script));
  // Builds often name these libraries without using them, and CMake's CUDA::cublas exists only if there is a library.
  // Our headers provide their functions or nothing does (unsupported.cpp then names the library); so the archives are
  // empty.
  for (const char* name : {"cudadevrt", "cuda", "nvToolsExt", "roctx64", "curand", "cublas", "cublasLt", "cufft",
                           "cufftw", "cusolver", "cusparse", "nvJitLink", "nvrtc", "nvidia-ml"})
    for (const char* kind : {".a", "_static.a"})
      KERNELIFT_TRY(provide(libraries / ("lib" + std::string(name) + kind), "!<arch>\n"));
  return done();
}

/// Makefiles often link by `g++ main.o -L/usr/local/cuda/lib64 -lcudart`, without any compiler of ours. These wrappers
/// of linkers search our libraries first.
Status wrap_linkers(const fs::path& folder) {
  for (const char* name : {"ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"})
    KERNELIFT_TRY(provide(folder / name, "#!/bin/sh\nexec \"${0##*/}\" -L\"${0%/*}\" \"$@\"\n", true));
  return done();
}

}  // namespace

fs::path toolkit_folder(const fs::path& state) {
  auto needs_quotes = [](const fs::path& path) {
    auto plain = [](char c) {
      return word_character(c) || std::strchr("/.-+,@%:=~", c) || static_cast<unsigned char>(c) >= 0x80;
    };
    return !std::all_of(path.native().begin(), path.native().end(), plain);
  };
  const fs::path inside = state / "toolkit-cpu";
  if (!needs_quotes(inside)) return inside;
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  fs::path folder = cache && *cache ? fs::path(cache) : home && *home ? fs::path(home) / ".cache" : fs::path();
  if (!folder.is_absolute() || needs_quotes(folder)) return inside;
  folder = folder / "kernelift" / ("toolkit-cpu-" + hash_text(state.string()).hex());
  std::error_code error;
  fs::create_directories(folder, error);
  return error ? inside : folder;
}

fs::path linker_folder(const WrapperConfig& config) { return config.root / kLinkers; }

Status create_toolkit(const WrapperConfig& config, const fs::path& kernelift) {
  std::error_code error;
  for (const char* folder : {"lib64", kLinkers})
    if (!error) fs::create_directories(config.root / folder, error);
  if (error) return environment_error("cannot make " + config.root.string() + ": " + error.message());
  for (const char* name : kWrappedCompilers) KERNELIFT_TRY(link_to(kernelift, config.root / "bin" / name));
  if (config.device == "cpu") {
    KERNELIFT_TRY(link_to(lean_headers(), config.root / "include"));
    KERNELIFT_TRY(copy_runtime(config.root / "lib64"));
    KERNELIFT_TRY(wrap_linkers(linker_folder(config)));
    KERNELIFT_TRY(link_to("lib64", config.root / "lib"));
    for (const InstalledText& file : hip_installation())
      KERNELIFT_TRY(provide(config.root / file.path, file.text, file.program));
    // Never read: the CPU device has its own version of libdevice.
    KERNELIFT_TRY(provide(config.root / "nvvm" / "libdevice" / "libdevice.10.bc", ""));
    KERNELIFT_TRY(
        provide(config.root / "version.json", "{\"cuda\": {\"name\": \"CUDA SDK\", \"version\": \"13.0.88\"}}\n"));
  }
  Json marker = artefact("kernelift-toolkit", 1, 1);
  marker["device"] = config.device;
  marker["state"] = config.state.string();
  return write_json(config.root / kMarker, marker);
}

Result<WrapperConfig> find_config(const std::string& argv0) {
  fs::path program = argv0;
  if (argv0.find('/') == std::string::npos) {
    auto found = find_program(argv0);
    if (!found) return environment_error("cannot find this compiler wrapper's folder: " + argv0 + " is not on PATH");
    program = *found;
  }
  // The folder of the link, not of its target. Links to the wrapper from other folders are followed one by one.
  program = fs::absolute(program);
  std::error_code error;
  while (!fs::exists(program.parent_path().parent_path() / kMarker, error)) {
    if (!fs::is_symlink(program, error))
      return environment_error(program.string() +
                               " is a Kernelift compiler wrapper outside its toolkit folder; run `kernelift build`");
    fs::path target = fs::read_symlink(program, error);
    program = target.is_absolute() ? target : program.parent_path() / target;
  }
  WrapperConfig config;
  config.root = fs::weakly_canonical(program.parent_path().parent_path());
  fs::path file = config.root / kMarker;
  KERNELIFT_ASSIGN(Json marker, read_json(file));
  KERNELIFT_TRY(check_artefact(marker, "kernelift-toolkit", 1, file.string()));
  return reading(file.string(), [&] {
    config.device = marker.at("device").get<std::string>();
    config.state = marker.at("state").get<std::string>();
    return config;
  });
}

}  // namespace kernelift::wrappers

bool kernelift::is_wrapper_name(const std::string& argv0) {
  std::string name = std::filesystem::path(argv0).filename().string();
  return std::find(std::begin(wrappers::kWrappedCompilers), std::end(wrappers::kWrappedCompilers), name) !=
         std::end(wrappers::kWrappedCompilers);
}
