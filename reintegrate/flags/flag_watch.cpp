// See flag_watch.h.
#include "reintegrate/flags/flag_watch.h"

#include <algorithm>

#include "core/base/json_member.h"
#include "core/base/process.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// The command without these words, each taken once, the last first: what is appended stands behind.
std::vector<std::string> without(std::vector<std::string> command, const std::vector<std::string>& words) {
  for (auto word = words.rbegin(); word != words.rend(); ++word)
    if (auto at = std::ranges::find(command.rbegin(), command.rend(), *word); at != command.rend())
      command.erase(std::next(at).base());
  return command;
}

/// True if all the words are in the command.
bool carries(const std::vector<std::string>& command, const std::vector<std::string>& words) {
  return without(command, words).size() + words.size() == command.size();
}

}  // namespace

LoggedCommands logged_commands(const fs::path& log) {
  LoggedCommands commands;
  auto json = read_json(log);
  if (!json.ok() || !json->is_array()) return commands;
  for (auto& entry : *json) {
    std::error_code code;
    const fs::path file = fs::path(text_member(entry, "directory")) / text_member(entry, "file");
    std::vector<std::string> words;
    if (auto arguments = entry.find("arguments"); arguments != entry.end() && arguments->is_array())
      for (auto& word : *arguments) words.push_back(word.is_string() ? word.get<std::string>() : "");
    else if (auto split = split_command(text_member(entry, "command")); split.ok()) words = *split;
    commands[{fs::weakly_canonical(file, code).string(), text_member(entry, "output")}] = std::move(words);
  }
  return commands;
}

FlagWatch::FlagWatch(fs::path log) : log_(std::move(log)), before_(logged_commands(log_)) {}

void FlagWatch::expect(const fs::path& unit, const std::vector<std::string>& flags) {
  auto& all = expected_[unit.string()];
  for (auto& flag : flags)
    if (std::ranges::find(all, flag) == all.end()) all.push_back(flag);
}

std::vector<std::string> FlagWatch::redefined_in(std::vector<std::string> command) const {
  for (auto& one : definitions_) command = redefined(std::move(command), one.name, one.before, one.after);
  return command;
}

std::string FlagWatch::astray() const {
  if (expected_.empty() && definitions_.empty()) return {};
  std::map<std::string, bool> arrived;
  bool any_redefined = definitions_.empty();
  for (auto& [key, command] : logged_commands(log_)) {
    auto old = before_.find(key);
    const bool known = old != before_.end();
    std::error_code code;
    if (redefined_in(command) != command && fs::exists(key.first, code))
      return "the build did not compile " + key.first + " with the value that the patch gives to '" +
             definitions_[0].name + "': " + join_command(command);
    const std::vector<std::string> wanted = known ? redefined_in(old->second) : command;
    any_redefined |= known ? wanted != old->second && command == wanted
                           : std::ranges::any_of(definitions_,
                                                 [&](auto& one) { return defined_by(command, one.name) == one.after; });
    if (known && (wanted == command || old->second == command)) continue;
    auto expected = expected_.find(key.first);
    if (expected != expected_.end() && known && without(command, expected->second) == wanted) {
      arrived[key.first] = true;
      continue;
    }
    if (known)
      return "with the patch the build compiles " + key.first + " by another command: " + join_command(command);
    // An earlier build compiled it before it was watched, and no earlier command is known.
    if (expected != expected_.end()) {
      arrived[key.first] = carries(command, expected->second);
      continue;
    }
    for (auto& [unit, flags] : expected_)
      for (auto& flag : flags)
        if (std::ranges::find(command, flag) != command.end())
          return flag + " is in the command that compiles " + key.first + ", too, and may not have been before";
  }
  for (auto& [unit, flags] : expected_)
    if (!arrived[unit])
      return "the flags " + join_command(flags) + " did not arrive in the command that compiles " + unit +
             ", as the build logs it";
  if (!any_redefined)
    return "no command that the build logs defines '" + definitions_[0].name + "' as " + definitions_[0].after;
  return {};
}

}  // namespace kernelift::reintegrate
