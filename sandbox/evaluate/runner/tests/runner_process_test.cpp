// Runner processes around a fake device: what a candidate can end, and what goes on after it.
#include "sandbox/evaluate/runner/runner_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "sandbox/evaluate/runner/tests/fake_images.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

constexpr int kSlowDevice = 99;  ///< Its driver takes minutes to start.

Result<std::unique_ptr<Device>> fake_device(int ordinal) {
  if (ordinal == kSlowDevice) std::this_thread::sleep_for(std::chrono::minutes(2));
  if (ordinal > 0) return environment_error("there is no GPU " + std::to_string(ordinal));
  auto images = fake::images();
  // Survives nothing but its own inputs: poison in `out` kills it, as poison in a buffer of indices would.
  images["frail"] = images["original"];
  images["frail"].kernels["right"] = fake::kernel([](const fake::Scale& call) {
    if (call.out[0] < -6000 && call.out[0] > -6400)
      return FakeRun{1e-6, DeviceFault::Crashed, "an illegal memory access was encountered"};
    return call.run(), FakeRun{100e-6};
  });
  // Survives nothing but the recorded inputs.
  auto recorded = [](const fake::Scale& call) {
    for (int i = 0; i < call.n; ++i)
      if (call.in[i] != static_cast<float>(i % 1000) * 0.5f - 100.0f) return false;
    return true;
  };
  for (auto [name, seconds] : {std::pair{"picky", 100e-6}, {"too fast and picky", 1e-9}}) {
    images[name] = images["original"];
    images[name].kernels["right"] = fake::kernel([recorded, seconds](const fake::Scale& call) {
      if (!recorded(call)) return FakeRun{1e-6, DeviceFault::Crashed, "an illegal memory access was encountered"};
      return call.run(), FakeRun{seconds};
    });
  }
  images["exits"] = images["original"];
  images["exits"].kernels["right"] = fake::kernel([](const fake::Scale&) -> FakeRun { _exit(3); });
  return std::unique_ptr<Device>(new FakeDevice(images));
}

/// Two passes; the figure it reports is how many of its steps worked.
Status fake_profile(int, const std::function<Status()>& prepare, const std::function<Status()>& launch,
                    KernelFacts& facts) {
  double worked = 0;
  for (int pass = 0; pass < 2; ++pass) {
    KERNELIFT_TRY(prepare());
    ++worked;
    KERNELIFT_TRY(launch());
    ++worked;
  }
  facts.dram_read_bytes = worked;
  return done();
}

/// By this clock every launch takes 101 us, whatever events say of it.
Result<std::vector<double>> fake_trace(const std::string& kernel, const std::function<Status()>& work) {
  KERNELIFT_TRY(work());
  if (kernel != "right") return environment_error("asked for " + kernel);
  return std::vector<double>(20, 101e-6);
}

Result<std::vector<double>> fatal_trace(const std::string&, const std::function<Status()>&) { _exit(4); }

Result<std::vector<double>> no_trace(const std::string&, const std::function<Status()>&) {
  return environment_error("there is no CUPTI here");
}

RunnableCode code_of(const std::string& image) {
  RunnableCode code;
  code.image = image;
  return code;
}

struct Rig {
  explicit Rig(const char* original = "original", const char* application = "", std::vector<std::string> roundings = {},
               int n = 3000, KernelTracer trace = {})
      : fixture(fake::scale(n)), original(original), application(application), roundings(std::move(roundings)) {
    RunnerSettings settings;
    settings.perturbing_limit = 1e9;  // Whatever else this machine does meanwhile.
    fork_server = std::move(*RunnerProcess::fork_server(fixture.mep, fixture.path(), settings,
                                                        {fake_device, fake_profile, std::move(trace)}));
    start();
  }
  void start() {
    auto started =
        RunnerProcess::start(*fork_server, 0, {code_of(original), roundings, application}, false, fatal, report);
    trouble = started.ok() ? "" : started.error().message;
    if (started.ok()) process = std::move(*started);
  }
  MepFixture fixture;
  std::string original, application;
  std::vector<std::string> roundings;
  std::unique_ptr<ForkServer> fork_server;
  std::unique_ptr<RunnerProcess> process;
  std::set<std::string> fatal;
  BaselineReport report;
  std::string trouble;
};

TEST(RunnerProcess, CarriesFactsReportsAndVerdicts) {
  Rig rig;
  ASSERT_EQ(rig.trouble, "");
  EXPECT_EQ(rig.process->facts().arch, "sm_90");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  auto evaluation = rig.process->evaluate(code_of("faster"), {});
  auto* verdict = evaluation ? std::get_if<Verdict>(&*evaluation) : nullptr;
  ASSERT_TRUE(verdict && verdict->ok()) << (verdict ? verdict->text() : "none");
  EXPECT_NEAR(verdict->speedup(), 2, 1e-6);
  EXPECT_EQ(verdict->resources.registers, 32u);
  EXPECT_TRUE(rig.process->alive());
}

TEST(RunnerProcess, CarriesNamesThatAreNoUtf8) {
  MepFixture fixture = fake::scale();
  fixture.mep.parameters[1].name = "o\xffut";
  auto fork_server =
      std::move(*RunnerProcess::fork_server(fixture.mep, fixture.path(), {}, {fake_device, fake_profile}));
  std::set<std::string> fatal;
  BaselineReport report;
  auto process = RunnerProcess::start(*fork_server, 0, {code_of("original")}, false, fatal, report);
  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_TRUE(report.pass()) << report.complaint();
}

TEST(RunnerProcess, SaysAtOnceWhatItCannotAnswer) {
  Rig rig;
  auto process = RunnerProcess::open(*rig.fork_server, 0);
  ASSERT_TRUE(process.ok()) << process.error().message;
  auto facts = (*process)->kernel_facts();
  ASSERT_FALSE(facts.ok()) << "nothing was calibrated";
  EXPECT_THAT(facts.error().message, HasSubstr("got a request that it cannot answer"));
}

TEST(RunnerProcess, DoesNotAskAgainForTheSumsThatEndedIt) {
  Rig rig;
  Original original{code_of("original")};
  original.at_random = {"random 1", "faults", "random 3"};
  auto process = RunnerProcess::start(*rig.fork_server, 0, original, false, rig.fatal, rig.report);
  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_THAT(rig.fatal, ::testing::ElementsAre("sums"));
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  EXPECT_TRUE(std::get<Verdict>(*(*process)->evaluate(code_of("faster"), {})).ok());
  original.at_random = {"random 1", "random 2", "random 3"}, rig.fatal.clear();
  process = RunnerProcess::start(*rig.fork_server, 0, original, false, rig.fatal, rig.report);
  ASSERT_TRUE(process.ok()) << process.error().message;
  EXPECT_TRUE(std::get<Verdict>(*(*process)->evaluate(code_of("nearer"), {})).ok());
}

TEST(RunnerProcess, IsEndedByAFaultOrAHangWithTheVerdictDelivered) {
  Rig rig;
  for (auto [image, outcome] : {std::pair{"faults", Outcome::Crashed}, {"hangs", Outcome::TimedOut}}) {
    auto evaluation = rig.process->evaluate(code_of(image), {});
    ASSERT_TRUE(evaluation);
    auto* verdict = std::get_if<Verdict>(&*evaluation);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->outcome, outcome) << verdict->text();
    EXPECT_FALSE(rig.process->alive());
    rig.start();
    ASSERT_EQ(rig.trouble, "");
    EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok());
  }
}

TEST(RunnerProcess, TurnsItsOwnDeathIntoAVerdict) {
  Rig rig;
  auto evaluation = rig.process->evaluate(code_of("exits"), {});
  ASSERT_TRUE(evaluation);
  auto* verdict = std::get_if<Verdict>(&*evaluation);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::Crashed);
  EXPECT_THAT(verdict->detail, HasSubstr("exit code 3"));
  EXPECT_FALSE(rig.process->answered());
  EXPECT_FALSE(rig.process->alive());
}

TEST(RunnerProcess, IsEndedByAFaultWhateverItsVerdictIsCalled) {
  Rig rig("original", "", {}, 1 << 20);
  ASSERT_EQ(rig.trouble, "");
  auto evaluation = rig.process->evaluate(code_of("too fast and picky"), {});
  ASSERT_TRUE(evaluation);
  auto* verdict = std::get_if<Verdict>(&*evaluation);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::Crashed) << verdict->text();
  EXPECT_TRUE(rig.process->answered());
  EXPECT_EQ(rig.process->experiment(), "") << "its own doing";
  EXPECT_FALSE(rig.process->alive()) << "the next candidate would be called what became of this one";
}

TEST(RunnerProcess, ConvictsNobodyOfWhatTheOriginalDiesOf) {
  Rig rig("picky", "", {}, 1 << 20);
  ASSERT_EQ(rig.trouble, "") << "its processes ended on perturbed inputs, and the next did without";
  auto evaluation = rig.process->evaluate(code_of("too fast"), {});
  ASSERT_TRUE(evaluation);
  auto* verdict = std::get_if<Verdict>(&*evaluation);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::Suspect) << verdict->text();
  EXPECT_THAT(verdict->detail, HasSubstr("no input could be perturbed"));
  EXPECT_TRUE(rig.process->alive());
}

TEST(RunnerProcess, DoesNotRepeatTheExperimentThatEndedIt) {
  Rig rig("frail");
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  EXPECT_THAT(rig.fatal, ::testing::ElementsAre("poison 0 1", "poison 1 1"));
  EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok());
}

TEST(RunnerProcess, ReportsAnOriginalThatFaultsOrHangsAsOneThatFails) {
  for (auto [image, why] :
       {std::pair{"faults", "crashed: an illegal memory access"}, {"hangs", "timed out: not done after"}}) {
    Rig rig(image);
    EXPECT_EQ(rig.trouble, "");
    ASSERT_EQ(rig.report.instances.size(), 2u);
    EXPECT_FALSE(rig.report.pass());
    EXPECT_THAT(rig.report.instances[0].failure, HasSubstr(why));
    EXPECT_THAT(rig.report.instances[1].failure, HasSubstr("not tried"));
    EXPECT_FALSE(rig.process->alive()) << "whoever asks next must not ask this one";
  }
}

TEST(RunnerProcess, NamesMemoryThatWasAliveAndNotRecordedWhenTheOriginalFaults) {
  MepFixture fixture(fake::scale());
  fixture.mep.instances[0].unreached = {{0x7f3200000000, 64 << 20}};
  auto fork_server =
      std::move(*RunnerProcess::fork_server(fixture.mep, fixture.path(), {}, {fake_device, fake_profile}));
  std::set<std::string> fatal;
  BaselineReport report;
  ASSERT_TRUE(RunnerProcess::start(*fork_server, 0, {code_of("faults"), {}, ""}, false, fatal, report).ok());
  EXPECT_THAT(report.instances.at(0).failure,
              HasSubstr("0x7f3200000000+64 MiB; to take them too: kernelift record --all-memory"));
}

TEST(RunnerProcess, LearnsAnotherOriginalWithItsMemoryInPlace) {
  Rig rig;
  ASSERT_EQ(rig.trouble, "");
  for (auto [image, seconds] : {std::pair{"slower", 200e-6}, {"original", 100e-6}}) {
    auto report = rig.process->calibrate({code_of(image), {}, ""}, false, {});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(report->pass()) << report->complaint();
    EXPECT_NEAR(report->instances[0].seconds, seconds, 1e-9) << image;
    EXPECT_NEAR(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).speedup(), seconds / 50e-6, 1e-6);
  }
  auto wrong = rig.process->calibrate({code_of("wrong"), {}, ""}, false, {});
  ASSERT_TRUE(wrong.ok());
  EXPECT_FALSE(wrong->pass());
}

TEST(RunnerProcess, GoesOnWithoutTheRoundingsWhereOneEndsIt) {
  Rig rig("original", "", {"faster", "faults"});
  ASSERT_EQ(rig.trouble, "");
  EXPECT_TRUE(rig.report.pass()) << rig.report.complaint();
  EXPECT_THAT(rig.fatal, ::testing::ElementsAre("rounding"));
  EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok());
}

TEST(RunnerProcess, IsReplacedWhereItEndedBeforeItWasAskedAgain) {
  Rig rig("faults");  // As replay: the application's code faults, and ours is asked next.
  ASSERT_EQ(rig.trouble, "");
  EXPECT_FALSE(rig.report.pass());
  for (auto [image, passes] : {std::pair{"original", true}, {"hangs", false}, {"original", true}}) {
    auto next = RunnerProcess::start(*rig.fork_server, 0, {code_of(image), {}, {}}, false, rig.fatal, rig.report,
                                     RunnerStart{std::move(rig.process), {}, {}});
    ASSERT_TRUE(next.ok()) << next.error().message;
    EXPECT_EQ(rig.report.pass(), passes) << rig.report.complaint();
    rig.process = std::move(*next);
  }
  EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok());
}

TEST(RunnerProcess, GoesOnWithoutTheApplicationsCodeWhereThatEndsIt) {
  Rig rig("original", "faults");
  ASSERT_EQ(rig.trouble, "");
  EXPECT_THAT(rig.fatal, ::testing::ElementsAre("application"));
  EXPECT_THAT(rig.report.application_trouble, HasSubstr("ends the process"));
  EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok());
}

TEST(RunnerProcess, SaysWhatTheDeviceLacks) {
  Rig rig;
  auto process = RunnerProcess::open(*rig.fork_server, 7);
  ASSERT_FALSE(process.ok());
  EXPECT_EQ(process.error().message, "there is no GPU 7");
}

TEST(RunnerProcess, DoesNotOpenADeviceBeyondItsDeadline) {
  Rig rig;
  for (auto wait : {std::chrono::milliseconds(-1), std::chrono::milliseconds(50)}) {
    const auto begin = Deadline::clock::now();
    auto process = RunnerProcess::open(*rig.fork_server, kSlowDevice, {}, after(wait));
    ASSERT_FALSE(process.ok());
    EXPECT_EQ(
        process.error().message,
        "the time was over before the device had been opened, so nothing could be tried; give it more time (--time)");
    EXPECT_LT(Deadline::clock::now() - begin, std::chrono::seconds(3));
  }
}

TEST(RunnerProcess, SaysWhatTheOriginalsTimeGoesInto) {
  Rig rig;
  ASSERT_EQ(rig.trouble, "");
  auto facts = rig.process->kernel_facts();
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->dram_read_bytes, 4) << "memory is put back before each of two launches";
  EXPECT_EQ(facts->registers, 32);
  EXPECT_NEAR(facts->seconds, 100e-6, 1e-6);
  EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok())
      << "and what the launches left is put back";
}

TEST(RunnerProcess, ChecksItsTimingByAnotherClock) {
  for (auto [image, us, agrees] : {std::tuple{"original", 100.0, true}, {"slower", 200.0, false}}) {
    Rig rig(image, "", {}, 3000, fake_trace);
    ASSERT_EQ(rig.trouble, "");
    ASSERT_TRUE(rig.process->cross_check());
    const CrossCheck& check = *rig.process->cross_check();
    EXPECT_EQ(check.missing, "");
    EXPECT_EQ(check.instance, "a");
    EXPECT_NEAR(check.event_seconds, us * 1e-6, 1e-9);
    EXPECT_NEAR(check.record_seconds, 101e-6, 1e-9);
    EXPECT_EQ(check.agrees(), agrees);
    EXPECT_THAT(check.text(),
                HasSubstr(agrees ? "timing confirmed by CUPTI on instance a: 100.000 us by events, 101.000 us"
                                 : "timing NOT confirmed by CUPTI on instance a: 200.000 us by events, 101.000 us"));
    EXPECT_EQ(to_json(check)["agrees"], agrees);
    EXPECT_TRUE(std::get<Verdict>(*rig.process->evaluate(code_of("faster"), {})).ok());
  }
}

TEST(RunnerProcess, SaysWhyItsTimingIsNotChecked) {
  EXPECT_FALSE(Rig().process->cross_check()) << "nothing to check it with, nothing to say";
  Rig without("original", "", {}, 3000, no_trace);
  ASSERT_EQ(without.trouble, "");
  EXPECT_EQ(without.process->cross_check()->text(), "timing not cross-checked: there is no CUPTI here");
  Rig deadly("original", "", {}, 3000, fatal_trace);
  ASSERT_EQ(deadly.trouble, "");
  EXPECT_TRUE(deadly.report.pass());
  EXPECT_THAT(deadly.fatal, ::testing::ElementsAre("cross-check"));
  EXPECT_EQ(deadly.process->cross_check()->text(), "timing not cross-checked: an earlier attempt ended its process");
  EXPECT_TRUE(std::get<Verdict>(*deadly.process->evaluate(code_of("faster"), {})).ok());
}

TEST(RunnerProcess, AnswersNothingOnceItsTimeIsOver) {
  Rig rig;
  Inquiry inquiry;
  inquiry.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_FALSE(rig.process->evaluate(code_of("faster"), inquiry));
  EXPECT_TRUE(rig.process->alive());
}

}  // namespace
}  // namespace kernelift::sandbox
