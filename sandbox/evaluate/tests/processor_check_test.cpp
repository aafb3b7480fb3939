// Finalists for a GPU in check mode and in field runs of this machine's processor: compiled by the pool that makes
// machine code for the GPU, which is not needed here.
#include "sandbox/evaluate/cpu/processor_check.h"

#include <gmock/gmock.h>

#include <future>

#include "sandbox/evaluate/cuda/cuda_evaluator.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kUnchecked = "not checked for races and bounds";

/// The kernel of scale_mep(), with `line` in front of what it does.
std::string scale_with(const std::string& line) {
  return "__constant__ float bias;\n__device__ int count;\n"
         "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  " +
         line + "\n  if (i < n) out[i] = in[i] * factor + bias;\n}\n";
}

class ProcessorCheckTest : public ::testing::Test {
 protected:
  void start() {
    CompilePoolOptions pool;
    pool.target = CompileTarget::Cubin, pool.workers = 1, pool.few = true, pool.frontend.arch = "sm_90";
    auto baseline = compile_baseline(fixture_.mep, fixture_.path(), pool);
    ASSERT_TRUE(baseline.ok()) << baseline.error().message;
    baseline_.emplace(std::move(*baseline));
    check_.emplace(fixture_.mep, fixture_.path(), runner_settings(EvaluatorOptions{}), *baseline_);
  }
  /// Of a candidate that its own device calls right and twice as fast.
  Verdict judge(const std::string& source, std::optional<Deadline> deadline = {}) {
    return asked(source, deadline, &ProcessorCheck::judged);
  }
  /// The same candidate's in field runs.
  Verdict in_field(const std::string& source, std::optional<Deadline> deadline = {}) {
    const Verdict verdict = asked(source, deadline, &ProcessorCheck::with_formulas);
    EXPECT_TRUE(verdict.field);
    return verdict;
  }
  Verdict asked(const std::string& source, std::optional<Deadline> deadline, decltype(&ProcessorCheck::judged) question,
                std::vector<CandidateLaunch> launches = {}) {
    if (!check_) start();
    Candidate candidate;
    candidate.source = source, candidate.launches = std::move(launches);
    Verdict right;
    right.timings.emplace_back();
    right.embedded = RaceFigures{2, 2, 1e-6, 2e-6};
    CompileReply own = baseline_->pool->compile(candidate.source, {});
    EXPECT_TRUE(own.ok()) << own.detail;
    return std::get<Verdict>(((*check_).*question)(right, candidate, own, deadline));
  }
  LengthAnswer bounds(const LengthQuestion& question) { return check_->length_bounds({question}).at(0); }
  void expect_failure(const std::string& line, Outcome outcome, const std::string& detail) {
    const Verdict verdict = judge(scale_with(line));
    EXPECT_EQ(verdict.outcome, outcome) << verdict.text();
    EXPECT_THAT(verdict.detail, HasSubstr(detail));
    EXPECT_TRUE(verdict.timings.empty());
    EXPECT_FALSE(verdict.embedded) << "what races as a patch races embedded, too";
  }
  void expect_unchecked(const Verdict& verdict, const std::string& why) {
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_EQ(verdict.timings.size(), 1u);
    EXPECT_THAT(verdict.detail, StartsWith(kUnchecked));
    EXPECT_THAT(verdict.detail, HasSubstr(why));
  }

  MepFixture fixture_ = scale_mep();
  std::optional<CompiledBaseline> baseline_;
  std::optional<ProcessorCheck> check_;
};

TEST_F(ProcessorCheckTest, LeavesAnHonestVerdictAsItIs) {
  for (int again = 0; again < 2; ++again) {
    const Verdict verdict = judge(scale_with("(void)count;"));
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_EQ(verdict.detail, "");
    EXPECT_EQ(verdict.timings.size(), 1u);
  }
}

TEST_F(ProcessorCheckTest, NamesRacesWithinAndBetweenBlocks) {
  expect_failure("__shared__ float tile[128]; tile[threadIdx.x] = in[i % n]; if (tile[127 - threadIdx.x] == 7) return;",
                 Outcome::Unstable, "tile[");
  expect_failure("if (threadIdx.x == 0) count = i;", Outcome::Unstable, "count[0] at kernel.cu:5");
}

TEST_F(ProcessorCheckTest, NamesRacesAtSizesThatWereNotRecorded) {
  const std::string races = scale_with("if (n == 999 && threadIdx.x == 0) count = i;");
  EXPECT_TRUE(judge(races).ok()) << "not at the recorded sizes";
  SizePlan sizes;
  SizedInstance& sized = sizes.launches.emplace_back();
  sized.instance = 0, sized.size.instance = fixture_.mep.instances[0].id, sized.values = {{2, 999}};
  sized.geometry = fixture_.mep.instances[0].geometry;
  Candidate candidate;
  candidate.source = races;
  const CompileReply own = baseline_->pool->compile(candidate.source, {});
  const Verdict said = check_->said(candidate, own, sizes, {}).check;
  EXPECT_EQ(said.outcome, Outcome::Unstable) << "what was said of the recorded sizes does not suffice: " << said.text();
  ASSERT_TRUE(said.sizes_run && said.sizes_run->wrong);
  EXPECT_THAT(said.sizes_run->wrong->found, HasSubstr("count[0]"));
}

TEST_F(ProcessorCheckTest, SaysWhereTheOriginalIsNoReference) {
  fixture_.set_source(scale_with("if (n == 999 && threadIdx.x == 0) count = i;"));
  start();
  SizedInstance sized;
  sized.size.instance = fixture_.mep.instances[0].id, sized.values = {{2, 999}};
  sized.geometry = fixture_.mep.instances[0].geometry;
  EXPECT_EQ(check_->why_no_reference(sized), "the original races there");
  sized.values = {{2, 998}}, sized.size.values = {{"n", 998}};
  EXPECT_EQ(check_->why_no_reference(sized), "");
}

TEST_F(ProcessorCheckTest, NamesAccessesBesideBuffersAndBesideModuleVariables) {
  expect_failure("if (in[n + threadIdx.x] == 12345) return;", Outcome::Crashed, "reads in[");
  expect_failure("if (i == 0) *((volatile int*)&count + 4096) = 7;", Outcome::WroteOutside,
                 "writes count[4096] at kernel.cu:5");
}

TEST_F(ProcessorCheckTest, FindsThreadsThatWaitAtDifferentBarriers) {
  expect_failure("if (threadIdx.x < 64) __syncthreads(); else { count += 0; __syncthreads(); }", Outcome::Crashed,
                 "barrier");
}

TEST_F(ProcessorCheckTest, SaysWhatTheProcessorCannotRunAndRefusesNothing) {
  expect_unchecked(judge(scale_with("if (n < 0) count = __nvvm_getctarank(out);")),
                   "it does not compile for this machine's processor: ");
}

TEST_F(ProcessorCheckTest, SaysThatTheKernelUsesATextureOfTheGpuAndStartsNothing) {
  MepRegion texture = fixture_.mep.instances[0].regions[0];
  texture.kind = MemoryKind::Texture, texture.address = 1;
  fixture_.mep.instances[0].regions.push_back(texture);
  const std::string source = scale_with("(void)count;");
  expect_unchecked(judge(source), "uses a texture or surface object of a GPU");
  EXPECT_THAT(in_field(source).field->why, HasSubstr("uses a texture or surface object of a GPU"));
}

TEST_F(ProcessorCheckTest, SaysThatTheOriginalCannotRunThere) {
  fixture_.set_source(scale_with("if (n < 0) count = __nvvm_getctarank(out);"));
  expect_unchecked(judge(kScaleSource), "the original does not compile for this machine's processor: ");
}

TEST_F(ProcessorCheckTest, ChecksTheInputsForWhichThereIsRoomAndSaysWhichAreLeftOut) {
  fixture_.mep.instances[0].regions[0].size = uint64_t(3) << 30;
  const Verdict verdict = judge(scale_with("if (threadIdx.x == 0) count = i;"));
  EXPECT_EQ(verdict.outcome, Outcome::Unstable) << verdict.text();
  EXPECT_EQ(verdict.instance, "b");
  fixture_.mep.instances.pop_back();
  check_.reset();
  expect_unchecked(judge(kScaleSource), "its recorded inputs take more than 1 GiB each");
}

TEST_F(ProcessorCheckTest, TheOriginalsOwnCodeOnLargerBlocksIsChecked) {
  const std::string source = scale_with("__shared__ float tile[128]; tile[threadIdx.x] = bias;");
  fixture_.set_source(source);
  start();
  check_->check_original_ahead({});
  EXPECT_EQ(judge(source).detail, "");
  CandidateLaunch larger = CandidateLaunch::as_recorded("scale");
  larger.block[0] = Expression::constant(256);
  const Verdict verdict = asked(source, {}, &ProcessorCheck::judged, {larger});
  EXPECT_EQ(verdict.outcome, Outcome::WroteOutside) << verdict.text();
  EXPECT_THAT(verdict.detail, HasSubstr("tile[128]"));
}

TEST_F(ProcessorCheckTest, EndsWhatTakesTooLongAndWhatHasNoTime) {
  expect_unchecked(judge(kScaleSource, Deadline::clock::now()), "there was no time left for it");
  EXPECT_EQ(judge(kScaleSource).detail, "") << "asked again, it is checked";
  expect_unchecked(judge(scale_with("for (volatile long k = 0; k < 4000000000000l && n > 0; k = k + 1) {}")),
                   "there it takes longer than 2 s");
}

/// The kernel of scale_mep() with another result.
std::string scale_to(const std::string& result) {
  std::string source = kScaleSource;
  const std::string own = "in[i] * factor + bias";
  return source.replace(source.find(own), own.size(), result);
}

TEST_F(ProcessorCheckTest, SaysThatAnotherOrderIsTheSameFormula) {
  for (int again = 0; again < 2; ++again) {
    const Verdict verdict = in_field(scale_to("bias + factor * (in[i] + in[i]) / 2"));
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_EQ(verdict.timings.size(), 1u);
    EXPECT_THAT(verdict.field->text(), StartsWith("the same formula as the original's; probability of error"));
    EXPECT_EQ(verdict.field->instance, "b") << "the smallest";
  }
}

TEST_F(ProcessorCheckTest, RefusesALostTermThatNoToleranceShows) {
  fixture_.set_source(scale_to("in[i] * factor + bias + 1e-30f * in[0]"));
  const Verdict verdict = in_field(kScaleSource);
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
  EXPECT_EQ(verdict.detail, "another formula than the original's: out[0] is another number");
  EXPECT_TRUE(verdict.timings.empty());
  EXPECT_FALSE(verdict.embedded) << "what races as a patch races embedded, too";
}

TEST_F(ProcessorCheckTest, SaysWhyFormulasAreNotAskedAndRefusesNothing) {
  auto expect_not_asked = [](const Verdict& verdict, const std::string& why) {
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_EQ(verdict.timings.size(), 1u);
    EXPECT_THAT(verdict.field->text(), StartsWith("not asked: " + why));
  };
  expect_not_asked(in_field(kScaleSource, Deadline::clock::now()), "there was no time left");
  expect_not_asked(in_field(scale_with("if (n < 0) count = __nvvm_getctarank(out);")),
                   "it does not compile for that: ");
  expect_not_asked(in_field(scale_with("for (volatile long k = 0; k < 4000000000000l && n > 0; k = k + 1) {}")), "");
  fixture_.mep.instances[0].regions[0].size = uint64_t(3) << 30;
  fixture_.mep.instances.pop_back();
  check_.reset();
  expect_not_asked(in_field(kScaleSource), "its recorded inputs take more than 1 GiB each");
}

TEST_F(ProcessorCheckTest, AFormulaDoesNotWaitForACheckOfWhatTakesLong) {
  in_field(kScaleSource), judge(kScaleSource);  // Both runners are up.
  auto checked = std::async(std::launch::async, [&] {
    return judge(scale_with("for (volatile long k = 0; k < 4000000000000l && n > 0; k = k + 1) {}"));
  });
  const Verdict verdict = in_field(scale_to("bias + factor * (in[i] + in[i]) / 2"));
  EXPECT_THAT(verdict.field->text(), StartsWith("the same formula"));
  EXPECT_EQ(checked.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  expect_unchecked(judge(scale_with("(void)count;"), Deadline::clock::now() + std::chrono::milliseconds(1)),
                   "there was no time left for it");
  EXPECT_EQ(checked.wait_for(std::chrono::seconds(0)), std::future_status::timeout) << "its deadline was over";
  expect_unchecked(checked.get(), "there it takes longer than 2 s");
}

TEST_F(ProcessorCheckTest, AnswersHowFarRoundingMayMoveWhatTheOriginalLeaves) {
  start();
  LengthQuestion question;
  question.instance = "b", question.wanted = {1};  // scale_mep()'s smaller input, and its `out`.
  const int n = 501;
  auto expect_near = [&](const LengthQuestion& asked, float input) {
    const LengthAnswer answer = bounds(asked);
    ASSERT_EQ(answer.why_not, "");
    ASSERT_EQ(answer.regions.size(), 1u);
    EXPECT_EQ(answer.regions[0].index, 1u);
    ASSERT_EQ(answer.regions[0].lanes.size(), 1u);
    const auto& elements = answer.regions[0].lanes[0].elements;
    ASSERT_EQ(elements.size(), size_t(n));
    const double exactly = input * -0.25 + 2;
    EXPECT_NEAR(elements[1].precise, exactly, 1e-9);
    EXPECT_GT(elements[1].error, 0);
    EXPECT_LT(elements[1].error, 1e-5);
  };
  expect_near(question, -99.5f);
  std::vector<float> others(n, 3.3f);
  question.regions.push_back({0, std::string(reinterpret_cast<const char*>(others.data()), n * sizeof(float))});
  expect_near(question, 3.3f);
  expect_near(question, 3.3f);
  EXPECT_EQ(check_->no_length_bounds(), "");
}

TEST_F(ProcessorCheckTest, SaysWhyNoBoundsAreKnown) {
  fixture_.mep.instances[0].regions[0].size = uint64_t(3) << 30;
  start();
  LengthQuestion question;
  question.instance = "a", question.wanted = {1};
  EXPECT_EQ(bounds(question).why_not, "its recorded inputs take too much memory");
  EXPECT_EQ(check_->no_length_bounds(), "its recorded inputs take too much memory");
  question.instance = "b", question.deadline = Deadline::clock::now();
  EXPECT_TRUE(bounds(question).later) << "asked again, there may be time";
  question.deadline.reset();
  EXPECT_EQ(bounds(question).why_not, "");
}

}  // namespace
}  // namespace kernelift::sandbox
