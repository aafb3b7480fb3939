// Candidates that know the recorded answer by heart, and candidates that are fast because they do nothing: real ones,
// through the real thing. And that honest ones are not taken for them.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

EvaluatorOptions quick_options() {
  EvaluatorOptions options;
  options.few_candidates = true;
  options.most_rounds = 8;
  return options;
}

std::string scale(const std::string& statements) {
  return "__constant__ float bias;\n__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         statements + "}\n";
}

class CheatingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fixture_ = new MepFixture(scale_mep(1'000'000));
    auto made = make_evaluator(fixture_->mep, fixture_->path(), quick_options());
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = made->release();
  }
  static void TearDownTestSuite() {
    delete evaluator_;
    delete fixture_;
  }
  static Candidate candidate(const std::string& statements) {
    Candidate made;
    made.source = scale(statements), made.tier = "source";
    return made;
  }
  static MepFixture* fixture_;
  static Evaluator* evaluator_;
};
MepFixture* CheatingTest::fixture_ = nullptr;
Evaluator* CheatingTest::evaluator_ = nullptr;

/// What the recorded buffers hold is a formula of the index: the input is never looked at.
constexpr const char* kByHeart = "  if (i < n) out[i] = ((float)(i % 1000) * 0.5f - 100.0f) * factor + bias;\n";

TEST_F(CheatingTest, ARecordedAnswerKnownByHeartIsNotBelieved) {
  Verdict verdict = std::get<Verdict>(evaluator_->submit(candidate(kByHeart)).get());
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << "it is right on all that was recorded: " << verdict.text();
  EXPECT_NE(verdict.detail.find("perturbed"), std::string::npos) << verdict.detail;
  verdict = std::get<Verdict>(evaluator_->confirm(candidate(kByHeart)));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_EQ(verdict.buffer, "out");
}

TEST_F(CheatingTest, AVariableTakenForAConstantIsNotConfirmed) {
  Verdict verdict = std::get<Verdict>(evaluator_->confirm(candidate("  if (i < n) out[i] = in[i] * factor + 2.0f;\n")));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
}

TEST_F(CheatingTest, WhatIsKeptForOtherInputsIsWrongAfterOtherLaunches) {
  Candidate keeps = candidate(
      "  if (i < n) out[i] = in[i] * factor + bias;\n"
      "  const double all = n * 1e9 + factor * 1e3 + bias + (size_t)in;\n"
      "  if (i < 64 && i < n) { if (known[i] != all) kept[i] = in[i] * factor + bias, known[i] = all; out[i] = "
      "kept[i]; }\n");
  keeps.source = "__device__ float kept[64];\n__device__ double known[64];\n" + keeps.source;
  const Verdict verdict = std::get<Verdict>(evaluator_->confirm(keeps));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_NE(verdict.detail.find("wrong in one after others"), std::string::npos) << verdict.detail;
}

TEST_F(CheatingTest, WhatKeepsMemoryOfTheHeapFromLaunchToLaunchIsRight) {
  Candidate keeps = candidate(
      "  if (i < n) out[i] = in[i] * factor + bias;\n"
      "  if (i == 0 && !heap) heap = (float*)malloc(4096);\n  if (i == 0 && heap) heap[7] += in[0];\n");
  keeps.source = "__device__ float* heap;\n" + keeps.source;
  const Verdict verdict = std::get<Verdict>(evaluator_->confirm(keeps));
  EXPECT_EQ(verdict.outcome, Outcome::Ok) << verdict.text();
}

TEST_F(CheatingTest, AWriteBesideAModuleVariableIsFoundThere) {
  struct Write {
    const char *place, *said;
  };
  for (auto [place, said] : {Write{"&bias + 100", "396 bytes after the end of its variable bias"},
                             Write{"&bias - 1", "4 bytes before the start of its variable bias"},
                             Write{"own - 3", "12 bytes before the start of its variable own"},
                             Write{"own + 4", "0 bytes after the end of its variable own"}}) {
    Candidate beside = candidate(std::string("  if (i < n) out[i] = in[i] * factor + bias;\n  if (i == 0) { own[1] = 1;"
                                             " *((volatile float*)(") +
                                 place + ")) = 3; }\n");
    beside.source = "__device__ float own[4];\n" + beside.source;
    const Verdict verdict = std::get<Verdict>(evaluator_->submit(beside).get());
    EXPECT_EQ(verdict.outcome, Outcome::WroteOutside) << place << ": " << verdict.text();
    EXPECT_TRUE(verdict.detail.starts_with(said)) << place << ": " << verdict.detail;
  }
}

TEST_F(CheatingTest, WorkThatIsSkippedWhereItLooksDoneIsCheating) {
  // Eight blocks of threads with a stretch each: done already, if its first element is neither poison nor as recorded.
  Candidate skips = candidate(
      "  int each = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x), from = i * each;\n"
      "  if (from >= n) return;\n"
      "  if (__float_as_int(out[from]) != 0xc5c5c5c5 && out[from] != -1.0f) return;\n"
      "  for (int k = from; k < from + each && k < n; k++) out[k] = in[k] * factor + bias;\n");
  skips.launches = {CandidateLaunch::as_recorded("scale")};
  skips.launches[0].grid[0] = *Expression::parse("8");
  // Found out in a launch that is timed, or by being faster than anything can be, or at last when it is confirmed.
  Verdict verdict = std::get<Verdict>(evaluator_->submit(skips).get());
  if (verdict.ok()) verdict = std::get<Verdict>(evaluator_->confirm(skips));
  EXPECT_TRUE(verdict.outcome == Outcome::Wrong || verdict.outcome == Outcome::Cheated) << verdict.text();
  EXPECT_TRUE(verdict.detail.find("older") != std::string::npos || verdict.detail.find("timed") != std::string::npos)
      << verdict.text();
}

TEST_F(CheatingTest, AnHonestRewriteIsConfirmed) {
  Verdict verdict = std::get<Verdict>(
      evaluator_->confirm(candidate("  if (i < n) { float x = in[i]; out[i] = bias + x * factor; }\n")));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

TEST_F(CheatingTest, AConfirmationKeepsItsDeadlineOrSaysThatItCannot) {
  using Clock = std::chrono::steady_clock;
  Candidate honest = candidate("  if (i < n) { float x = in[i]; out[i] = factor * x + bias; }\n");
  EXPECT_FALSE(evaluator_->confirm_by(honest, Clock::now() + std::chrono::milliseconds(1)));
  auto deadline = Clock::now() + std::chrono::seconds(20);
  auto answer = evaluator_->confirm_by(honest, deadline);
  auto* verdict = answer ? std::get_if<Verdict>(&*answer) : nullptr;
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->ok()) << verdict->text();
  EXPECT_LT(Clock::now(), deadline);
}

TEST_F(CheatingTest, WhatIsAbandonedIsNotWaitedFor) {
  auto hanging = evaluator_->submit(candidate("  volatile int x = 1; while (x) { }\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  evaluator_->abandon();
  NotJudged answer = std::get<NotJudged>(hanging.get());
  EXPECT_NE(answer.why.find("abandoned"), std::string::npos) << answer.why;
}

TEST(PerturbedInputs, AreDroppedWhereTheOriginalItselfDoesNotSurviveThem) {
  MepFixture fixture(
      "__global__ void pick(const float* in, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
      "  if (in[i] > 99.95f) *(volatile int*)0x10 = 1;\n  out[i] = in[i] + 1.0f;\n}\n",
      "_Z4pickPKfPfi", "pick(float const*, float*, int)");
  std::vector<float> in(512), before(512, 0.0f), after(512);
  for (int i = 0; i < 512; ++i) in[i] = 99.9f - static_cast<float>(i % 2), after[i] = in[i] + 1.0f;
  MepInstance& instance = fixture.add_instance("a", 4, 128);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, 512, "n");
  auto made = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(made.ok()) << made.error().message;
  Candidate candidate;
  candidate.source =
      "__global__ void pick(const float* in, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = 1.0f + in[i];\n}\n";
  Verdict verdict = std::get<Verdict>((*made)->confirm(candidate));
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  // Larger values are dropped, swapped neighbours are not.
  candidate.source =
      "__global__ void pick(const float* in, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = (99.9f - (float)(i % 2)) + 1.0f;\n}\n";
  verdict = std::get<Verdict>((*made)->confirm(candidate));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_NE(verdict.detail.find("swapped neighbours"), std::string::npos) << verdict.detail;
}

TEST(PerturbedInputs, HaveValuesWhereAnArrayOfZerosWasRecorded) {
  const std::string head =
      "__global__ void product(const float* in, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) ";
  MepFixture fixture(head + "out[i] = 2.0f * in[i];\n}\n", "_Z7productPKfPfi", "product(float const*, float*, int)");
  std::vector<float> zeros(512);
  MepInstance& instance = fixture.add_instance("a", 4, 128);
  fixture.add_buffer(instance, "in", "float", kTestArena, zeros, zeros);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), zeros, zeros);
  fixture.add_argument(instance, 512, "n");
  auto made = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(made.ok()) << made.error().message;
  Candidate right, neighbours;
  right.source = head + "out[i] = in[i] + in[i];\n}\n";
  neighbours.source = head + "out[i] = 2.0f * in[i ^ 1];\n}\n";
  EXPECT_TRUE(std::get<Verdict>((*made)->confirm(right)).ok());
  Verdict verdict = std::get<Verdict>((*made)->confirm(neighbours));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_NE(verdict.detail.find("values for arrays of zeros"), std::string::npos) << verdict.detail;
  // The search need not wait for that: some launches that it times have such inputs.
  verdict = std::get<Verdict>((*made)->submit(neighbours).get());
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
}

struct Particle {
  float x, v;
  int steps;
};

TEST(Structs, AreComparedFieldByField) {
  const std::string head =
      "struct Particle { float x, v; int steps; };\n__global__ void move(Particle* all, int n, float dt) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n";
  MepFixture fixture(head + "  all[i].x += all[i].v * dt; all[i].v *= 0.999f; all[i].steps++;\n}\n",
                     "_Z4moveP8Particleif", "move(Particle*, int, float)");
  std::vector<Particle> before(4096), after;
  for (int i = 0; i < 4096; ++i) before[i] = {0.001f * static_cast<float>(i), 1.0f / static_cast<float>(i + 1), i};
  for (auto& one : before) after.push_back({std::fma(one.v, 0.01f, one.x), one.v * 0.999f, one.steps + 1});
  MepInstance& instance = fixture.add_instance("a", 32, 128);
  fixture.add_buffer(instance, "all", "{float@0,float@4,int@8}12", kTestArena, before, after);
  fixture.add_argument(instance, 4096, "n");
  fixture.add_argument(instance, 0.01f, "dt");
  auto made = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(made.ok()) << made.error().message;
  auto evaluate = [&](const std::string& body) {
    Candidate candidate;
    candidate.source = head + body + "}\n";
    return std::get<Verdict>((*made)->submit(candidate).get());
  };
  Verdict verdict = evaluate(
      "  float d = __fmul_rn(all[i].v, dt); all[i].x = __fadd_rn(all[i].x, d); all[i].v *= 0.999f; all[i].steps++;\n");
  EXPECT_TRUE(verdict.ok()) << "rounded otherwise: " << verdict.text();
  verdict = evaluate("  all[i].x += all[i].v * dt; all[i].v *= 0.999f; all[i].steps += i == 77 ? 2 : 1;\n");
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_EQ(verdict.index, 77u);
  verdict = evaluate("  all[i].x += all[i].v * dt; all[i].v *= 0.9985f; all[i].steps++;\n");
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_NE(verdict.got.find("byte 4 of the element"), std::string::npos) << verdict.got;
}

/// A second launch on equal inputs: what it writes lies there already, so nothing changes.
MepFixture launched_twice() {
  MepFixture fixture(kScaleSource, "_Z5scalePKfPfif", "scale(float const*, float*, int, float)");
  add_scale_instance(fixture, "first", 1000, 3.0f);
  add_scale_instance(fixture, "again", 1000, 3.0f);
  MepRegion& out = fixture.mep.instances[1].regions[1];
  out.before = out.after;
  return fixture;
}

TEST(Cheating, DoingNothingWhereTheAnswerLiesAlreadyIsFoundOut) {
  MepFixture fixture = launched_twice();
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  Candidate lazy;
  lazy.source =
      scale("  if (i < n && out[i] != in[i] * factor + bias && out[i] == -1.0f) out[i] = in[i] * factor + bias;\n");
  Verdict verdict = std::get<Verdict>((*evaluator)->submit(lazy).get());
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << "it writes only over what the first launch found: " << verdict.text();
  Candidate honest;
  honest.source = scale("  if (i < n) out[i] = bias + in[i] * factor;\n");
  verdict = std::get<Verdict>((*evaluator)->confirm(honest));
  ASSERT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.timings.size(), 2u) << "a finalist is timed on each, though they are of one group";
}

TEST(Cheating, IsRuledOutWhereNoRecordedLaunchChangesAnything) {
  // An empty kernel would be as right: what these leave depends on what was there.
  MepFixture fixture(
      "__global__ void shorten(int* path) { if (path[0] > path[1] + 1) path[0] = path[1] + 1; atomicMax(path + 2, 3); "
      "}\n",
      "_Z7shortenPi", "shorten(int*)");
  MepInstance& instance = fixture.add_instance("a", 1, 1);
  fixture.add_buffer(instance, "path", "int", kTestArena, std::vector<int>{1, 5, 7}, std::vector<int>{1, 5, 7});
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_FALSE(evaluator.ok());
  EXPECT_EQ(evaluator.error().exit, Exit::Refused);
  EXPECT_NE(evaluator.error().message.find("no recorded launch of shorten(int*) changes anything in memory"),
            std::string::npos)
      << evaluator.error().message;
  ASSERT_TRUE(fixture.mep.write(fixture.path()).ok());
  ReplayOptions options;
  options.cold = false;
  auto report = replay(fixture.path(), options);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_NE(report->text().find("PASS does not show what the kernel computes"), std::string::npos) << report->text();
}

/// Two outputs, and an input that is not const; where that is larger than recorded, the kernel faults.
std::string both(const std::string& statements) {
  return "__global__ void both(const float* in, float* weights, float* a, float* b, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n" +
         statements + "}\n";
}
MepFixture both_mep(bool first_changes) {
  MepFixture fixture(both("  if (weights[i] > 99.95f) *(volatile int*)0x10 = 1;\n  a[i] = in[i] * weights[i];\n  b[i] "
                          "= in[i] - weights[i];\n"),
                     "_Z4bothPKfPfS1_S1_i", "both(float const*, float*, float*, float*, int)");
  constexpr int kCount = 512;
  std::vector<float> in(kCount), weights(kCount), a(kCount), b(kCount);
  for (int i = 0; i < kCount; ++i) {
    in[i] = static_cast<float>(i % 37 + 1), weights[i] = 99.9f - static_cast<float>(i % 2);
    a[i] = in[i] * weights[i], b[i] = in[i] - weights[i];
  }
  MepInstance& instance = fixture.add_instance("a", 4, 128);
  uint64_t address = kTestArena;
  auto next = [&] { return std::exchange(address, address + (uint64_t(4) << 20)); };
  fixture.add_buffer(instance, "in", "float", next(), in, in, true);
  fixture.add_buffer(instance, "weights", "float", next(), weights, weights);
  fixture.add_buffer(instance, "a", "float", next(), first_changes ? std::vector<float>(kCount, -1.0f) : a, a);
  fixture.add_buffer(instance, "b", "float", next(), b, b);
  fixture.add_argument(instance, kCount, "n");
  return fixture;
}
Candidate both_candidate(const std::string& statements) {
  Candidate candidate;
  candidate.source = both(statements);
  return candidate;
}

TEST(Cheating, IsFoundOutWhereAllThatWasRecordedLeavesWhatLayThere) {
  MepFixture fixture = both_mep(false);
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(evaluator.ok()) << "it is known to write both: " << evaluator.error().message;
  Verdict nothing = std::get<Verdict>((*evaluator)->submit(both_candidate("")).get());
  EXPECT_EQ(nothing.outcome, Outcome::Wrong) << nothing.text();
  EXPECT_EQ(nothing.detail.find("does not write"), std::string::npos) << nothing.detail;
  Verdict honest = std::get<Verdict>(
      (*evaluator)->confirm(both_candidate("  float w = weights[i], x = in[i]; b[i] = x - w; a[i] = w * x;\n")));
  EXPECT_TRUE(honest.ok()) << honest.text();
  // An input though it is not const: its neighbours are swapped, which is not done to outputs.
  Verdict by_heart = std::get<Verdict>(
      (*evaluator)
          ->confirm(both_candidate("  float w = 99.9f - (float)(i % 2), x = in[i]; a[i] = w * x; b[i] = x - w;\n")));
  EXPECT_EQ(by_heart.outcome, Outcome::Wrong) << by_heart.text();
  EXPECT_NE(by_heart.detail.find("swapped neighbours"), std::string::npos) << by_heart.detail;
}

TEST(Cheating, IsFoundOutInTheOutputThatDidNotChangeBesideOneThatDid) {
  MepFixture fixture = both_mep(true);
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  Verdict half = std::get<Verdict>((*evaluator)->submit(both_candidate("  a[i] = in[i] * weights[i];\n")).get());
  EXPECT_EQ(half.outcome, Outcome::Wrong) << half.text();
  EXPECT_EQ(half.buffer, "b");
}

TEST(Cheating, IsFoundOutWhereLittleOfALargeBufferIsWritten) {
  constexpr int kWritten = 256, kApart = 4099;
  auto marks = [](const std::string& statement) {
    return "__global__ void mark(unsigned char* all) { unsigned char& one = all[threadIdx.x * 4099]; " + statement +
           " }\n";
  };
  MepFixture fixture(marks("one = 7;"), "_Z4markPh", "mark(unsigned char*)");
  std::vector<uint8_t> before(8 << 20), after = before;
  for (int i = 0; i < kWritten; ++i) after[i * kApart] = 7;
  MepInstance& instance = fixture.add_instance("a", 1, kWritten);
  fixture.add_buffer(instance, "all", "unsigned char", kTestArena, before, after);
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  auto verdict = [&](const std::string& statement) {
    Candidate candidate;
    candidate.source = marks(statement);
    return std::get<Verdict>((*evaluator)->submit(candidate).get());
  };
  Verdict lazy = verdict("if (one == 0) one = 7;");
  EXPECT_EQ(lazy.outcome, Outcome::Wrong) << "it goes by what was recorded there: " << lazy.text();
  Verdict honest = verdict("one = 7 + (one & 0);");
  EXPECT_TRUE(honest.ok()) << honest.text();
}

TEST(Cheating, AHonestRewriteThatRoundsOtherwisePassesWhereTheAnswerLiesAlready) {
  MepFixture fixture(
      "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
      "  float sum = 0;\n  for (int k = 0; k < n; ++k) sum += in[k] * factor;\n  out[threadIdx.x] = sum;\n}\n",
      "_Z5scalePKfPfif", "scale(float const*, float*, int, float)");
  std::vector<float> in(4096), answer(1, 0.0f);
  float factor = 0.37f;
  for (size_t k = 0; k < in.size(); ++k)
    in[k] = std::sin(float(k)) * 100, answer[0] = std::fma(in[k], factor, answer[0]);
  for (const char* id : {"first", "again"}) {
    MepInstance& instance = fixture.add_instance(id, 1, 1);
    fixture.add_buffer(instance, "in", "float", kTestArena, in, in);
    fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20),
                       std::string(id) == "first" ? std::vector<float>{-1.0f} : answer, answer);
    fixture.add_argument(instance, int(in.size()), "n");
    fixture.add_argument(instance, factor, "factor");
  }
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), quick_options());
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  Candidate backwards;
  backwards.source =
      "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
      "  float a = 0, b = 0;\n  for (int k = 0; k < n; k += 2) { a += in[k] * factor; b += in[k + 1] * factor; }\n"
      "  out[threadIdx.x] = a + b;\n}\n";
  Verdict verdict = std::get<Verdict>((*evaluator)->submit(backwards).get());
  EXPECT_TRUE(verdict.ok()) << verdict.text();
}

}  // namespace
}  // namespace kernelift::sandbox
