// Results that a comparison of floats chooses: the one that is decided by rounding may be either, the others may not.
#include <gtest/gtest.h>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

constexpr int kElements = 1 << 16, kTie = 40'000;

std::string sides(const std::string& side, const std::string& result = "5.0f") {
  return "__global__ void sides(const float* x, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = " +
         side + " > 0 ? " + result + " : -5.0f;\n}\n";
}

TEST(DecidedByRounding, OnlyWhatRoundingDecidesMayDiffer) {
  const std::string original = sides("fmaf(x[i], 3.0f, -1.0f)");
  MepFixture fixture(original, "_Z5sidesPKfPfi", "sides(float const*, float*, int)");
  std::vector<float> x(kElements), before(kElements, 0.0f), after(kElements);
  for (int i = 0; i < kElements; ++i) x[i] = 0.2f + 0.3f * static_cast<float>(i % 101) / 101;
  x[kTie] = 1.0f / 3;  // Three times as much is 1, or a little more before it is rounded.
  for (int i = 0; i < kElements; ++i) after[i] = std::fmaf(x[i], 3.0f, -1.0f) > 0 ? 5.0f : -5.0f;
  MepInstance& instance = fixture.add_instance("a", kElements / 128, 128);
  fixture.add_buffer(instance, "x", "float", kTestArena, x, x);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, kElements, "n");
  EvaluatorOptions options;
  options.few_candidates = true, options.most_rounds = 8;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  auto evaluate = [&](const std::string& source) {
    Candidate candidate;
    candidate.source = source, candidate.tier = "source";
    return std::get<Verdict>((*evaluator)->submit(std::move(candidate)).get());
  };
  const Verdict rounded = evaluate(sides("__fadd_rn(__fmul_rn(x[i], 3.0f), -1.0f)"));
  EXPECT_TRUE(rounded.ok()) << rounded.text();
  EXPECT_FALSE(evaluate(sides("fmaf(x[i], 3.0f, -1.0f)", "(i == 77 ? -5.0f : 5.0f)")).ok()) << "far from the tie";
  EXPECT_FALSE(evaluate(sides("fmaf(x[i], 3.0f, -1.0f)", "(i == 40000 ? 4.0f : 5.0f)")).ok())
      << "what neither side of the tie leaves";
  EXPECT_FALSE(evaluate(sides("fmaf(x[i], 3.1f, -1.0f)")).ok()) << "another threshold";
}

}  // namespace
}  // namespace kernelift::sandbox
