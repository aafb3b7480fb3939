// CMake says which target of which directory compiles the file (cmake_answer.h). Properties of a source are seen by the
// targets of one directory, so the line goes to the end of that directory's CMakeLists.txt.
#include <set>

#include "reintegrate/flags/build_line.h"
#include "reintegrate/flags/cmake_answer.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// A word of CMake's language: in quotes where it needs them.
std::string cmake_word(const std::string& text) {
  if (text.find_first_of(" \t;()#\"$\\") == text.npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += (c == '"' || c == '$' || c == '\\' || c == ';' ? "\\" : "") + std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Result<BuildLine> cmake_line(const CompiledUnit& unit, const fs::path& build_folder,
                             const std::vector<std::string>& flags) {
  KERNELIFT_ASSIGN(CmakeAnswer answer, CmakeAnswer::ask(build_folder, unit.unit));
  std::set<fs::path> directories;  // Of the targets that compile the file.
  std::vector<std::string> targets;
  auto read = reading("CMake's answer", [&] {
    for (auto& target : answer.targets()) {
      if (target.group_of(unit.unit, answer.top()) < 0) continue;
      directories.insert(target.directory);
      targets.push_back(target.document.at("name"));
    }
    return true;
  });
  KERNELIFT_TRY(read);
  if (directories.size() != 1)
    return refused(directories.empty()
                       ? "no target of CMake in " + build_folder.string() + " compiles " + unit.unit.string()
                       : unit.unit.string() +
                             " is compiled for targets of several directories, in each of which its "
                             "flags would have to be set");
  const fs::path& directory = *directories.begin();
  BuildLine line;
  line.file = directory / "CMakeLists.txt";
  line.line = "set_property(SOURCE " + cmake_word(unit.unit.lexically_relative(directory).generic_string()) +
              " APPEND PROPERTY COMPILE_OPTIONS";
  for (auto& flag : flags) line.line += " " + cmake_word(flag);
  line.line += ")";
  if (targets.size() > 1) {
    std::string names;
    for (auto& name : targets) names += (names.empty() ? "" : ", ") + name;
    line.notes.push_back("The flags are those of the file in all targets of its directory: " + names + ".");
  }
  return line;
}

}  // namespace kernelift::reintegrate
