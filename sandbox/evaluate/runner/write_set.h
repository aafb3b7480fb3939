// Finds the bytes that the original writes regardless of their old contents. They are poisoned before every
// verification, so that a candidate that does not write them cannot pass with results of an earlier run. A written byte
// need not have changed: bytes that are equal before and after in the capture may be outputs. To find them, the whole
// buffer is filled with one pattern, and then with another: an element that equals the original's answer both times was
// written without being read; one that keeps both patterns was not written; in any other case the buffer's old contents
// matter. Every buffer that may be written is tried, even if it never changed (written_regions.h); a buffer of which
// nothing is written is an input.
#pragma once
#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift::sandbox {

class WriteSet {
 public:
  explicit WriteSet(Workbench& bench) : bench_(bench) {}

  /// Whether regions that never changed are tried as well.
  void set_unchanged_too(bool wanted) { unchanged_too_ = wanted; }
  /// Copies outputs, and other regions that a launch has `altered`; a region without a copy holds its given contents.
  /// `veiled`: as answers are (judge/veil.h).
  Status keep(size_t instance, const std::set<size_t>& altered, std::vector<DeviceMemory>& copies, bool veiled = false);
  /// Makes the values that `code`, the original, left in module variables the entry's answers, in memory that is added
  /// to `memory`.
  Status keep_variables(const LoadedCode& code, MemoryEntry entry, std::vector<DeviceMemory>& memory);
  /// Fills in the learned members of the instance's regions. `results`: the original's results, from keep(). A fault
  /// may end this process, so each experiment is announced.
  Status learn(size_t instance, const std::vector<DeviceMemory>& results);
  /// The regions that learn() tries.
  std::vector<size_t> poisoned(size_t instance) const;
  static constexpr size_t kPatterns = 2;  ///< Runs of the original per tried region.
  /// Least measured seconds to write as many bytes as the original writes; 0: not known.
  double fastest_write(size_t instance);

 private:
  enum class Learned { Yes, No, Hung };
  Result<Learned> learn_region(size_t instance, size_t region, const std::vector<DeviceMemory>& results);
  /// Whether the region holds addresses of recorded memory: poison instead would make the original fault.
  bool holds_addresses(const ReplayInstance& memory, const ReplayBuffer& region);

  Workbench& bench_;
  bool unchanged_too_ = true;
};

/// Device address of an earlier run's results in a region.
inline uint64_t result_of(const ReplayInstance& memory, const std::vector<DeviceMemory>& copies, size_t region) {
  return copies[region].size > 0 ? copies[region].address : memory.regions[region].given;
}

}  // namespace kernelift::sandbox
