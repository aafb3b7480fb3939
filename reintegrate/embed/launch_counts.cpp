// A line is "NAME 12 tuned 3 original".
#include "reintegrate/embed/launch_counts.h"

#include <cstdio>
#include <utility>

#include "core/base/file.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {

void LaunchCounts::read(bool patched) {
  auto text = read_text(file_);
  std::error_code code;
  std::filesystem::remove(file_, code);
  if (!patched || !text.ok()) return;
  for (auto& line : split_lines(*text))
    for (auto& launcher : launchers_) {
      unsigned long long tuned = 0, original = 0;
      const std::string counts(line.text);
      if (!counts.starts_with(launcher + " ")) continue;
      if (std::sscanf(counts.c_str() + launcher.size(), " %llu tuned %llu original", &tuned, &original) != 2) continue;
      if (!counts_) counts_.emplace();
      counts_->tuned += tuned, counts_->original += original;
    }
}

std::string LaunchCounts::take_note(const std::string& when, const std::string& if_none) {
  auto counted = std::exchange(counts_, std::nullopt);
  if (!counted)
    return "It is not known how many launches of " + when +
           " ran the embedded code: no process reported its counts at exit.";
  std::string note = "In " + when + " " + std::to_string(counted->tuned) + " of " +
                     std::to_string(counted->tuned + counted->original) + " launches ran the embedded code";
  if (counted->tuned == 0)
    note += ": the guard did not hold, the code could not be loaded, or the launches were captured in a CUDA graph; " +
            if_none;
  return note + ".";
}

}  // namespace kernelift::reintegrate
