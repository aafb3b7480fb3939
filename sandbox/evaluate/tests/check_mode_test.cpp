// Candidates that are right on the CPU device and run in check mode before they count.
#include <gmock/gmock.h>

#include <numeric>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

// `in` ends within a page, so that what lies behind it can be read.
constexpr int kBlocks = 63, kThreads = 128, kCount = kBlocks * kThreads;

const std::string kHead = "__global__ void sums(const int* in, int* out, int n) {\n";
const std::string kAtomic = kHead + "  atomicAdd(&out[blockIdx.x], in[blockIdx.x * blockDim.x + threadIdx.x]);\n}\n";
/// Between warps; within one, running its lanes side by side would show it.
const std::string kRacing = kHead +
                            "  if (threadIdx.x % 32 != 0) return;\n"
                            "  int sum = 0;\n"
                            "  for (int i = 0; i < 32; ++i) sum += in[blockIdx.x * blockDim.x + threadIdx.x + i];\n"
                            "  out[blockIdx.x] += sum;\n}\n";

/// out[b] += the sum of block b's elements of in.
MepFixture sums_mep(const std::string& source = kAtomic) {
  MepFixture fixture(source, "_Z4sumsPKiPii", "sums(int const*, int*, int)");
  std::vector<int> in(kCount), before(kBlocks, 1), after(kBlocks, 1);
  std::iota(in.begin(), in.end(), 0);
  for (int i = 0; i < kCount; ++i) after[i / kThreads] += in[i];
  MepInstance& instance = fixture.add_instance("a", kBlocks, kThreads);
  fixture.add_buffer(instance, "in", "int", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "int", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kCount, "n");
  return fixture;
}

struct Answers {
  Verdict screened, confirmed;
};

Answers answers_of(const MepFixture& fixture, const std::string& source) {
  EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  if (!evaluator.ok()) throw std::runtime_error(evaluator.error().message);
  Candidate candidate;
  candidate.source = source;
  Answers answers;
  Evaluation screened = (*evaluator)->with_checks((*evaluator)->submit(candidate).get(), candidate),
             confirmed = (*evaluator)->confirm(candidate);
  answers.screened = std::get<Verdict>(screened), answers.confirmed = std::get<Verdict>(confirmed);
  return answers;
}

void expect_ok(const Answers& answers) {
  for (auto& verdict : {answers.screened, answers.confirmed}) {
    EXPECT_TRUE(verdict.ok()) << verdict.text();
    EXPECT_EQ(verdict.detail, "");
  }
}

void expect_failure(const Answers& answers, Outcome outcome, const std::string& detail) {
  for (auto& verdict : {answers.screened, answers.confirmed}) {
    EXPECT_EQ(verdict.outcome, outcome) << verdict.text();
    EXPECT_EQ(verdict.instance, "a");
    EXPECT_THAT(verdict.detail, HasSubstr(detail));
    EXPECT_EQ(verdict.timings.size(), 0u);
  }
}

TEST(CheckMode, AnHonestCandidateIsCheckedAndOk) {
  expect_ok(answers_of(sums_mep(), kHead +
                                       "  __shared__ int tile[128];\n"
                                       "  tile[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];\n"
                                       "  __syncthreads();\n"
                                       "  for (int half = 64; half > 0; half /= 2) {\n"
                                       "    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];\n"
                                       "    __syncthreads();\n"
                                       "  }\n"
                                       "  if (threadIdx.x == 0) out[blockIdx.x] += tile[0];\n}\n"));
}

TEST(CheckMode, AWriteToWhatOtherBlocksHaveReadIsFoundThoughNothingWasWrittenThereBefore) {
  expect_failure(answers_of(sums_mep(), kHead + "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                                "  atomicAdd(&out[blockIdx.x], in[i]);\n"
                                                "  if (i == n - 1) ((int*)in)[200] = 200;\n}\n"),
                 Outcome::Unstable, "block (1,0,0) reads in[200] at kernel.cu:3");
}

TEST(CheckMode, ARaceThatTheCpuDeviceNeverLosesIsUnstableAndNamedByItsLine) {
  expect_failure(answers_of(sums_mep(), kRacing), Outcome::Unstable,
                 "race: thread (0,0,0) of block (0,0,0) writes out[0] at kernel.cu:5, thread (32,0,0) reads it at "
                 "kernel.cu:5 without a barrier between them");
}

TEST(CheckMode, ARaceOfTheOriginalIsNoneOfItsCandidates) {
  expect_ok(answers_of(sums_mep(kRacing), kHead + "  if (threadIdx.x % 32 != 0 || n < 0) return;\n"
                                                  "  int sum = 0, first = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                                  "  for (int i = 31; i >= 0; --i) sum += in[first + i];\n"
                                                  "  out[blockIdx.x] += sum;\n}\n"));
}

TEST(CheckMode, AReadBehindABufferIsFoundThoughItsValueDoesNotMatter) {
  expect_failure(answers_of(sums_mep(), kHead + "  if (in[8064 + threadIdx.x] == 12345) return;\n"
                                                "  atomicAdd(&out[blockIdx.x], in[blockIdx.x * blockDim.x + "
                                                "threadIdx.x]);\n}\n"),
                 Outcome::Crashed, "out of bounds: thread (0,0,0) of block (0,0,0) reads in[8064] at kernel.cu:2");
}

TEST(CheckMode, UninitialisedSharedMemoryThatIsReadAndNotUsedIsNoFailure) {
  expect_ok(answers_of(sums_mep(), kHead + "  __shared__ volatile int flags[128];\n"
                                           "  if (threadIdx.x < 64) flags[threadIdx.x] = 1;\n"
                                           "  __syncthreads();\n"
                                           "  int flag = flags[threadIdx.x];\n"
                                           "  int x = in[blockIdx.x * blockDim.x + threadIdx.x];\n"
                                           "  atomicAdd(&out[blockIdx.x], threadIdx.x < 64 ? x * flag : x);\n}\n"));
}

}  // namespace
}  // namespace kernelift::sandbox
