// The queue's era (EvaluationQueue::abandon) in memory that runners share with their evaluator: they give up what
// belongs to an earlier one (RunnerSettings::era).
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <limits>

#include "sandbox/jail/layers.h"

namespace kernelift::sandbox {

class SharedEra {
 public:
  /// Of what no abandon() concerns.
  static constexpr uint64_t kAlways = std::numeric_limits<uint64_t>::max();

  /// To be made before the fork servers of the runners are.
  SharedEra() {
    if (void* memory = shared_memory(sizeof *now_)) now_ = new (memory) std::atomic<uint64_t>(0);
  }
  SharedEra(const SharedEra&) = delete;
  SharedEra& operator=(const SharedEra&) = delete;
  ~SharedEra() {
    if (now_) munmap(now_, sizeof *now_);
  }
  /// nullptr: there was not enough memory.
  std::atomic<uint64_t>* now() const { return now_; }

 private:
  std::atomic<uint64_t>* now_ = nullptr;
};

}  // namespace kernelift::sandbox
