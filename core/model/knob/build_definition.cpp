// See build_definition.h. Compilers take `-DNAME=VALUE` as one word or as two, nvcc also `--define-macro`.
#include "core/model/knob/build_definition.h"

#include <array>
#include <functional>

namespace kernelift {
namespace {

constexpr std::array<std::string_view, 2> kOptions = {"-D", "--define-macro"};

/// Calls `found` with the word and the offset of "NAME=VALUE" or "NAME" in it for each definition of the command.
void each_definition(std::vector<std::string>& command, const std::function<void(std::string&, size_t)>& found) {
  for (size_t i = 0; i < command.size(); ++i)
    for (std::string_view option : kOptions) {
      std::string& word = command[i];
      if (!word.starts_with(option)) continue;
      if (word.size() == option.size()) {
        if (i + 1 < command.size()) found(command[i + 1], 0), ++i;
      } else {
        found(word, option.size() + (word[option.size()] == '='));
      }
      break;
    }
}

}  // namespace

std::string build_definition(std::string_view name, std::string_view value) {
  return "#define " + std::string(name) + " " + std::string(value);
}

std::optional<std::string> defined_by(const std::vector<std::string>& command, std::string_view name) {
  std::optional<std::string> value;
  bool clear = true;
  auto words = command;
  each_definition(words, [&](std::string& word, size_t at) {
    const std::string_view text = std::string_view(word).substr(at);
    if (text.substr(0, text.find('=')) != name) return;
    const std::string spelled(text.size() > name.size() ? text.substr(name.size() + 1) : "1");
    clear &= text.size() > name.size() && (!value || value == spelled);
    value = spelled;
  });
  return clear ? value : std::nullopt;
}

std::vector<std::string> redefined(std::vector<std::string> command, std::string_view name, std::string_view before,
                                   std::string_view after) {
  const std::string from = std::string(name) + "=" + std::string(before),
                    to = std::string(name) + "=" + std::string(after);
  each_definition(command, [&](std::string& word, size_t at) {
    if (std::string_view(word).substr(at) == from) word.replace(at, from.size(), to);
  });
  return command;
}

}  // namespace kernelift
