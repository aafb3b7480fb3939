// One candidate's process: forked from the runner with the replay memory already in place, confined before the image is
// loaded, and told step by step what to run. It never sees the answers. The runner's side, Trial, turns its silence,
// death or nonsense into an outcome; the child's side is trial_child.cpp.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/evaluate/cpu/replay_memory.h"
#include "sandbox/evaluate/inquiry.h"
#include "sandbox/jail/channel.h"
#include "sandbox/jail/jail.h"

namespace kernelift {

/// Settings that the runner and its children share.
struct TrialSettings {
  unsigned threads = 0;  ///< Cores that a kernel may use; 0: all.
  std::chrono::milliseconds launch_limit{10'000};
  bool cold = false;                   ///< Flush the buffers from the caches before every timed launch.
  uint64_t memory_bytes = 2ull << 30;  ///< For a child, beyond the replay memory.
};

enum class Side : uint32_t { Baseline = 0, Candidate = 1 };

struct TrialTimes {
  std::optional<TrialFailure> failure;
  std::vector<double> baseline, candidate;  ///< Seconds of one launch each.
};

class Trial {
 public:
  /// Forks. EXPECTS: a single-threaded caller. `baseline` is loaded already, `candidate` (may be null) is loaded by the
  /// child. `candidate_first` swaps which image lies where, to tell a gain from the luck of addresses.
  static Result<std::unique_ptr<Trial>> start(const Mep& mep, const ReplayMemory& memory, const TrialCode& baseline,
                                              const TrialCode* candidate, const TrialSettings& settings,
                                              bool candidate_first = false);
  ~Trial();

  /// Waits until both images are loaded and every instance's launches are prepared.
  std::optional<TrialFailure> loaded();
  /// Runs one side once on the live memory as it is, and leaves module variables in the mirror. `variables`: what they
  /// hold before, laid out like the mirror; empty: as recorded.
  std::optional<TrialFailure> run(Side side, size_t instance, std::string_view variables = {});
  /// `rounds` pairs of samples, each the mean of `batch` launches, everything restored before each launch.
  TrialTimes time(size_t instance, int rounds, int batch);
  /// Waits are cut short once `ended` says so; what was waited for has then timed out, and the process is gone.
  void end_when(std::function<bool()> ended) { ended_ = std::move(ended); }
  double last_seconds() const { return last_seconds_; }  ///< Of the last run().

 private:
  Trial() = default;
  Frame receive(std::chrono::milliseconds limit);
  std::optional<TrialFailure> read_failure(const Frame& frame, size_t instance, std::string* rest);
  TrialFailure post_mortem(Arrival how, size_t instance);

  const ReplayMemory* memory_ = nullptr;
  Channel channel_;
  pid_t pid_ = -1;
  FaultReport* fault_ = nullptr;
  std::chrono::milliseconds limit_{0};
  double last_seconds_ = 0;
  std::function<bool()> ended_;
};

/// The child's side; never returns.
[[noreturn]] void serve_trial(Channel channel, FaultReport* fault, const Mep& mep, const ReplayMemory& memory,
                              const TrialCode& baseline, const TrialCode* candidate, const TrialSettings& settings,
                              bool candidate_first);

/// Frames of the conversation.
namespace trial_frame {
inline constexpr uint32_t kLoaded = 1, kRun = 2, kRan = 3, kTime = 4, kTimed = 5;
}

}  // namespace kernelift
