// Finalists at other sizes on a fake GPU: where the original ends the process, and where time ends.
#include "sandbox/evaluate/runner/sizes/size_runs.h"

#include <gmock/gmock.h>

#include <thread>

#include "core/tests/expression_literal.h"
#include "sandbox/evaluate/runner/runner_process.h"
#include "sandbox/evaluate/runner/tests/fake_images.h"
#include "sandbox/evaluate/size_plan.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

constexpr int kRecorded = 3000, kHeldOut = 1501;

Result<std::unique_ptr<Device>> fake_device(int) {
  auto images = fake::images();
  images["ends at one"] = images["slow elsewhere"] = images["ends at one later"] = images["crashes at one"] =
      images["original"];
  // As where something else lay behind an array when the original's answers were taken.
  images["ends at one later"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    static int runs = 0;
    if (call.n == 1 && ++runs > 2) return FakeRun{1e-6, DeviceFault::Crashed, "reads behind in", {}, true};
    return call.run(), FakeRun{100e-6};
  });
  images["crashes at one"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    if (call.n == 1) return FakeRun{1e-6, DeviceFault::Crashed, "reads behind in", {}, true};
    return call.run(), FakeRun{50e-6};
  });
  images["wrong at one"] = images["original"];
  images["wrong at one"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    call.run();
    if (call.n == 1) call.out[0] += 1;
    return FakeRun{50e-6};
  });
  images["wrong elsewhere"] = images["original"];
  images["wrong elsewhere"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    call.run();
    if (call.n > 0 && call.n != kRecorded && call.n != kHeldOut) call.out[0] += 1;
    return FakeRun{50e-6};
  });
  images["ends at one"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    if (call.n == 1) return FakeRun{1e-6, DeviceFault::Crashed, "an illegal memory access was encountered"};
    return call.run(), FakeRun{100e-6};
  });
  images["slow elsewhere"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    if (call.n != kRecorded && call.n != kHeldOut) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return call.run(), FakeRun{100e-6};
  });
  return std::unique_ptr<Device>(new FakeDevice(images));
}

struct Rig {
  explicit Rig(const char* image) : fixture(fake::scale(kRecorded)), original(image) {
    LaunchSite& site = fixture.mep.launches.emplace_back();
    site.grid[0] = "(n + 127) / 128"_e, site.grid[1] = site.grid[2] = "1"_e;
    site.block[0] = "128"_e, site.block[1] = site.block[2] = "1"_e;
    site.argument_text = {"in", "out", "n", "factor"};
    fork_server = std::move(*RunnerProcess::fork_server(fixture.mep, fixture.path(), {}, {.device = fake_device}));
    start();
  }
  void start() {
    RunnableCode code;
    code.image = original;
    RunnerStart with;
    with.why_no_reference = [this](const SizedInstance& sized) -> std::string {
      ++asked;
      if (slow_answer.count() > 0) return std::this_thread::sleep_for(slow_answer), "the original races there";
      return sized.size.values == Bindings{{"n", 1}} ? no_reference_at_one : "";
    };
    auto started = RunnerProcess::start(*fork_server, 0, {code}, false, fatal, report, std::move(with));
    ASSERT_TRUE(started.ok()) << started.error().message;
    process = std::move(*started);
  }
  Verdict judge(const std::string& image) {
    const Candidate recorded;
    Inquiry inquiry;
    inquiry.confirm = true, inquiry.sizes = plan_sizes(fixture.mep, {recorded});
    RunnableCode code;
    code.image = image;
    auto evaluation = process->evaluate(code, inquiry);
    auto* verdict = evaluation ? std::get_if<Verdict>(&*evaluation) : nullptr;
    return verdict ? *verdict : Verdict{};
  }
  MepFixture fixture;
  std::string original;
  std::unique_ptr<ForkServer> fork_server;
  std::unique_ptr<RunnerProcess> process;
  std::set<std::string> fatal;
  BaselineReport report;
  std::string no_reference_at_one;
  std::chrono::milliseconds slow_answer{0};
  int asked = 0;
};

TEST(SizeRuns, ASizeThatEndsTheOriginalsProcessIsTriedOnceAndDropped) {
  Rig rig("ends at one");
  Verdict verdict = rig.judge("faster");
  EXPECT_EQ(verdict.detail, "the original itself ended at n = 1");
  EXPECT_FALSE(rig.process->alive());
  EXPECT_EQ(rig.process->experiment(), "size n = 1");
  rig.fatal.insert(rig.process->experiment());
  rig.start();
  verdict = rig.judge("faster");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("1 size left out (n = 1): the original fails there"));
  EXPECT_GT(verdict.sizes_run->right.size(), 5u);
}

TEST(SizeRuns, SizesThatWouldTakeTooLongAreLeftOutAndCounted) {
  Rig rig("slow elsewhere");
  Verdict verdict = rig.judge("faster");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  ASSERT_TRUE(verdict.sizes_run);
  EXPECT_FALSE(verdict.sizes_run->right.empty());
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr(" more sizes left out for lack of time"));
}

TEST(SizeRuns, ACandidateThatFailsWhereTheOriginalThenDoesIsNotToBlame) {
  Rig later("ends at one later");
  Verdict verdict = later.judge("crashes at one");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("1 size left out (n = 1): the original fails there"));
  Rig never("original");
  EXPECT_EQ(never.judge("crashes at one").outcome, Outcome::Crashed);
}

TEST(SizeRuns, ACandidateIsNotWrongWhereTheOriginalIsNoReference) {
  Rig rig("original");
  EXPECT_EQ(rig.judge("wrong at one").outcome, Outcome::Wrong);
  EXPECT_EQ(rig.asked, 1) << "only where results differ";
  rig.no_reference_at_one = "the original races there";
  Verdict verdict = rig.judge("wrong at one");
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr("1 size left out (n = 1): the original races there"));
  const int asked = rig.asked;
  EXPECT_TRUE(rig.judge("wrong at one").ok());
  EXPECT_EQ(rig.asked, asked) << "it is known now";
}

TEST(SizeRuns, AskingWhetherTheOriginalIsAReferenceEndsWithItsTime) {
  Rig rig("original");
  rig.slow_answer = std::chrono::milliseconds(1100);
  Verdict verdict = rig.judge("wrong elsewhere");
  EXPECT_EQ(rig.asked, 2);
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_THAT(verdict.sizes_run->text(), HasSubstr(" more sizes left out for lack of time"));
}

TEST(SizeRuns, ACandidateThatFailsAtASizeIsSaidToFailThere) {
  Rig rig("original");
  Verdict verdict = rig.judge("ends at one");
  EXPECT_EQ(verdict.outcome, Outcome::Crashed);
  EXPECT_EQ(verdict.text(), "crashed at n = 1 on instance b: an illegal memory access was encountered");
  EXPECT_EQ(rig.process->experiment(), "") << "its own doing";
}

}  // namespace
}  // namespace kernelift::sandbox
