// How many launches of the patched application ran embedded code: its processes append a line for each launcher to a
// file when they end.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kernelift::reintegrate {

class LaunchCounts {
 public:
  LaunchCounts() = default;
  /// `launchers`: the patch's own. Counts of others are ignored: the unpatched application may contain one from an
  /// earlier patch or for another kernel.
  LaunchCounts(std::filesystem::path file, std::vector<std::string> launchers)
      : file_(std::move(file)), launchers_(std::move(launchers)) {}

  bool any() const { return !launchers_.empty(); }
  /// Adds what processes have written since the last call, or drops it, if they were not patched.
  void read(bool patched);
  /// Launches were counted since the last sentence, and none of them ran it.
  bool none_tuned() const { return counts_ && counts_->tuned == 0; }
  /// A sentence about the launches of `when` since the last sentence; `if_none` says what follows if none ran it.
  std::string take_note(const std::string& when, const std::string& if_none);

 private:
  struct Counts {
    unsigned long long tuned = 0, original = 0;
  };
  std::filesystem::path file_;
  std::vector<std::string> launchers_;
  std::optional<Counts> counts_;  ///< Nothing if no process reported any.
};

}  // namespace kernelift::reintegrate
