// Whether CUPTI times the kernels of a graph's launch one by one. That costs the application about a microsecond for
// each, and half of one even if no records are asked for; so graphs are traced as wholes from the beginning, and few
// launches are made with that switched off. The launch before it is switched on again is only a run-out, whose records
// are not used: its first kernel would seem to have begun when the last such row of launches ended. Other threads'
// launches are held up for a switch, since CUPTI loses records otherwise, but never for a launch.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>

#include "extractor/record/cuda/cupti/cupti.h"
#include "extractor/record/cuda/quiet/gate.h"

namespace kernelift {

class GraphTiming {
 public:
  GraphTiming(const Cupti& cupti, Gate& gate) : cupti_(cupti), gate_(gate) {}
  /// With a CUPTI that cannot trace wholes, kernels are timed whenever others are.
  void start();
  void stop();
  bool only_wholes() const { return wholes_; }
  enum class Kernels { Untimed, RunOut, Timed };
  /// Before a launch; `due`: it is worth timing. After a run-out, ran_out() follows. EXPECTS: inside the gate.
  Kernels launch(bool due, uint32_t correlation);
  void ran_out();
  /// For a thread that is alone, or while no kernels are timed at all.
  void time_kernels(bool on);
  bool was_run_out(uint32_t correlation);

 private:
  bool switch_to(bool kernels);

  const Cupti& cupti_;
  Gate& gate_;
  std::atomic<bool> wholes_{false}, open_{false};  ///< Open: kernels are being timed.
  std::mutex turn_;
  std::set<uint32_t> run_outs_;
};

}  // namespace kernelift
