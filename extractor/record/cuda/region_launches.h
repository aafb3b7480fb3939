// Which launches were made in the NVTX range that is recorded. Their kernels run later, and are told by other threads.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "extractor/record/nvtx_ranges.h"

namespace kernelift::record {

class RegionLaunches {
 public:
  /// Empty: everything is recorded.
  explicit RegionLaunches(const std::string& region) {
    if (!region.empty()) NvtxRanges::watch(region);
  }
  bool watching() const { return NvtxRanges::watching(); }

  /// Called as a launch begins: is it to be recorded?
  bool takes(uint32_t correlation) {
    if (!watching()) return true;
    const uint64_t occurrence = NvtxRanges::occurrence();
    if (occurrence == 0) {
      outside_ = true;
      return false;
    }
    std::lock_guard lock(mutex_);
    any_ = true;
    if (occurrences_.size() < kMost) occurrences_[correlation] = occurrence;
    return true;
  }
  /// Of the range, in which a kernel's launch was; nothing: it is not recorded. A graph's launch has several kernels.
  std::optional<uint64_t> occurrence_of(uint32_t correlation, bool in_graph) {
    if (!watching()) return 1;
    std::lock_guard lock(mutex_);
    auto found = occurrences_.find(correlation);
    if (found == occurrences_.end()) return std::nullopt;
    const uint64_t occurrence = found->second;
    if (!in_graph) occurrences_.erase(found);
    return occurrence;
  }
  bool missed() const { return outside_ && !any_; }  ///< All launches were outside of it.

 private:
  static constexpr size_t kMost = 1 << 18;  ///< Launches whose kernels have not run.
  std::mutex mutex_;
  std::atomic<bool> any_{false}, outside_{false};
  std::unordered_map<uint32_t, uint64_t> occurrences_;
};

}  // namespace kernelift::record
