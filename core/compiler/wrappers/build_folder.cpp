// See build_folder.h.
#include "core/compiler/wrappers/build_folder.h"

#include <algorithm>
#include <optional>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/wrappers/wrapper.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

/// The words of a command; of `sh -c TEXT` those of the text, without the shell's separators.
std::vector<std::string> words_of(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  for (size_t i = 0; i < command.size(); ++i) {
    auto text = i > 0 && command[i - 1] == "-c" ? split_command(command[i]) : std::vector{command[i]};
    if (!text.ok()) continue;
    for (std::string word : *text) {
      word.erase(word.find_last_not_of(";&|()") + 1);
      if (!word.empty()) words.push_back(word);
    }
  }
  return words;
}

/// The GPU compiler that CMake keeps for this folder; nullopt if CMake has configured none. The cache may hold a name
/// without a folder (-DCMAKE_CUDA_COMPILER=nvcc); the path that it found is in a file for each version of CMake.
std::optional<fs::path> configured_compiler(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "CMakeCache.txt", error)) return std::nullopt;
  for (fs::directory_iterator at(folder / "CMakeFiles", error), end; !error && at != end; at.increment(error))
    for (const char* language : {"CUDA", "HIP"}) {
      auto text = read_text(at->path() / ("CMake" + std::string(language) + "Compiler.cmake"));
      const std::string setting = "set(CMAKE_" + std::string(language) + "_COMPILER \"";
      size_t begin = text.ok() ? text->find(setting) : std::string::npos;
      if (begin == std::string::npos) continue;
      begin += setting.size();
      return text->substr(begin, text->find('"', begin) - begin);
    }
  return std::nullopt;
}

Compilers compilers_at(const fs::path& compiler) {
  auto wrapper = find_config(compiler.string());
  if (!wrapper.ok()) return Compilers::Own;
  return wrapper->device == "cpu" ? Compilers::CpuWrappers : Compilers::LoggingWrappers;
}

}  // namespace

Status check_build_folders(const std::vector<std::string>& command, const fs::path& folder, Compilers compilers) {
  std::vector<std::string> words = words_of(command);
  if (std::ranges::any_of(words, [](auto& word) { return word == "rm" || word == "--fresh"; })) return done();
  words.push_back(".");
  for (const std::string& word : words) {
    // Folders also stand after -B, -C and an equals sign.
    std::vector<std::string> names{word};
    if (word.starts_with("-B") || word.starts_with("-C")) names.push_back(word.substr(2));
    if (size_t equals = word.find('='); equals != word.npos) names.push_back(word.substr(equals + 1));
    for (const std::string& name : names) {
      const fs::path build = (folder / name).lexically_normal();
      auto compiler = configured_compiler(build);
      if (!compiler) continue;
      const Compilers others = compilers_at(*compiler);
      if (others == compilers) continue;
      const std::string whose = others == Compilers::CpuWrappers       ? "for Kernelift's CPU device"
                                : others == Compilers::LoggingWrappers ? "with a compiler wrapper of Kernelift's"
                                                                       : "with " + compiler->string();
      return usage_error("the build folder " + build.string() + " was configured " + whose + ", and " +
                         (compilers == Compilers::CpuWrappers ? "a build for the CPU device" : "this build") +
                         " would mix other objects with its own: give the build command another folder "
                         "(cmake -B NEW-FOLDER), or remove this one");
    }
  }
  return done();
}

}  // namespace kernelift::wrappers
