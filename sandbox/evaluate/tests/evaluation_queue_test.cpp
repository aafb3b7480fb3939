// The queue's promise to whoever waits for a slower compiler's build, with real compile workers and a measurer that only
// counts.
#include "sandbox/evaluate/evaluation_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/evaluate/baseline.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift {
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
  hooks.measurers = {[&](EvaluationJob& job) -> std::optional<Verdict> {
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
  std::vector<std::future<Verdict>> verdicts;
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
    Verdict answer = verdict.get();
    EXPECT_TRUE(answer.ok()) << answer.text();
    EXPECT_EQ(answer.detail, "screened");
  }
  go_on.set_value();
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

}  // namespace
}  // namespace kernelift
