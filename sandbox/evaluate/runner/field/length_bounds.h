// How far a right result may be by the rounding errors of the original's sums (judge/length_bound.h), for a candidate
// that Inquiry::held_to_length: found once a result seems wrong by the tolerance, by runs of the original on the CPU
// device: this runner's, or that of another runner, which is asked (RunnerSettings::lengths).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sandbox/evaluate/runner/field/length_numbers.h"

namespace kernelift::sandbox {

class LengthBounds {
 public:
  explicit LengthBounds(Workbench& bench) : bench_(bench), numbers_(bench) {}

  /// Of an inquiry that is held to them; `code`: RunnableCode::precise, error_bounds, where this device runs them.
  void begin(const RunnableCode& code) { numbers_.prepare(code), why_not_.clear(), seconds_ = 0, lacked_time_ = false; }
  /// A result on this entry of memory seems wrong: true if ErrorBounds::by_length is known only now for its outputs of
  /// single precision, so that it has to be judged again. False unless the inquiry is held to them. EXPECTS: the entry
  /// has its answers.
  bool find(MemoryEntry entry);
  /// Once one of these is wanted, the others are asked for at the same time. Until forget_together().
  void ask_together(std::vector<MemoryEntry> entries) { together_ = std::move(entries); }
  void forget_together() { together_.clear(); }
  /// The same as find() for memory at another size.
  bool find(const SizedInstance& sized, ReplayInstance& memory);
  /// Lends the entry bounds (LengthBound::between) of two others, if these have their own or are found now. If one can
  /// never have any, so cannot this one.
  void lend(MemoryEntry entry, MemoryEntry one, MemoryEntry other);
  /// Why the bounds of a result that seemed wrong are not known; of the present inquiry. Empty: all are.
  const std::string& why_not() const { return why_not_; }
  /// Some bounds may be known another time: there was no time left, in the present inquiry.
  bool lacked_time() const { return lacked_time_; }
  /// What another runner asks.
  LengthAnswer answer(const RunnableCode& code, const LengthQuestion& question);
  /// To be called before another calibration.
  void forget() { numbers_.forget(); }

 private:
  using Find = std::function<LengthAnswer(const std::vector<size_t>& wanted)>;
  /// Entries whose bounds were found.
  std::vector<size_t> find_all(const std::vector<MemoryEntry>& entries);
  bool find(ReplayInstance& memory, const Find& find);
  void spend(Deadline begin);
  /// The regions for which bounds have to be found; none, or none can be, as why_not() then says: nullopt.
  std::optional<std::vector<size_t>> wanted(const ReplayInstance& memory);
  /// As find(), once there is an answer.
  bool take(const LengthAnswer& answer, const std::vector<size_t>& wanted, ReplayInstance& into);
  /// False: the answer does not fit the region.
  bool take(const LengthAnswer::Region& answer, ReplayBuffer& into) const;
  /// For the runner that runs the CPU device. Else an answer that says why it cannot be asked.
  std::variant<LengthQuestion, LengthAnswer> question(const ReplayInstance& memory, size_t instance,
                                                      const std::optional<SizedInstance>& sized,
                                                      const std::vector<size_t>& wanted) const;
  LengthAnswer asked(const ReplayInstance& memory, size_t instance, const std::optional<SizedInstance>& sized,
                     const std::vector<size_t>& wanted) const;

  Workbench& bench_;
  LengthNumbers numbers_;
  std::vector<MemoryEntry> together_;  ///< ask_together().
  double seconds_ = 0;                 ///< That finding took, of the present inquiry.
  bool lacked_time_ = false;
  std::string why_not_;
  std::string never_;  ///< Why the last that are never known are not.
};

}  // namespace kernelift::sandbox
