// Under a lock, the whole file is read, changed and atomically replaced: this takes some milliseconds per compile with
// a thousand entries, and a build that is killed at any moment leaves a valid database.
#include "core/compiler/wrappers/compile_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/json_member.h"

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

Status log_command(const fs::path& state, const fs::path& folder, const std::vector<std::string>& argv,
                   const CompilerCommand& command) {
  // CMake's own trial compiles are not part of the application, and CMake deletes their sources.
  for (const fs::path& part : folder)
    if (part == "CMakeFiles") return done();
  if (command.action == Action::Query || command.action == Action::Preprocess || command.dry_run) return done();
  KERNELIFT_ASSIGN(auto arguments, expand_response_files(argv, folder));
  arguments[0] = fs::path(arguments[0]).filename().string();
  std::vector<Json> entries;
  std::error_code missing;
  for (const SourceInput& input : command.inputs) {
    if (input.language == SourceInput::Language::Object) continue;
    if (!fs::exists(folder / input.file, missing)) continue;  // Misspelled: the compiler will report it.
    Json entry;
    entry["directory"] = folder.string();
    entry["file"] = input.file;
    entry["arguments"] = arguments;
    entry["output"] = !command.output.empty() ? command.output : fs::path(input.file).stem().string() + ".o";
    entries.push_back(entry);
  }
  if (entries.empty()) return done();

  KERNELIFT_TRY(create_state_folder(state));
  FileLock lock(state / "compile_commands.lock");
  if (!lock.held())
    return environment_error("cannot lock " + (state / "compile_commands.lock").string() + ": " + std::strerror(errno));
  fs::path path = state / "compile_commands.json";
  Json all = Json::array();
  if (fs::exists(path))
    if (auto old = read_json(path); old.ok() && old->is_array()) all = std::move(*old);
  // An output is made by the last command that writes it: a corrected command replaces the one that failed. A source
  // that was renamed or removed since is no longer part of the application.
  std::erase_if(all.get_ref<Json::array_t&>(), [&](const Json& old) {
    auto same_output = [&](const Json& entry) { return agree(old, entry, {"directory", "output"}); };
    auto same_source = [&](const Json& entry) { return same_output(entry) && agree(old, entry, {"file"}); };
    bool gone = !fs::exists(fs::path(text_member(old, "directory")) / text_member(old, "file"), missing);
    return gone || (std::ranges::any_of(entries, same_output) && std::ranges::none_of(entries, same_source));
  });
  for (const Json& entry : entries) {
    auto old =
        std::ranges::find_if(all, [&](const Json& one) { return agree(one, entry, {"directory", "output", "file"}); });
    if (old != all.end()) *old = entry;
    else all.push_back(entry);
  }
  return write_json(path, all);
}

}  // namespace kernelift::wrappers
