// CMake is asked by its file API: a query is put into the build folder, CMake configures it again as any change of a
// CMakeLists.txt would make it, and answers which target of which directory compiles the file. Properties of a source
// are seen by the targets of one directory, so the line goes to the end of that directory's CMakeLists.txt.
#include <algorithm>
#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "reintegrate/app_commands.h"
#include "reintegrate/flags/build_line.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

constexpr const char *kClient = "client-kernelift", *kQuery = "codemodel-v2";
constexpr std::chrono::minutes kConfigureLimit{10};

/// A query in the build folder as long as this object lives. What it brought is removed with it.
class Query {
 public:
  explicit Query(fs::path build) : api_(std::move(build) / ".cmake" / "api") {
    std::error_code code;
    existed_ = fs::exists(api_, code), parent_existed_ = fs::exists(api_.parent_path(), code);
  }
  Query(const Query&) = delete;
  ~Query() {
    std::error_code code;
    if (!existed_) fs::remove_all(api_, code);
    else fs::remove_all(api_ / "v1" / "query" / kClient, code);
    if (!parent_existed_) fs::remove(api_.parent_path(), code);  // Unless something else is in it.
  }
  Status ask() const { return write_atomically(api_ / "v1" / "query" / kClient / kQuery, std::string_view()); }
  fs::path reply() const { return api_ / "v1" / "reply"; }

 private:
  fs::path api_;
  bool existed_ = false, parent_existed_ = false;
};

/// The document that CMake answered last.
Result<Json> answer(const fs::path& reply) {
  fs::path index;
  std::error_code code;
  for (auto& entry : fs::directory_iterator(reply, code))
    if (entry.path().filename().string().starts_with("index-"))
      index = std::max(index, entry.path());  // Their names sort by age.
  if (index.empty()) return refused("CMake does not answer queries here; it has to be 3.14 or newer");
  KERNELIFT_ASSIGN(Json json, read_json(index));
  KERNELIFT_ASSIGN(std::string file, reading(index.string(), [&] {
                     return json.at("reply").at(kClient).at(kQuery).at("jsonFile").get<std::string>();
                   }));
  return read_json(reply / file);
}

struct Found {
  std::set<fs::path> directories;  ///< Of the targets that compile the file.
  std::vector<std::string> targets;
};

Result<Found> targets_of(const fs::path& unit, const Json& model, const fs::path& reply) {
  std::vector<std::pair<std::string, fs::path>> targets;  // Their documents and directories.
  KERNELIFT_ASSIGN(fs::path top, reading("CMake's answer", [&] {
                     const fs::path source = model.at("paths").at("source").get<std::string>();
                     const Json& configuration = model.at("configurations").at(0);
                     for (auto& target : configuration.at("targets")) {
                       auto& directory = configuration.at("directories").at(target.at("directoryIndex").get<size_t>());
                       targets.emplace_back(target.at("jsonFile"), source / directory.at("source").get<std::string>());
                     }
                     return source;
                   }));
  Found found;
  for (auto& [file, directory] : targets) {
    KERNELIFT_ASSIGN(Json target, read_json(reply / file));
    auto read = reading(file, [&] {
      for (auto& source : target.value("sources", Json::array())) {
        std::error_code code;
        if (!source.contains("compileGroupIndex") ||
            fs::weakly_canonical(top / source.at("path").get<std::string>(), code) != unit)
          continue;
        found.directories.insert(fs::weakly_canonical(directory, code));
        found.targets.push_back(target.at("name"));
      }
      return true;
    });
    KERNELIFT_TRY(read);
  }
  return found;
}

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
  auto cmake = find_program("cmake");
  if (!cmake) return refused(build_folder.string() + " was made by CMake, but cmake is not on PATH");
  const Query query(build_folder);
  KERNELIFT_TRY(query.ask());
  ProcessOptions options;
  options.timeout = kConfigureLimit;
  KERNELIFT_ASSIGN(ProcessOutcome configured, run_process({cmake->string(), build_folder.string()}, options));
  if (!configured.ok())
    return refused("CMake was asked which target compiles " + unit.unit.string() + ", and it " + configured.describe() +
                   ":\n" + last_lines(configured.out + configured.err));
  KERNELIFT_ASSIGN(Json model, answer(query.reply()));
  KERNELIFT_ASSIGN(Found found, targets_of(unit.unit, model, query.reply()));
  if (found.directories.size() != 1)
    return refused(found.directories.empty()
                       ? "no target of CMake in " + build_folder.string() + " compiles " + unit.unit.string()
                       : unit.unit.string() +
                             " is compiled for targets of several directories, in each of which its "
                             "flags would have to be set");
  BuildLine line;
  line.file = *found.directories.begin() / "CMakeLists.txt";
  line.line = "set_property(SOURCE " +
              cmake_word(unit.unit.lexically_relative(*found.directories.begin()).generic_string()) +
              " APPEND PROPERTY COMPILE_OPTIONS";
  for (auto& flag : flags) line.line += " " + cmake_word(flag);
  line.line += ")";
  if (found.targets.size() > 1) {
    std::string names;
    for (auto& name : found.targets) names += (names.empty() ? "" : ", ") + name;
    line.notes.push_back("The flags are those of the file in all targets of its directory: " + names + ".");
  }
  return line;
}

}  // namespace kernelift::reintegrate
