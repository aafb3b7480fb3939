// Replay of originals: right, wrong, slow to reproduce, damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

Result<ReplayReport> replay_warm(MepFixture& fixture) {
  EXPECT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  options.cold = false;
  return replay(fixture.path(), options);
}

TEST(Replay, PassesAndTimesAFaithfulMepWarmAndCold) {
  MepFixture fixture = scale_mep(100000);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  auto report = replay(fixture.path(), {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
  ASSERT_TRUE(report->warm && report->cold);
  EXPECT_GT(report->warm->instances[0].seconds, 0);
  EXPECT_GT(report->cold->instances[0].seconds, 0);
  EXPECT_NE(report->text().find("PASS  out"), std::string::npos) << report->text();
  EXPECT_TRUE(report->device.starts_with("cpu: "));
}

TEST(Replay, FailsByBufferElementAndValue) {
  MepFixture fixture = scale_mep();
  std::vector<float> wrong(1000, 0.0f);
  fixture.mep.instances[0].regions[1].after = *Mep::store(fixture.path(), std::as_bytes(std::span<const float>(wrong)));
  auto report = replay_warm(fixture);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_FALSE(report->pass());
  EXPECT_NE(report->text().find("FAIL  out"), std::string::npos) << report->text();
  EXPECT_NE(report->text().find("expected 0, got -298"), std::string::npos) << report->text();
}

TEST(Replay, SaysHowFarItIsFromTheApplicationsDuration) {
  MepFixture fixture = scale_mep();
  for (auto& instance : fixture.mep.instances) instance.microseconds = 1e6;
  auto report = replay_warm(fixture);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_NE(report->text().find("NOT reproduced"), std::string::npos) << report->text();
  auto deviation = in_vivo_deviation(report->warm->instances[0]);
  ASSERT_TRUE(deviation);
  EXPECT_LT(*deviation, -0.9);
  // A share of a launch that is over in a moment says little: there it is microseconds that count.
  ReplayReport brief = *report;
  InstanceReport& instance = brief.warm->instances[0];
  instance.recorded_seconds = 3e-6, instance.seconds = 4.4e-6;
  EXPECT_THAT(brief.text(), ::testing::HasSubstr("in the application 3.000 us: reproduced (+1.40 us)"));
  EXPECT_EQ(brief.json()["warm"]["instances"][0]["reproduced"], true);
  instance.seconds = 4.6e-6;
  EXPECT_THAT(brief.text(), ::testing::HasSubstr("NOT reproduced within 1.5 us (+1.60 us)"));
}

TEST(Replay, ComparesDurationsInTheModeThatTheMepNames) {
  ReplayReport report;
  InstanceReport instance;
  instance.id = "a-0", instance.weight = 0.75, instance.recorded_seconds = 20e-6, instance.seconds = 12e-6;
  InstanceReport other = instance;
  other.id = "a-1", other.weight = 0.25, other.seconds = 21e-6;
  report.warm = BaselineReport{{instance, other}};
  instance.seconds = 20.2e-6, other.seconds = 30e-6;
  report.cold = BaselineReport{{instance, other}};
  report.recorded["a-0"].in_vivo = {"cold", "median of 40 launches like it", 0, 40, 19, 21, 35};
  report.recorded["a-1"].in_vivo.cache = "warm";
  std::string text = report.text();
  EXPECT_THAT(
      text,
      ::testing::HasSubstr(
          "cold caches: 20.200 us, spread 0.0 %; in the application 20.000 us: reproduced (+1 %); there: median of "
          "40 launches like it; the snapshotted launch itself, after a pause: 35.000 us"));
  EXPECT_THAT(text, ::testing::HasSubstr("warm caches: 12.000 us, spread 0.0 %\n")) << "never the nearer of the two";
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "fidelity: 2 of 2 instances take as long as in the application; by their weights +2.0 %"));
  EXPECT_FALSE(report.json()["warm"]["instances"][0].contains("reproduced"));
  EXPECT_EQ(report.json()["cold"]["instances"][0]["reproduced"], true);
  EXPECT_EQ(report.fidelity().grade(), Fidelity::Grade::Full) << report.fidelity().text();
  EXPECT_EQ(report.json()["fidelity"]["grade"], "full");
  EXPECT_EQ(report.fidelity().instances["a-0"].replayed_us, 20.2) << "in the mode that was chosen";
  report.warm->instances[1].buffers = {{"out", 8, true, true, "", "4 ULP", true, false}};
  EXPECT_EQ(report.fidelity().instances["a-1"].changed, Fidelity::Changed::WithinTolerance);
  report.notes = {"relocated: 0x7f00 is taken; pointers of known type were rewritten"};
  EXPECT_EQ(report.fidelity().grade(), Fidelity::Grade::Limited);
  EXPECT_THAT(report.text(), ::testing::HasSubstr("fidelity grade: limited on "));
  report.warm->instances[0].failure = "crashed: an illegal memory access was encountered",
  report.warm->instances[0].pass = false;
  report.recorded["a-0"].unreached = "1 allocation (8 MiB) alive at the launch is not in the capture: 0x7f00+8 MiB";
  EXPECT_EQ(report.fidelity().grade(), Fidelity::Grade::None);
  EXPECT_THAT(report.text(),
              ::testing::HasSubstr("illegal memory access was encountered\n        1 allocation (8 MiB) alive"));
}

TEST(Replay, IsKeptFromCalibrationWhereNoneIsKnown) {
  MepFixture fixture = scale_mep();
  for (auto& instance : fixture.mep.instances) instance.in_vivo.cache = "warm";
  BaselineReport calibrated;
  for (auto& instance : fixture.mep.instances) {
    InstanceReport seen;
    seen.id = instance.id, seen.recorded_seconds = 20e-6, seen.seconds = 90e-6, seen.application_seconds = 21e-6;
    calibrated.instances.push_back(seen);
  }
  keep_calibrated(fixture.path(), fixture.mep, "cuda: some", "clang", calibrated, false, {});
  auto known = read_fidelity(fixture.path());
  ASSERT_TRUE(known.ok() && known->size() == 1);
  EXPECT_EQ(known->at(0).grade(), Fidelity::Grade::Full)
      << known->at(0).text() << ": the application's own code counts, not clang's";
  calibrated.instances[0].pass = false;
  keep_calibrated(fixture.path(), fixture.mep, "cuda: some", "clang", calibrated, false, {});
  EXPECT_EQ(read_fidelity(fixture.path())->at(0).grade(), Fidelity::Grade::Full) << "a replay says more";
}

TEST(Replay, SaysWhatAnotherGpuThanTheRecordedOneLeavesOpen) {
  Mep mep;
  mep.captured_on = "cuda:NVIDIA H200:sm_90:580.159";
  MepInstance recorded;
  recorded.microseconds = 20, recorded.code = "x.bin", recorded.settings.binary_version = 90;
  mep.instances = {recorded};
  ReplayReport report;
  report.compiler = "clang";
  InstanceReport instance;
  instance.seconds = 30e-6;
  report.warm = BaselineReport{{instance}};
  EXPECT_THAT(notes_on_another_machine(mep, report),
              ::testing::ElementsAre(::testing::HasSubstr("(sm_90) is not for this GPU"),
                                     ::testing::HasSubstr("recorded on cuda:NVIDIA H200")));
  report.compiler = "the application's own machine code";
  EXPECT_EQ(notes_on_another_machine(mep, report).size(), 1u)
      << "another model of the same architecture runs the same code";
  report.warm->instances[0].recorded_seconds = 20e-6;
  EXPECT_TRUE(notes_on_another_machine(mep, report).empty());
}

TEST(Replay, ReplaysKernelsThatChangeTheirInputInPlaceAndVariables) {
  MepFixture fixture(
      "__device__ int calls;\n"
      "__global__ void step(double* x, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) x[i] = x[i] * 0.5 + 1.0;\n"
      "  if (i == 0) atomicAdd(&calls, 1);\n}\n",
      "_Z4stepPdi", "step(double*, int)");
  std::vector<double> before, after;
  for (int i = 0; i < 5000; ++i) before.push_back(i * 0.25), after.push_back(i * 0.125 + 1.0);
  MepInstance& instance = fixture.add_instance("only", 40, 128);
  fixture.add_buffer(instance, "x", "double", kTestArena + 256, before, after);
  fixture.add_argument(instance, 5000, "n");
  fixture.add_variable<int>(instance, "calls", "calls", "int", false, {41}, {42});
  auto report = replay_warm(fixture);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
}

TEST(Replay, RunsLoopsThatCallTheVectorMathematicsLibrary) {
  MepFixture fixture(
      "__global__ void decay(const float* in, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) out[i] = expf(-in[i]);\n"
      "}\n",
      "_Z5decayPKfPfi", "decay(float const*, float*, int)");
  std::vector<float> in(4096), before(4096, -1.0f), after(4096);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) / 512, after[i] = std::exp(-in[i]);
  MepInstance& instance = fixture.add_instance("only", 32, 128);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(1) << 20), before, after);
  fixture.add_argument(instance, 4096, "n");
  auto report = replay_warm(fixture);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
}

TEST(Replay, NamesAnAddressThatItCannotHave) {
  MepFixture fixture = scale_mep();
  for (auto& instance : fixture.mep.instances) instance.regions[0].address = 0xffff800000000000;
  auto report = replay_warm(fixture);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("0xffff800000000000"), std::string::npos) << report.error().message;
}

TEST(Replay, RefusesDamagedData) {
  MepFixture fixture = scale_mep();
  std::ofstream(fixture.path() / "data" / fixture.mep.instances[0].regions[0].before, std::ios::app) << "x";
  auto report = replay_warm(fixture);
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find(fixture.mep.instances[0].regions[0].before), std::string::npos)
      << report.error().message;
}

TEST(Replay, SurvivesEveryCutAndManyFlipsOfMepJson) {
  MepFixture fixture = scale_mep(64);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  std::string whole = *read_text(fixture.path() / "mep.json");
  // Reading is the parser's own room's business; here: what it lets through must not bring the runner down.
  int read = 0;
  for (size_t at = 0; at < whole.size(); at += whole.size() / 12 + 1) {
    std::string flipped = whole;
    flipped[at] ^= 1;
    ASSERT_TRUE(write_atomically(fixture.path() / "mep.json", flipped).ok());
    auto report = replay(fixture.path(), {});
    if (report.ok()) ++read;
    else EXPECT_FALSE(report.error().message.empty());
  }
  EXPECT_LT(read, 12);
}

}  // namespace
}  // namespace kernelift::sandbox
