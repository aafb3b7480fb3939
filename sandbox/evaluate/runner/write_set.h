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
  /// may end this process, so each experiment is announced. `known_too`: regions that are known to be written are tried
  /// as well.
  Status learn(size_t instance, const std::vector<DeviceMemory>& results, bool known_too = true);
  /// The same for all regions that are known to be written, in as many launches as learn() takes for one; `seconds`:
  /// theirs. False: what some of these hold matters, or the original does not repeat its results; nothing is learned.
  Result<bool> learn_together(size_t instance, const std::vector<DeviceMemory>& results, std::vector<double>& seconds);
  /// Least measured seconds to write as many bytes as the original writes; 0: not known.
  double fastest_write(size_t instance);

 private:
  enum class Learned { Yes, No, Hung };
  /// The regions that learn() tries.
  std::vector<size_t> poisoned(size_t instance) const;
  /// Poisons the regions at once; `seconds`: of the launches that ended well.
  Result<Learned> learn_regions(size_t instance, const std::vector<size_t>& regions,
                                const std::vector<DeviceMemory>& results, std::vector<double>& seconds);
  Status learn_states(ReplayBuffer& region, uint64_t result, std::vector<DeviceMemory>& states);
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
