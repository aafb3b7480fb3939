// Which bytes the original writes whatever was there before: those are poisoned before every verification, so that a
// candidate which does not write them cannot pass on what an earlier run left. "Changed" is not "written": a byte that
// the capture shows unchanged may still be an output. Filling a whole buffer with two different patterns shows it: an
// element that ends as the original's answer under both was written without being read, one that keeps each pattern was
// not touched, and anything else means that the buffer's old content matters. So every buffer that may be written is
// tried, though it never changed (written_regions.h); one of which nothing is written is an input.
#pragma once
#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift {

class WriteSet {
 public:
  explicit WriteSet(Workbench& bench) : bench_(bench) {}

  /// Whether regions that never changed are worth an experiment.
  void set_unchanged_too(bool wanted) { unchanged_too_ = wanted; }
  /// Copies of outputs, and of other regions that a launch has `altered`. No copy: it holds what was given.
  Status keep(size_t instance, const std::set<size_t>& altered, std::vector<DeviceMemory>& copies);
  /// `results`: what the original left (keep). A fault may end this process: the experiment is announced before.
  Status learn(size_t instance, const std::vector<DeviceMemory>& results);
  /// The regions that are filled with poison for that.
  std::vector<size_t> poisoned(size_t instance) const;
  static constexpr size_t kPatterns = 2;  ///< Runs of the original for each.
  /// The fastest way to write as many bytes as the original leaves; 0: not known.
  double fastest_write(size_t instance);

 private:
  enum class Learned { Yes, No, Hung };
  Result<Learned> learn_region(size_t instance, size_t region, const std::vector<DeviceMemory>& results);
  /// Whether its recorded content leads into recorded memory: poison over it leads the original astray.
  bool holds_addresses(const ReplayInstance& memory, const ReplayBuffer& region);

  Workbench& bench_;
  bool unchanged_too_ = true;
};

/// What an earlier run left of a region.
inline uint64_t result_of(const ReplayInstance& memory, const std::vector<DeviceMemory>& copies, size_t region) {
  return copies[region].size > 0 ? copies[region].address : memory.regions[region].given;
}

}  // namespace kernelift
