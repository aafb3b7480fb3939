// Whether CUPTI times the kernels of a graph's launch one by one. That costs the application about a microsecond for
// each, and half of one even if no records are asked for; so graphs are traced as wholes from the beginning, and a few
// launches are made with that switched off. Another thread's launch meanwhile is traced one way or the other, as its
// records tell. The first launch after one that was traced as a whole is only a run-up: its first kernel would seem to
// have begun when the launch was queued.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "extractor/record/cuda/cupti/cupti.h"

namespace kernelift {

class GraphTiming {
 public:
  explicit GraphTiming(const Cupti& cupti) : cupti_(cupti) {}
  /// With a CUPTI that cannot trace wholes, kernels are timed whenever others are.
  void start();
  void stop();
  bool only_wholes() const { return wholes_; }
  enum class Kernels { Untimed, RunUp, Timed };
  /// Before a launch; `due`: it is worth timing; `known`: its kernels can be counted without records. After a Timed one
  /// launched() follows.
  Kernels launch(bool due, bool known, uint32_t correlation);
  void launched() { time_kernels(false); }
  /// For a launch that begins and ends with the device idle.
  void time_kernels(bool on);
  bool was_run_up(uint32_t correlation);

 private:
  void switch_to(bool kernels);

  const Cupti& cupti_;
  std::atomic<bool> wholes_{false};
  std::mutex turn_;
  bool open_ = false;         ///< Kernels are being timed.
  bool after_whole_ = false;  ///< The last launch was traced as a whole.
  std::set<uint32_t> run_ups_;
};

}  // namespace kernelift
