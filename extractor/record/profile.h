// Durations of launches, summed up as they come: per kernel and per geometry, in bounded memory however long the
// application runs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/capture.h"

namespace kernelift::record {

/// Count, total, extremes and a median that is exact up to kReservoir launches and a fair sample's beyond.
class Durations {
 public:
  void add(double microseconds);
  uint64_t count() const { return count_; }
  double total() const { return total_; }
  double shortest() const { return count_ ? shortest_ : 0; }
  double longest() const { return longest_; }
  double median() const;
  const std::vector<double>& sample() const { return sample_; }  ///< All of them up to kReservoir, then a fair choice.

 private:
  static constexpr size_t kReservoir = 1024;  ///< Doubles kept per kernel: 8 KiB, and ±3 % of rank at 95 %.
  uint64_t count_ = 0, random_ = 0x9e3779b97f4a7c15ull;
  double total_ = 0, shortest_ = 0, longest_ = 0;
  std::vector<double> sample_;
};

/// Median and quartiles of several lists as one, each launch with the same weight.
struct Quartiles {
  uint64_t count = 0;
  double low = 0, median = 0, high = 0;
};
Quartiles quartiles(const std::vector<const Durations*>& lists);

/// One kernel's launches.
class LaunchProfile {
 public:
  void add(const Geometry& geometry, double microseconds);
  const Durations& durations() const { return durations_; }
  /// With shapes by most time first; key and mangled are the caller's to fill.
  KernelProfile summary() const;

 private:
  static constexpr size_t kMostShapes = 1024;  ///< Launches of further geometries count in the kernel's sums only.
  struct Shape {
    uint64_t count = 0;
    double total_us = 0;
  };
  Durations durations_;
  std::map<Geometry, Shape> shapes_;
  std::map<Geometry, Shape>::iterator last_ = shapes_.end();  ///< Most launches repeat the geometry before them.
};

/// The time in which kernels ran, from the first one's start to the last one's end.
class KernelSpan {
 public:
  /// By one clock, whichever.
  void add(double start_seconds, double end_seconds) {
    first_ = any_ ? std::min(first_, start_seconds) : start_seconds;
    last_ = any_ ? std::max(last_, end_seconds) : end_seconds;
    any_ = true;
  }
  double seconds() const { return last_ - first_; }  ///< 0: nothing ran.

 private:
  double first_ = 0, last_ = 0;
  bool any_ = false;
};

/// The same for launches in one range of the application: the sum over the range's occurrences.
class KernelSpans {
 public:
  void add(uint64_t occurrence, double start_seconds, double end_seconds) {
    open_[occurrence].add(start_seconds, end_seconds);
    if (open_.size() <= kMostOpen) return;
    closed_ += open_.begin()->second.seconds();  // Whose last kernels may still come is a late one.
    open_.erase(open_.begin());
  }
  double seconds() const {
    double sum = closed_;
    for (auto& [_, span] : open_) sum += span.seconds();
    return sum;
  }

 private:
  static constexpr size_t kMostOpen = 1024;
  std::map<uint64_t, KernelSpan> open_;
  double closed_ = 0;
};

/// Merges kernels of equal key (one kernel in several modules) and sorts by most time first.
std::vector<KernelProfile> merge_profiles(std::vector<KernelProfile> profiles);

}  // namespace kernelift::record
