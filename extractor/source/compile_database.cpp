// Reading is strict about the file (it must be JSON of the right shape) and lenient about its entries: an entry that
// cannot be understood is skipped and reported. A database often lists a file twice (two builds, or two architectures);
// the last entry of one file and output wins, as it does for the linker.
#include "extractor/source/compile_database.h"

#include <algorithm>
#include <map>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/json_member.h"
#include "core/base/process.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;

const char* const kFileName = "compile_commands.json";

std::string normalised(const fs::path& path, const fs::path& folder) {
  std::error_code ignored;
  fs::path absolute = (path.is_absolute() ? path : folder / path).lexically_normal();
  fs::path real = fs::weakly_canonical(absolute, ignored);
  return (ignored ? absolute : real).string();
}

/// Removes compiler launchers in front of the compiler: they mean nothing to a parser.
void drop_launcher(std::vector<std::string>& argv) {
  static const char* const kLaunchers[] = {"ccache", "sccache", "distcc", "icecc", "nice", "time"};
  while (argv.size() > 1) {
    std::string program = fs::path(argv[0]).filename().string();
    if (std::find(std::begin(kLaunchers), std::end(kLaunchers), program) == std::end(kLaunchers)) return;
    argv.erase(argv.begin());
  }
}

Result<std::vector<std::string>> words_of(const Json& entry, const std::string& where) {
  std::vector<std::string> argv;
  if (entry.contains("arguments") && entry["arguments"].is_array()) {
    for (auto& word : entry["arguments"]) {
      if (!word.is_string()) return environment_error(where + ": an argument is not a string");
      argv.push_back(word.get<std::string>());
    }
  } else if (entry.contains("command") && entry["command"].is_string()) {
    KERNELIFT_ASSIGN(argv, split_command(entry["command"].get<std::string>()));
  } else {
    return environment_error(where + ": it has neither \"command\" nor \"arguments\"");
  }
  drop_launcher(argv);
  if (argv.empty()) return environment_error(where + ": its command is empty");
  return argv;
}

/// The GPU units of one entry; none for a host compile.
Status read_entry(const Json& entry, const std::string& where, std::vector<UnitCommand>& units, size_t& host) {
  if (!entry.is_object()) return environment_error(where + ": it is not an object");
  UnitCommand unit;
  unit.folder = text_member(entry, "directory");
  if (unit.folder.empty() && text_member(entry, "file").empty()) return environment_error(where + ": it names no file");
  KERNELIFT_ASSIGN(auto argv, words_of(entry, where));
  KERNELIFT_ASSIGN(unit.argv, expand_response_files(argv, unit.folder));
  KERNELIFT_ASSIGN(unit.parsed, parse_compiler_command(unit.argv, unit.folder));
  bool any = false;
  for (auto& input : unit.parsed.inputs) {
    bool hip = input.language == SourceInput::Language::Hip;
    if (!hip && input.language != SourceInput::Language::Cuda) continue;
    UnitCommand one = unit;
    one.hip = hip;
    one.file = normalised(input.file, unit.folder);
    units.push_back(std::move(one));
    any = true;
  }
  if (!any) ++host;
  return done();
}

}  // namespace

Result<CompileDatabase> read_compile_database(const fs::path& file) {
  auto read = read_json(file);
  if (!read.ok())
    return environment_error(
        read.error().message +
        "; remove it, and build the application again, from clean, through `kernelift build -- CMD`");
  const Json& document = *read;
  if (!document.is_array())
    return environment_error(file.string() + " is not a compile database (a JSON array of commands); make one with " +
                             "`kernelift build -- make` or -DCMAKE_EXPORT_COMPILE_COMMANDS=ON");
  if (document.empty())
    return environment_error(file.string() + " lists no commands; rebuild the application from clean through " +
                             "`kernelift build -- CMD`, so that every compile is seen");
  CompileDatabase database;
  database.path = file.string();
  std::vector<UnitCommand> found;
  size_t number = 0;
  for (auto& entry : document) {
    std::string where = file.filename().string() + ": entry " + std::to_string(++number);
    if (auto status = read_entry(entry, where, found, database.host_commands); !status.ok())
      database.problems.push_back(std::move(status).error().message);
  }
  std::map<std::string, size_t> last;
  for (size_t i = 0; i < found.size(); ++i) last[found[i].file + '\n' + found[i].parsed.output] = i;
  for (size_t i = 0; i < found.size(); ++i) {
    if (last[found[i].file + '\n' + found[i].parsed.output] != i) continue;
    std::error_code ignored;
    if (!fs::exists(found[i].file, ignored)) database.missing.push_back(found[i].file);
    else database.units.push_back(std::move(found[i]));
  }
  if (!database.units.empty()) return database;
  if (!database.missing.empty())
    return environment_error(file.string() + " is stale: none of its " + std::to_string(database.missing.size()) +
                             " GPU sources exists (first: " + database.missing.front() + "); rebuild the application");
  if (!database.problems.empty())
    return environment_error(file.string() +
                             ": no entry could be understood; the first problem is: " + database.problems.front());
  return environment_error(file.string() + " compiles no CUDA or HIP file (" + std::to_string(database.host_commands) +
                           " host commands); is it the database of the GPU build?");
}

Result<fs::path> find_compile_database(const std::string& given, const fs::path& root) {
  std::error_code ignored;
  if (!given.empty()) {
    fs::path path = given;
    if (fs::is_directory(path, ignored)) path /= kFileName;
    if (fs::is_regular_file(path, ignored)) return path;
    return usage_error("there is no compile database at " + path.string() + "; make one with `kernelift build -- CMD`");
  }
  std::vector<fs::path> tried = {find_state_folder(root) / kFileName, root / ".kernelift" / kFileName,
                                 root / "build" / kFileName, root / kFileName};
  std::vector<fs::path> builds;
  for (fs::directory_iterator at(root, ignored), end; !ignored && at != end; at.increment(ignored))
    if (at->is_directory(ignored)) {
      std::string name = at->path().filename().string();
      if (name.rfind("build", 0) == 0 || name.rfind("cmake-build", 0) == 0 || name == "out")
        builds.push_back(at->path());
    }
  std::sort(builds.begin(), builds.end());
  for (auto& folder : builds) {
    tried.push_back(folder / kFileName);
    for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
      if (at->is_directory(ignored)) tried.push_back(at->path() / kFileName);
  }
  for (auto& path : tried)
    if (fs::is_regular_file(path, ignored)) return path;
  return environment_error(
      "no compile database found under " + root.string() +
      " (.kernelift/, build/, the root); run `kernelift build -- CMD` with the application's own build " +
      "command, from clean (commands for files that are up to date do not run, and so are not logged), or name one "
      "with -p");
}

}  // namespace kernelift::extractor
