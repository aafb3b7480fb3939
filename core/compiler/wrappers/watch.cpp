// See watch.h; watch_format.h says what a record is.
#include "core/compiler/wrappers/watch.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/base/file.h"
#include "core/compiler/paths.h"
#include "core/compiler/wrappers/build_tool.h"
#include "core/compiler/wrappers/compile_log.h"
#include "core/compiler/wrappers/watch_format.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

Result<StartedCompiler> read_record(const fs::path& path) {
  KERNELIFT_ASSIGN(std::string text, read_text(path));
  std::vector<std::string> strings;
  for (size_t begin = 0, end; (end = text.find('\0', begin)) != text.npos; begin = end + 1)
    strings.push_back(text.substr(begin, end - begin));
  size_t count = strings.size() < 2 ? 0 : std::strtoul(strings[1].c_str(), nullptr, 10);
  if (count == 0 || count > strings.size() - 2)
    return environment_error("the record of a compile, " + path.string() + ", is damaged");
  StartedCompiler one;
  one.folder = strings[0];
  auto arguments = strings.begin() + 2, variables = arguments + static_cast<ptrdiff_t>(count);
  std::map<std::string, std::string> set;
  for (auto variable = variables; variable != strings.end(); ++variable)
    if (size_t equals = variable->find('='); equals != variable->npos)
      set[variable->substr(0, equals)] = variable->substr(equals + 1);
  if (auto tool = set.find(kBuiltBy); tool != set.end()) one.built_by = tool->second;
  one.words = with_variables({arguments, variables}, set);
  KERNELIFT_ASSIGN(one.command, parse_compiler_command(one.words, one.folder));
  return one;
}

}  // namespace

Result<BuildWatch> BuildWatch::begin(const fs::path& state) {
  BuildWatch watch;
  watch.state_ = state, watch.records_ = state / "watched";
  watch.library_ = runtime_library_folder() / "libkernelift_watch.so";
  std::error_code error;
  watch.library_ = fs::canonical(watch.library_, error);
  if (error) return environment_error(watch.library_.string() + " is not installed");
  // The loader separates the names in LD_PRELOAD by these, and knows no quotes.
  if (watch.library_.string().find_first_of(" :") != std::string::npos)
    return environment_error("the loader cannot preload " + watch.library_.string() +
                             ", because its path holds a blank or a colon");
  fs::create_directories(watch.records_, error);
  if (error) return environment_error("cannot make " + watch.records_.string() + ": " + error.message());
  return watch;
}

std::vector<std::pair<std::string, std::string>> BuildWatch::environment() const {
  const char* others = std::getenv("LD_PRELOAD");
  std::string preload = library_.string();
  if (others && *others) preload += std::string(":") + others;
  return {{"LD_PRELOAD", preload}, {kWatchFolder, records_.string()}};
}

Result<std::vector<std::string>> BuildWatch::log() const {
  std::vector<fs::path> records, all;
  std::vector<std::string> problems;
  std::error_code error;
  for (fs::directory_iterator at(records_, error), end; !error && at != end; at.increment(error)) {
    all.push_back(at->path());
    // What has another ending is a copy of a response file.
    if (at->path().extension().empty()) records.push_back(at->path());
    else if (at->path().extension() == kWatchUnfinished)
      problems.push_back("a compile was not logged: its record could not be written (is the disk full?)");
  }
  std::sort(records.begin(), records.end());
  std::vector<StartedCompiler> started;
  for (const fs::path& record : records) {
    auto one = read_record(record);
    if (one.ok()) started.push_back(*std::move(one));
    else problems.push_back("a compile was not logged: " + one.error().message);
  }
  KERNELIFT_TRY(log_commands(state_, started));
  for (const fs::path& file : all) fs::remove(file, error);
  fs::remove(records_, error);
  return problems;
}

}  // namespace kernelift::wrappers
