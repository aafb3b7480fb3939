// What the original answers to inputs that were never recorded: recorded ones, perturbed (judge/perturbation.h).
// Answers are kept where no child can see them. A perturbation is dropped where the original itself crashes on it,
// writes outside, or does not give the same answer twice; where it rounds differently there, tolerances are widened as
// usual.
//   begin()   puts a perturbed input into the live memory
//   compare() says what is wrong with what lies there after a run
// Only the heaviest instances are perturbed, and only as long as their answers do not outgrow a limit.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sandbox/evaluate/cpu/trial.h"
#include "sandbox/judge/perturbation.h"

namespace kernelift {

/// Memory that children do not inherit.
class HiddenBytes {
 public:
  HiddenBytes() = default;
  explicit HiddenBytes(size_t size);
  HiddenBytes(HiddenBytes&& other) noexcept { swap(other); }
  HiddenBytes& operator=(HiddenBytes&& other) noexcept {
    swap(other);
    return *this;
  }
  ~HiddenBytes();
  std::span<std::byte> bytes() const { return {base_, size_}; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  void swap(HiddenBytes& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
  }
  std::byte* base_ = nullptr;
  size_t size_ = 0;
};

class PerturbedOracle {
 public:
  static constexpr size_t kMostInstances = 3, kKinds = 2;
  /// What it needs of its owner: a trial of the original against `other` (null: itself), and whether time is over.
  using StartTrial = std::function<Result<std::unique_ptr<Trial>>(const TrialCode* other)>;
  struct Case {
    size_t instance = 0;
    Perturbation kind = Perturbation::Jitter;
    std::string variables;              ///< What module variables hold before, laid out like the mirror.
    HiddenBytes answer;                 ///< All regions one after the other, then the variables.
    std::vector<Yardstick> yardsticks;  ///< Regions, then variables.
  };
  struct Complaint {
    std::string buffer, detail;
    Mismatch first;
  };

  /// Asks the original. `instances`: the heaviest first, kMostInstances at most. nullptr when `ended` said so before
  /// all was asked.
  static std::unique_ptr<PerturbedOracle> ask(const ReplayMemory& memory, const std::vector<size_t>& instances,
                                              const TrialCode& baseline, const Roundings& roundings,
                                              const StartTrial& start, const std::function<bool()>& ended);

  const std::vector<Case>& cases() const { return cases_; }
  /// The perturbed input, with outputs poisoned, or (`stale`) holding the answer to the unperturbed one: whoever sees
  /// from what lies there that the work was done already passes on the wrong answer.
  void begin(const Case& wanted, bool stale) const;
  std::optional<Complaint> compare(const Case& wanted) const;

 private:
  explicit PerturbedOracle(const ReplayMemory& memory) : memory_(memory) {}
  std::optional<Case> answered(size_t instance, Perturbation kind, Trial& trial) const;
  void widen(const TrialCode& baseline, const Roundings& roundings, const StartTrial& start,
             const std::function<bool()>& ended);
  bool perturb_live(size_t instance, Perturbation kind) const;
  void collect(size_t instance, std::span<std::byte> into) const;
  size_t answer_bytes(size_t instance) const;

  const ReplayMemory& memory_;
  std::vector<Case> cases_;
};

}  // namespace kernelift
