// Answers for made-up inputs: the original's own, and a refusal where it goes astray.
#include <gtest/gtest.h>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

/// A MEP as `extract --inputs synth` leaves it: no buffer has an answer.
MepFixture unanswered(MepFixture fixture) {
  fixture.mep.inputs = "synth";
  for (auto& instance : fixture.mep.instances) {
    for (auto& region : instance.regions) region.after.clear();
    for (auto& variable : instance.variables) variable.after.clear();
  }
  return fixture;
}

TEST(Answer, IsWhatTheOriginalComputes) {
  MepFixture expected = scale_mep(), fixture = unanswered(scale_mep());
  auto why = answer_by_original(fixture.path(), fixture.mep);
  ASSERT_TRUE(why.ok()) << why.error().message;
  EXPECT_EQ(*why, "");
  auto &in = fixture.mep.instances[0].regions[0], &out = fixture.mep.instances[0].regions[1];
  EXPECT_EQ(in.after, in.before) << "what is only read has its own bytes as the answer";
  auto got = Mep::load(fixture.path(), out.after),
       wanted = Mep::load(expected.path(), expected.mep.instances[0].regions[1].after);
  ASSERT_TRUE(got.ok() && wanted.ok());
  EXPECT_EQ(*got, *wanted);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  options.cold = false;
  auto report = replay(fixture.path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->pass()) << report->text();
}

TEST(Answer, IsRefusedWhenTheOriginalWritesOutsideItsBuffers) {
  MepFixture fixture = unanswered(scale_mep());
  fixture.set_source(
      "__constant__ float bias;\n"
      "__global__ void scale(const float* in, float* out, int n, float factor) { out[n + 1] = in[0] * factor + bias; "
      "}\n");
  auto why = answer_by_original(fixture.path(), fixture.mep);
  ASSERT_FALSE(why.ok());
  EXPECT_EQ(why.error().exit, Exit::Refused);
  EXPECT_NE(why.error().message.find("record a run"), std::string::npos) << why.error().message;
  EXPECT_NE(why.error().message.find("after the end of out"), std::string::npos) << why.error().message;
}

TEST(Answer, IsRefusedWhenTheOriginalCrashes) {
  MepFixture fixture = unanswered(scale_mep());
  fixture.set_source(
      "__constant__ float bias;\n"
      "__global__ void scale(const float* in, float* out, int n, float factor) { out[1ll << 40] = bias; }\n");
  auto why = answer_by_original(fixture.path(), fixture.mep);
  ASSERT_FALSE(why.ok());
  EXPECT_EQ(why.error().exit, Exit::Refused);
  EXPECT_NE(why.error().message.find("crashed"), std::string::npos) << why.error().message;
}

TEST(Answer, StaysUnknownWhenTheOriginalDoesNotCompileAndReplaySaysSo) {
  MepFixture fixture = unanswered(scale_mep());
  fixture.set_source("__global__ void scale(const float* in, float* out, int n, float factor) { nonsense }\n");
  auto why = answer_by_original(fixture.path(), fixture.mep);
  ASSERT_TRUE(why.ok()) << why.error().message;
  EXPECT_NE(*why, "");
  fixture.set_source(kScaleSource);
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  auto report = replay(fixture.path(), {});
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("answers of this MEP are not known"), std::string::npos)
      << report.error().message;
}

}  // namespace
}  // namespace kernelift::sandbox
