// A clock that advances only when the loop sleeps, and an Evaluator that runs by it: candidates are measured one after
// the other, confirmations have given costs, and a deadline that cannot be met gives no result. A tuning run of forty
// seconds takes milliseconds with them, and is the same on every machine.
#pragma once
#include <deque>
#include <list>
#include <map>

#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {

class FakeTime {
 public:
  using Time = TuneClock::Time;
  Time now() const { return now_; }
  double seconds() const { return std::chrono::duration<double>(now_ - Time()).count(); }
  void pass(double seconds) {
    now_ += std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
  }
  TuneClock clock() {
    return {[this] { return now_; }, [this](std::chrono::duration<double> time) { pass(time.count()), slept(); }};
  }
  std::function<void()> slept = [] {};

 private:
  Time now_;
};

class TimedEvaluator : public Evaluator {
 public:
  struct Costs {
    double evaluation = 1, calibration = 0, confirmation = 1;
    double least = 0.4;    ///< Share of a confirmation's cost that suffices for a short one.
    double told = -1;      ///< Cost that confirm_cost() reports; -1: the true one.
    double first = 0;      ///< Additional cost of the first confirmation.
    bool guesses = false;  ///< confirm_cost() tells of that only once there was one.
  };
  TimedEvaluator(FakeTime& time, Costs costs, FakeEvaluator::Landscape landscape)
      : time_(time), costs_(costs), landscape_(std::move(landscape)) {
    time_.slept = [this] { answer(); };
  }

  std::future<Evaluation> submit(Candidate candidate) override {
    bool original = candidate.tier == "baseline";
    free_at_ = std::max(free_at_, time_.seconds()) + (original ? 0 : costs_.evaluation);
    waiting_.push_back({free_at_, {}, landscape_(candidate)});
    if (!original) ++submissions[candidate.key()];
    auto answered = waiting_.back().promise.get_future();
    last_submitted = time_.seconds();
    if (original) answer();
    return answered;
  }
  int parallelism() const override { return 3; }
  void abandon() override {
    const size_t left = std::min(in_hand, waiting_.size());
    for (size_t i = 0; i < waiting_.size(); ++i) {
      Job& job = waiting_[i];
      if (!screens) job.evaluation = NotJudged{"abandoned"};
      if (i >= left) job.promise.set_value(job.evaluation);
    }
    abandoned += waiting_.size();
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(left), waiting_.end());
  }
  std::future<Evaluation> ask_other_sizes(Evaluation evaluation, Candidate candidate) override {
    if (!answers_questions) return open_.emplace_back().get_future();
    return Evaluator::ask_other_sizes(std::move(evaluation), std::move(candidate));
  }
  ConfirmCost confirm_cost() const override {
    return {.once = fresh_ ? 0 : costs_.calibration,
            .each = costs_.told < 0 ? costs_.confirmation : costs_.told,
            .own = 0,
            .first = asked_ || costs_.guesses ? 0 : costs_.first,
            .guessed = costs_.guesses && !asked_};
  }
  Evaluation confirm(const Candidate& candidate) override {
    time_.pass(confirm_cost().once + costs_.confirmation);
    return landscape_(candidate);
  }
  std::optional<Evaluation> confirm_by(const Candidate& candidate, FakeTime::Time deadline) override {
    double left = std::chrono::duration<double>(deadline - time_.now()).count(), once = asked_ ? 0 : costs_.first;
    confirmed_at.push_back(time_.seconds());
    // The original is measured again only if there is time for it.
    if (left >= confirm_cost().once + once + costs_.confirmation) once += confirm_cost().once, fresh_ = true;
    asked_ = true;
    if (left < once + costs_.least * costs_.confirmation) {
      time_.pass(std::max(0.0, left));
      return std::nullopt;
    }
    time_.pass(std::min(left, once + costs_.confirmation));
    ++confirmed;
    return confirms ? confirms(candidate) : landscape_(candidate);
  }
  std::string why_late() const override { return "launches 3.0 s"; }

  FakeEvaluator::Landscape confirms;  ///< Verdicts of confirmations; empty: those of the search.
  bool screens = false;               ///< Abandoned candidates have verdicts.
  size_t in_hand = 0;                 ///< Jobs that abandon() leaves to be answered when they would have been.
  bool answers_questions = true;      ///< About other sizes.
  std::map<Hash, int> submissions;    ///< Of candidates, by their keys.
  size_t confirmed = 0, abandoned = 0;
  std::vector<double> confirmed_at;  ///< Seconds at which each was begun.
  double last_submitted = 0;

 private:
  void answer() {
    while (!waiting_.empty() && waiting_.front().at <= time_.seconds()) {
      waiting_.front().promise.set_value(waiting_.front().evaluation);
      waiting_.pop_front();
    }
  }
  struct Job {
    double at = 0;
    std::promise<Evaluation> promise;
    Evaluation evaluation;
  };
  FakeTime& time_;
  Costs costs_;
  FakeEvaluator::Landscape landscape_;
  std::deque<Job> waiting_;
  std::list<std::promise<Evaluation>> open_;
  double free_at_ = 0;
  bool fresh_ = false, asked_ = false;
};

}  // namespace kernelift::tuner
