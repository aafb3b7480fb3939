// See prompt.h.
#include "tuner/source/llm/prompt.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::tuner {

constexpr size_t kShownKey = 60;

Result<std::string> fill_prompt(const std::filesystem::path& folder, const std::string& name,
                                const std::map<std::string, std::string>& values) {
  auto file = folder / (name + ".txt");
  KERNELIFT_ASSIGN(std::string text, read_text(file));
  std::string out;
  size_t at = 0;
  for (size_t open; (open = text.find("{{", at)) != text.npos;) {
    size_t close = text.find("}}", open);
    if (close == text.npos) return environment_error(file.string() + ": a '{{' is never closed");
    std::string key = text.substr(open + 2, close - open - 2);
    auto value = values.find(key);
    if (value == values.end()) {
      std::string known;
      for (auto& [name, text] : values) known += (known.empty() ? "" : ", ") + name;
      return environment_error(file.string() + ": there is no field '" + shown_line(key, kShownKey) + "' here; " +
                               (known.empty() ? "it has none" : "there are " + known));
    }
    out.append(text, at, open - at);
    out += value->second;
    at = close + 2;
  }
  return out + text.substr(at);
}

std::string as_data(const std::string& text) {
  size_t longest = 2, run = 0;
  for (char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

}  // namespace kernelift::tuner
