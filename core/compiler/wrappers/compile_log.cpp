// Under a lock, the whole file is read, changed and atomically replaced: this takes some milliseconds with a thousand
// entries, and a build that is killed at any moment leaves a valid database.
#include "core/compiler/wrappers/compile_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/json_member.h"
#include "core/base/process.h"
#include "core/compiler/wrappers/cpu_compiler.h"
#include "core/toolchain/nvcc_words.h"

namespace kernelift::wrappers {
namespace fs = std::filesystem;

namespace {

class FileLock {
 public:
  explicit FileLock(const fs::path& path) : descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (descriptor_ >= 0 && flock(descriptor_, LOCK_EX) != 0) {
      close(descriptor_);
      descriptor_ = -1;
    }
  }
  ~FileLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  bool held() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

bool agree(const Json& old, const Json& entry, std::initializer_list<const char*> keys) {
  return old.is_object() &&
         std::ranges::all_of(keys, [&](auto* key) { return old.contains(key) && old[key] == entry[key]; });
}

}  // namespace

namespace {

/// The log's entries for one command; none if it compiles no source of the application.
Result<std::vector<Json>> entries_of(const StartedCompiler& one) {
  std::vector<Json> entries;
  // CMake's own trial compiles are not part of the application, and CMake deletes their sources.
  for (const fs::path& part : one.folder)
    if (part == "CMakeFiles") return entries;
  const CompilerCommand& command = one.command;
  if (command.action == Action::Query || command.action == Action::Preprocess || command.dry_run) return entries;
  if (!host_queries(command).empty()) return entries;
  KERNELIFT_ASSIGN(auto arguments, expand_response_files(one.words, one.folder));
  std::error_code missing;
  for (const SourceInput& input : command.inputs) {
    if (input.language == SourceInput::Language::Object) continue;
    if (!fs::exists(one.folder / input.file, missing)) continue;  // Misspelled: the compiler will report it.
    Json entry;
    entry["directory"] = one.folder.string();
    entry["file"] = input.file;
    entry["arguments"] = arguments;
    entry["output"] = !command.output.empty() ? command.output : fs::path(input.file).stem().string() + ".o";
    if (one.built_by) entry["built_by"] = *one.built_by;
    entries.push_back(entry);
  }
  return entries;
}

/// An output is made by the last command that writes it: a corrected command replaces the one that failed.
void replace_entries(Json::array_t& all, const std::vector<Json>& entries) {
  std::erase_if(all, [&](const Json& old) {
    auto same_output = [&](const Json& entry) { return agree(old, entry, {"directory", "output"}); };
    auto same_source = [&](const Json& entry) { return same_output(entry) && agree(old, entry, {"file"}); };
    return std::ranges::any_of(entries, same_output) && std::ranges::none_of(entries, same_source);
  });
  for (const Json& entry : entries) {
    auto old =
        std::ranges::find_if(all, [&](const Json& one) { return agree(one, entry, {"directory", "output", "file"}); });
    if (old != all.end()) *old = entry;
    else all.push_back(entry);
  }
}

}  // namespace

std::vector<std::string> with_variables(std::vector<std::string> argv,
                                        const std::map<std::string, std::string>& variables) {
  auto value = [&](const char* name) {
    auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  auto append = [&](const std::vector<std::string>& more) { argv.insert(argv.end(), more.begin(), more.end()); };
  auto folders = [&](const char* variable) {
    std::vector<std::string> found;
    const std::string list = value(variable);
    for (size_t begin = 0, end = 0; !list.empty() && end != list.npos; begin = end + 1) {
      end = list.find(':', begin);
      std::string folder = list.substr(begin, end == list.npos ? end : end - begin);
      found.push_back(folder.empty() ? "." : folder);
    }
    return found;
  };
  const std::string compiler = fs::path(argv[0]).filename().string();
  const bool nvcc = compiler.starts_with("nvcc");
  if (nvcc) {
    bool names_host = std::ranges::any_of(argv, [](const std::string& word) {
      return word.starts_with("-ccbin") || word.starts_with("--compiler-bindir");
    });
    std::vector<std::string> before = split_nvcc_variable(value("NVCC_PREPEND_FLAGS"));
    if (const std::string host = value("NVCC_CCBIN"); !names_host && !host.empty())
      before.insert(before.end(), {"-ccbin", host});
    argv.insert(argv.begin() + 1, before.begin(), before.end());
    append(split_nvcc_variable(value("NVCC_APPEND_FLAGS")));
  }
  if (auto more = split_command(value("HIPCC_COMPILE_FLAGS_APPEND")); compiler.starts_with("hipcc") && more.ok())
    append(*more);
  // In nvcc's lists a comma separates, unless it is quoted.
  auto named = [&](const std::string& folder) {
    return nvcc && folder.find(',') != folder.npos ? '"' + folder + '"' : folder;
  };
  for (const std::string& folder : folders("CPATH")) append({"-I" + named(folder)});
  for (const std::string& folder : folders("CPLUS_INCLUDE_PATH")) append({"-isystem", named(folder)});
  return argv;
}

Status log_commands(const fs::path& state, const std::vector<StartedCompiler>& started) {
  std::vector<std::vector<Json>> commands;
  for (const StartedCompiler& one : started) {
    KERNELIFT_ASSIGN(auto entries, entries_of(one));
    if (!entries.empty()) commands.push_back(std::move(entries));
  }
  if (commands.empty()) return done();

  KERNELIFT_TRY(create_state_folder(state));
  FileLock lock(state / "compile_commands.lock");
  if (!lock.held())
    return environment_error("cannot lock " + (state / "compile_commands.lock").string() + ": " + std::strerror(errno));
  fs::path path = state / "compile_commands.json";
  Json all = Json::array();
  if (fs::exists(path))
    if (auto old = read_json(path); old.ok() && old->is_array()) all = std::move(*old);
  auto& entries = all.get_ref<Json::array_t&>();
  // A source that was renamed or removed since is no longer part of the application.
  std::error_code missing;
  std::erase_if(entries, [&](const Json& old) {
    return !fs::exists(fs::path(text_member(old, "directory")) / text_member(old, "file"), missing);
  });
  for (const auto& command : commands) replace_entries(entries, command);
  return write_json(path, all);
}

}  // namespace kernelift::wrappers
