// The queue's promises to whoever waits for a slower compiler's build, and to whom nothing is worth waiting for any
// more: with real compile workers and measurers that only count.
#include "sandbox/evaluate/evaluation_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

TEST(EvaluationQueue, AnswersWhatWaitsToBeRebuiltWithWhatItWasScreenedAs) {
  MepFixture fixture = scale_mep();
  CompilePoolOptions options;
  options.workers = 1, options.few = true;
  auto baseline = compile_baseline(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(baseline.ok()) << baseline.error().message;
  std::promise<void> began, go_on;
  std::atomic<int> measured = 0;
  EvaluationQueue::Hooks hooks;
  hooks.measurers = {[&](EvaluationJob& job) -> std::optional<Evaluation> {
    Verdict screened;
    screened.detail = "screened";
    job.screened = screened;
    ++measured;
    return std::nullopt;
  }};
  // One is being built when the run is over, the other waits for its turn.
  hooks.rebuild = [&](const Candidate&) {
    began.set_value();
    go_on.get_future().wait();
    return CompileReply();
  };
  hooks.rebuilders = 1;
  hooks.label = [](const EvaluationJob&, Verdict&) {};
  EvaluationQueue queue(*baseline->pool, std::move(hooks));
  std::vector<std::future<Evaluation>> verdicts;
  for (int i = 0; i < 2; ++i) {
    Candidate candidate;
    candidate.source = std::string(kScaleSource) + std::string(i, '\n');
    verdicts.push_back(queue.submit(candidate));
  }
  began.get_future().wait();
  while (measured < 2) std::this_thread::yield();
  EXPECT_FALSE(queue.rebuilder_idle());
  queue.abandon();
  for (auto& verdict : verdicts) {
    bool ready = verdict.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    EXPECT_TRUE(ready) << "it waits for the other compiler";
    if (!ready) continue;
    Verdict answer = std::get<Verdict>(verdict.get());
    EXPECT_TRUE(answer.ok()) << answer.text();
    EXPECT_EQ(answer.detail, "screened");
  }
  go_on.set_value();
}

TEST(EvaluationQueue, AMeasurerThatIsLostLeavesItsJobsToTheOthers) {
  MepFixture fixture = scale_mep();
  CompilePoolOptions options;
  options.workers = 1, options.few = true;
  auto baseline = compile_baseline(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(baseline.ok()) << baseline.error().message;
  std::atomic<int> lost = 0;
  std::promise<void> first_lost;
  auto may_go_on = first_lost.get_future().share();
  EvaluationQueue::Hooks hooks;
  hooks.measurers = {[&](EvaluationJob& job) -> std::optional<Evaluation> {
                       job.measurer_lost = true;
                       if (++lost == 1) first_lost.set_value();
                       return not_launched("its GPU does not start");
                     },
                     [&](EvaluationJob&) -> std::optional<Evaluation> {
                       may_go_on.wait();
                       return Verdict();
                     }};
  hooks.label = [](const EvaluationJob&, Verdict&) {};
  EvaluationQueue queue(*baseline->pool, std::move(hooks));
  std::vector<std::future<Evaluation>> verdicts;
  for (int i = 0; i < 4; ++i) {
    Candidate candidate;
    candidate.source = std::string(kScaleSource) + std::string(i, '\n');
    verdicts.push_back(queue.submit(candidate));
  }
  for (auto& verdict : verdicts) EXPECT_TRUE(std::get<Verdict>(verdict.get()).ok());
  EXPECT_EQ(lost, 1);
}

TEST(EvaluationQueue, DoesNotCompileTheOriginalAgain) {
  MepFixture fixture = scale_mep();
  CompilePoolOptions options;
  // Nothing compiles in that time; the original is waited for all the same.
  options.workers = 1, options.few = true, options.time_limit = std::chrono::milliseconds(1);
  auto baseline = compile_baseline(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(baseline.ok()) << baseline.error().message;
  EvaluationQueue::Hooks hooks;
  hooks.source = baseline->source, hooks.original = baseline->reply;
  hooks.label = [](const EvaluationJob&, Verdict&) {};
  EvaluationQueue queue(*baseline->pool, std::move(hooks));
  Candidate candidate;
  candidate.source = baseline->source;
  EXPECT_EQ(queue.compile(candidate).compiled.image, baseline->reply.image);
  candidate.source += "\n";
  EXPECT_EQ(queue.compile(candidate).compiled.outcome, Outcome::TimedOut);
}

TEST(EvaluationQueue, EndsCompilationsThatNobodyWaitsForAndBlamesNobody) {
  MepFixture fixture = scale_mep();
  fixture.mep.compile_flags = {"-fconstexpr-steps=2147483647"};
  CompilePoolOptions options;
  options.workers = 1, options.few = true, options.time_limit = std::chrono::minutes(3);
  auto baseline = compile_baseline(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(baseline.ok()) << baseline.error().message;
  EvaluationQueue::Hooks hooks;
  hooks.label = [](const EvaluationJob&, Verdict&) {};
  EvaluationQueue queue(*baseline->pool, std::move(hooks));
  Candidate endless, other;
  other.source = kScaleSource;
  endless.source =
      "constexpr long f(int n) { long r = 0; for (long i = 0; i < 1l << n; ++i) r += i ^ n; return r; }\n__device__ "
      "long x = f(62);\n" +
      other.source;
  std::vector<std::future<Evaluation>> verdicts;
  for (int run = 0; run < 2; ++run) {
    verdicts.push_back(queue.submit(endless));
    verdicts.push_back(queue.submit(other));                      // Waits for the only worker.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // That it is at it by now is likely, and not needed.
    queue.abandon();
  }
  for (auto& verdict : verdicts) {
    ASSERT_EQ(verdict.wait_for(std::chrono::minutes(1)), std::future_status::ready);
    NotJudged answer = std::get<NotJudged>(verdict.get());
    EXPECT_NE(answer.why.find("abandoned"), std::string::npos) << answer.why;
  }
  // A finalist has the worker at once.
  EXPECT_TRUE(queue.compile(other).compiled.ok());
}

}  // namespace
}  // namespace kernelift::sandbox
