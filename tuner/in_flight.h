// The candidates whose evaluation was asked for and is not stored yet.
#pragma once
#include <chrono>
#include <deque>
#include <future>
#include <list>
#include <optional>
#include <set>
#include <vector>

#include "core/model/evaluator.h"

namespace kernelift::tuner {

struct InFlight {
  Candidate candidate;
  std::vector<int64_t> parents;
  std::optional<size_t> arm;  ///< Whose proposal it is; none: a leader with one change less.
  std::future<Evaluation> evaluation = {};
  std::chrono::steady_clock::time_point begin = {};
  /// Known already; then the future is the same with what holds at other sizes.
  std::optional<Evaluation> measured = {};
  bool again = false;  ///< Its first evaluation had no verdict.
  bool asked() const { return measured.has_value(); }
};

class Flight {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Flight(Evaluator& evaluator) : evaluator_(evaluator) {}

  bool empty() const { return flying_.empty(); }
  size_t size() const { return flying_.size(); }
  /// Candidates that are measured, and about which a question is open.
  size_t asked() const;
  size_t count_of(std::string_view tier) const;
  /// In flight, or to be submitted again.
  bool knows(const Hash& key) const { return keys_.contains(key); }
  void submit(InFlight one, Clock::time_point now);
  /// For submit_again(), once, if it is a proposal: its proposer awaits a verdict.
  void put_back(InFlight one);
  /// Submits one that was taken back before it was answered, or put back; false if there is none.
  bool submit_again(Clock::time_point now);
  /// One whose evaluation is there; nullopt if there is none.
  std::optional<InFlight> take_answered();
  /// Asks what is known of it at other sizes; it is in flight again.
  void ask(InFlight measured, Evaluation evaluation);
  /// Takes all back, after the evaluator was told to abandon them: those that are answered, or measured and asked
  /// about, with what is known of them in `measured`. Proposals among the others are for submit_again().
  std::vector<InFlight> take_back();
  /// Forgets all.
  void clear() { flying_.clear(), again_.clear(), keys_.clear(); }
  /// What was waited for something else does not count as their time.
  void put_off(Clock::duration time);

 private:
  Evaluator& evaluator_;
  std::list<InFlight> flying_;
  std::deque<InFlight> again_;
  std::set<Hash> keys_;
};

}  // namespace kernelift::tuner
