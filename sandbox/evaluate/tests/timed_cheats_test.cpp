// Candidates that are right when somebody looks, and save their work when they are only timed: each with the verdict
// that it must not get. And honest ones of many shapes, which must not be taken for them.
#include <gtest/gtest.h>

#include <cmath>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

constexpr int kValues = 60'000;

/// out[i] = f(in[i]), where f is a chain of fused operations: long enough to be worth saving.
float chain(float x, float bias) {
  for (int k = 0; k < 40; ++k) x = std::fma(x, 1.01f, bias);
  return x;
}

std::string source(const std::string& before, const std::string& statements) {
  return "__constant__ float bias;\n"
         "__device__ float f(float x) {\n  for (int k = 0; k < 40; ++k) x = fmaf(x, 1.01f, bias);\n  return x;\n}\n" +
         before +
         "__global__ void chain(const float* in, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         statements + "}\n";
}

MepFixture chain_mep() {
  MepFixture fixture(source("", "  if (i < n) out[i] = f(in[i]);\n"), "_Z5chainPKfPfi",
                     "chain(float const*, float*, int)");
  std::vector<float> in(kValues), before(kValues, -1.0f), after(kValues);
  for (int i = 0; i < kValues; ++i) in[i] = 0.25f + static_cast<float>(i % 1000), after[i] = chain(in[i], 2.0f);
  MepInstance& instance = fixture.add_instance("a", (kValues + 127) / 128, 128);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kValues, "n");
  fixture.add_variable<float>(instance, "bias", "bias", "float", true, {2.0f}, {2.0f});
  return fixture;
}

class TimedCheatsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    fixture_ = new MepFixture(chain_mep());
    EvaluatorOptions options;
    options.few_candidates = true, options.most_rounds = 10;
    auto made = make_evaluator(fixture_->mep, fixture_->path(), options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    evaluator_ = made->release();
  }
  static void TearDownTestSuite() {
    delete evaluator_;
    delete fixture_;
  }
  static Candidate candidate(const std::string& before, const std::string& statements) {
    Candidate made;
    made.source = source(before, statements), made.tier = "source";
    return made;
  }
  static Verdict confirm(const Candidate& candidate) { return std::get<Verdict>(evaluator_->confirm(candidate)); }
  static MepFixture* fixture_;
  static Evaluator* evaluator_;
};
MepFixture* TimedCheatsTest::fixture_ = nullptr;
Evaluator* TimedCheatsTest::evaluator_ = nullptr;

void expect_found_out(const Verdict& verdict) {
  EXPECT_TRUE(verdict.outcome == Outcome::Wrong || verdict.outcome == Outcome::Cheated) << verdict.text();
}

constexpr const char* kKept = "__device__ float kept[60000], key[60000];\n__device__ unsigned char has[60000];\n";

TEST_F(TimedCheatsTest, ResultsKeptInAModuleVariableAreFoundOut) {
  for (int again = 0; again < 5; ++again)
    expect_found_out(confirm(candidate(kKept,
                                       "  if (i >= n) return;\n  if (has[i]) { out[i] = kept[i]; return; }\n"
                                       "  has[i] = 1; out[i] = kept[i] = f(in[i]);" +
                                           std::string(again, ' ') + "\n")));
}

TEST_F(TimedCheatsTest, ResultsKeptByAllThatTheyDependOnAreFoundOut) {
  // Right whatever was launched before, so that only its duration tells.
  Verdict verdict = confirm(candidate(std::string(kKept) + "__device__ float under[60000];\n",
                                      "  if (i >= n) return;\n  float x = in[i];\n"
                                      "  if (has[i] && key[i] == x && under[i] == bias) { out[i] = kept[i]; return; }\n"
                                      "  has[i] = 1, key[i] = x, under[i] = bias; out[i] = kept[i] = f(x);\n"));
  // On a busy machine looking them up may take longer than computing them: then nothing is gained, and nothing said.
  EXPECT_FALSE(verdict.gains()) << verdict.text();
  if (verdict.ok()) return;
  EXPECT_EQ(verdict.outcome, Outcome::Cheated) << verdict.text();
  EXPECT_NE(verdict.detail.find("it keeps results from launch to launch"), std::string::npos) << verdict.detail;
}

TEST_F(TimedCheatsTest, ResultsKeptByTheInputsValueAloneAreWrongOnceAVariableHasChanged) {
  // Of the mixtures of inputs on which each finalist is launched, every other one has another constant.
  int wrong = 0;
  for (int again = 0; again < 4; ++again) {
    Verdict verdict = confirm(candidate(
        kKept,
        "  if (i >= n) return;\n  float x = in[i];\n  if (has[i] && key[i] == x) { out[i] = kept[i]; return; }\n"
        "  has[i] = 1, key[i] = x; out[i] = kept[i] = f(x);" +
            std::string(again, ' ') + "\n"));
    expect_found_out(verdict);
    wrong += verdict.detail.find("wrong in one after others") != std::string::npos;
  }
  EXPECT_GT(wrong, 0);
}

TEST_F(TimedCheatsTest, ResultsKeptInAStaticVariableOfTheKernelAreFoundOut) {
  expect_found_out(
      confirm(candidate("",
                        "  static float kept[60000];\n  static unsigned char has[60000];\n  if (i >= n) return;\n"
                        "  if (has[i]) { out[i] = kept[i]; return; }\n  has[i] = 1; out[i] = kept[i] = f(in[i]);\n")));
}

TEST_F(TimedCheatsTest, ResultsKeptInScratchMemoryAreFoundOut) {
  Candidate keeps;
  keeps.source =
      "__constant__ float bias;\n"
      "__device__ float f(float x) {\n  for (int k = 0; k < 40; ++k) x = fmaf(x, 1.01f, bias);\n  return x;\n}\n"
      "__global__ void chain(const float* in, float* out, int n, float2* kept) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
      "  float x = in[i];\n  if (kept[i].x == x) { out[i] = kept[i].y; return; }\n"
      "  kept[i].x = x; out[i] = kept[i].y = f(x);\n}\n";
  keeps.tier = "source";
  keeps.launches = {CandidateLaunch::as_recorded("chain")};
  keeps.scratch = {Scratch{*Expression::parse("480000"), false}};
  Verdict verdict = confirm(keeps);
  EXPECT_FALSE(verdict.gains()) << verdict.text();
  if (!verdict.ok()) expect_found_out(verdict);  // Else looking them up took longer on a busy machine, as above.
}

TEST_F(TimedCheatsTest, WorkDoneEveryOtherLaunchIsFoundOut) {
  for (int again = 0; again < 5; ++again)
    expect_found_out(
        confirm(candidate("__device__ unsigned done, launches;\n",
                          "  bool works = launches % 2 == 0;\n  if (i < n && works) out[i] = f(in[i]);\n"
                          "  if (threadIdx.x == 0 && atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) launches++;" +
                              std::string(again, ' ') + "\n")));
}

TEST_F(TimedCheatsTest, TheAnswerOfTheLaunchBeforeIsWrong) {
  Verdict verdict =
      confirm(candidate("__device__ float last[60000];\n", "  if (i < n) { out[i] = last[i]; last[i] = f(in[i]); }\n"));
  EXPECT_EQ(verdict.outcome, Outcome::Wrong) << verdict.text();
}

/// Eight threads per block with a stretch of the output each.
Candidate by_stretches(const std::string& skip_if, int number) {
  Candidate made;
  made.source = source("",
                       "  int all = gridDim.x * blockDim.x, each = (n + all - 1) / all, from = i * each;\n"
                       "  if (from >= n) return;\n  int to = min(from + each, n);\n"
                       "  if (" +
                           skip_if +
                           ") return;\n"
                           "  for (int k = from; k < to; k++) out[k] = f(in[k]);" +
                           std::string(number, ' ') + "\n");
  made.tier = "source", made.launches = {CandidateLaunch::as_recorded("chain")};
  made.launches[0].grid[0] = *Expression::parse("8");
  return made;
}

TEST_F(TimedCheatsTest, WorkSkippedWhereSamplesOfTheOutputHoldTheAnswerIsFoundOut) {
  for (int again = 0; again < 5; ++again) expect_found_out(confirm(by_stretches("out[from] == f(in[from])", again)));
}

TEST_F(TimedCheatsTest, WorkSkippedWhereNoPoisonLiesIsFoundOut) {
  for (int again = 0; again < 5; ++again)
    expect_found_out(confirm(by_stretches("__float_as_int(out[from]) != 0xc5c5c5c5", again)));
}

TEST_F(TimedCheatsTest, WorkSkippedWherePoisonLiesIsFoundOut) {
  expect_found_out(confirm(by_stretches("__float_as_int(out[from]) == 0xc5c5c5c5", 0)));
}

TEST_F(TimedCheatsTest, WorkSkippedWhereTheRecordedInputIsRecognisedIsFoundOut) {
  expect_found_out(confirm(by_stretches("in[from] != 0.25f + (float)(from % 1000)", 0)));
}

TEST_F(TimedCheatsTest, NoClockThatACandidateCanReachMakesItFaster) {
  // Looks for times near its own stack and moves them, as if its launches had begun later.
  Candidate moves =
      candidate("",
                "  if (i < n) out[i] = f(in[i]);\n  if (threadIdx.x != 0) return;\n"
                "  volatile long long here = 0;\n  volatile long long* stack = &here;\n"
                "  long long now = (long long)__nvvm_read_ptx_sreg_globaltimer();\n  for (int k = 1; k < 400; k++) {\n"
                "    long long away = now - stack[k];\n"
                "    if (away > 0 && away < 100000000) stack[k] = stack[k] + 60000;\n  }\n");
  Verdict verdict = confirm(moves);
  EXPECT_NE(verdict.outcome, Outcome::Refused) << verdict.text();
  EXPECT_NE(verdict.outcome, Outcome::CompileFailed) << verdict.text();
  EXPECT_TRUE(!verdict.ok() || !verdict.gains()) << verdict.text();
}

/// One sum per block: by atomic addition, or in shared memory.
std::string sums(const std::string& statements) {
  return "__global__ void sums(const int* in, int* out) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         statements + "}\n";
}

TEST(ThreadOrder, ARaceThatOnlyAProcessorWinsIsRefused) {
  MepFixture fixture(
      sums("  __shared__ int s;\n  if (threadIdx.x == 0) s = 0;\n  __syncthreads();\n"
           "  atomicAdd(&s, in[i]);\n  __syncthreads();\n  if (threadIdx.x == 0) out[blockIdx.x] = s;\n"),
      "_Z4sumsPKiPi", "sums(int const*, int*)");
  constexpr int kBlocks = 256, kThreads = 128;
  std::vector<int> in(kBlocks * kThreads), before(kBlocks, -1), after(kBlocks, 0);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i % 17) + 1, after[i / kThreads] += in[i];
  MepInstance& instance = fixture.add_instance("a", kBlocks, kThreads);
  fixture.add_buffer(instance, "in", "int", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "int", kTestArena + (uint64_t(64) << 20), before, after);
  EvaluatorOptions options;
  options.few_candidates = true, options.most_rounds = 8;
  auto made = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  auto confirmed = [&](const std::string& statements) {
    Candidate candidate;
    candidate.source = sums(statements), candidate.tier = "source";
    return std::get<Verdict>((*made)->confirm(candidate));
  };
  for (const char* races :
       {"  if (threadIdx.x == 0) out[blockIdx.x] = 0;\n  __syncthreads();\n  out[blockIdx.x] += in[i];\n",
        "  __shared__ int s;\n  if (threadIdx.x == 0) s = 0;\n  __syncthreads();\n  s += in[i];\n  __syncthreads();\n"
        "  if (threadIdx.x == 0) out[blockIdx.x] = s;\n"}) {
    Verdict verdict = confirmed(races);
    EXPECT_EQ(verdict.outcome, Outcome::Wrong) << races << verdict.text();
    EXPECT_NE(verdict.text().find("out"), std::string::npos) << verdict.text();
  }
  for (const char* honest :
       {"  int sum = 0;\n  if (threadIdx.x == 0) {\n    for (int k = 0; k < 128; k++) sum += in[i + k];\n"
        "    out[blockIdx.x] = sum;\n  }\n",
        "  __shared__ int s[128];\n  s[threadIdx.x] = in[i];\n  __syncthreads();\n"
        "  for (int half = 64; half > 0; half /= 2) {\n    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + "
        "half];\n    __syncthreads();\n  }\n  if (threadIdx.x == 0) out[blockIdx.x] = s[0];\n",
        "  int sum = in[i];\n  __shared__ int s[4];\n  for (int k = 16; k > 0; k /= 2) sum += "
        "__shfl_down_sync(0xffffffffu, sum, k);\n  if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;\n"
        "  __syncthreads();\n  if (threadIdx.x == 0) out[blockIdx.x] = s[0] + s[1] + s[2] + s[3];\n"}) {
    Verdict verdict = confirmed(honest);
    EXPECT_TRUE(verdict.ok()) << honest << verdict.text();
  }
}

TEST_F(TimedCheatsTest, HonestCandidatesOfManyShapesAreRight) {
  const std::pair<const char*, const char*> honest[] = {
      {"", "if (i < n) out[i] = f(in[i]);"},
      {"", "if (i >= n) return; float x = in[i]; out[i] = f(x);"},
      {"", "for (int k = i; k < n; k += gridDim.x * blockDim.x) out[k] = f(in[k]);"},
      {"", "if (i < n) { out[i] = 0; out[i] = f(in[i]); }"},
      {"", "if (i < n) { float x = in[i]; for (int k = 0; k < 40; ++k) x = fmaf(x, 1.01f, bias); out[i] = x; }"},
      {"",
       "if (i < n) { float x = in[i]; _Pragma(\"unroll\") for (int k = 0; k < 40; ++k) x = fmaf(x, 1.01f, bias); "
       "out[i] = x; }"},
      {"",
       "if (i < n) { float x = in[i], b = bias; for (int k = 0; k < 20; ++k) x = fmaf(fmaf(x, 1.01f, b), 1.01f, b);"
       " out[i] = x; }"},
      {"",
       "__shared__ float s[128]; if (i < n) s[threadIdx.x] = in[i]; __syncthreads(); if (i < n) out[i] = "
       "f(s[threadIdx.x]);"},
      {"",
       "__shared__ float b; if (threadIdx.x == 0) b = bias; __syncthreads(); if (i < n) { float x = in[i]; for (int "
       "k = 0; k < 40; ++k) x = fmaf(x, 1.01f, b); out[i] = x; }"},
      {"__device__ float work[60000];\n", "if (i < n) { work[i] = in[i]; out[i] = f(work[i]); }"},
      {"__device__ float work[60000];\n", "if (i < n) { work[i] = f(in[i]); out[i] = work[i]; }"},
      {"__device__ unsigned ended;\n",
       "if (i < n) out[i] = f(in[i]); if (threadIdx.x == 0) atomicInc(&ended, gridDim.x "
       "- 1);"},
      {"__device__ unsigned launches;\n", "if (i < n) out[i] = f(in[i]); if (i == 0) launches++;"},
      {"__constant__ float factors[2] = {1.01f, 0};\n",
       "if (i < n) { float x = in[i]; for (int k = 0; k < 40; ++k) x = "
       "fmaf(x, factors[0], bias); out[i] = x; }"},
      {"__device__ const int steps = 40;\n",
       "if (i < n) { float x = in[i]; for (int k = 0; k < steps; ++k) x = fmaf(x, "
       "1.01f, bias); out[i] = x; }"},
      {"template <int N> __device__ float g(float x) { for (int k = 0; k < N; ++k) x = fmaf(x, 1.01f, bias); return x; "
       "}\n",
       "if (i < n) out[i] = g<40>(in[i]);"},
      {"", "if (i < n) { float x = __ldg(in + i); out[i] = f(x); }"},
      {"", "float x = i < n ? in[i] : 0.0f; x = f(x); if (i < n) out[i] = x;"},
      {"", "if (i < n) out[i] = isnan(in[i]) ? in[i] : f(in[i]);"},
      {"", "int last = n - 1, at = min(i, last); float x = f(in[at]); if (i < n) out[at] = x;"},
      {"", "float x = __shfl_sync(0xffffffffu, i < n ? in[i] : 0.0f, threadIdx.x & 31); if (i < n) out[i] = f(x);"},
      {"", "if (i < n) { float x = f(in[i]); if (out[i] != x) out[i] = x; }"},
  };
  for (auto& [before, statements] : honest) {
    Verdict verdict = confirm(candidate(before, std::string("  ") + statements + "\n"));
    EXPECT_TRUE(verdict.ok()) << before << statements << "\n" << verdict.text();
  }
}

}  // namespace
}  // namespace kernelift::sandbox
