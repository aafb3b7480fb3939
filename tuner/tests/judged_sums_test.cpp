// What the rules for sums offer for small kernels is confirmed by the evaluator of the CPU device: right on all inputs,
// at other sizes, and in check mode. How fast it is depends on the machine, and is not tested.
#include <gtest/gtest.h>

#include "core/compiler/frontend.h"
#include "core/tests/expression_literal.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"
#include "tuner/source/rule_proposer.h"

namespace kernelift::tuner {
namespace {

using sandbox::kTestArena;
using sandbox::MepFixture;

constexpr int kTerms = 2000, kRows = 64;

/// A kernel of an array, a result of which `results` elements begin as 1, and a size.
struct Sums {
  std::string source;
  size_t elements = kTerms, results = 1;
  uint32_t blocks = 1, threads = 1;
  int n = kTerms;
  Expression grid = Expression::constant(1);
};

MepFixture mep_of(const Sums& sums, float (*answer)(const std::vector<float>&, size_t)) {
  MepFixture fixture(sums.source, "_Z4sumsPKfPfi", "sums(float const*, float*, int)");
  fixture.mep.kernel_name = "sums";
  std::vector<float> in(sums.elements), before(sums.results, 1), after(sums.results);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7) * 0.25f;
  for (size_t i = 0; i < after.size(); ++i) after[i] = answer(in, i);
  MepInstance& instance = fixture.add_instance("a", sums.blocks, sums.threads);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(64) << 20), before, after);
  fixture.add_argument(instance, sums.n, "n");
  LaunchSite site;
  site.grid[0] = sums.grid, site.block[0] = Expression::constant(sums.threads);
  for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = Expression::constant(1);
  site.argument_text = {"in", "out", "n"};
  fixture.mep.launches = {site};
  return fixture;
}

/// The verdicts of the rule's first `most` offers for the original.
std::vector<Verdict> judged(const MepFixture& fixture, const std::string& text, const char* rule, size_t most = 1) {
  sandbox::EvaluatorOptions options;
  options.most_rounds = 4, options.compile_workers = 1, options.few_candidates = true;
  auto evaluator = sandbox::make_evaluator(fixture.mep, fixture.path(), options);
  auto source = KernelSource::parse(text, frontend_arguments({}));
  std::vector<Verdict> verdicts;
  if (!evaluator.ok() || !source.ok()) {
    ADD_FAILURE() << (source.ok() ? evaluator.error().message : source.error().message);
    return verdicts;
  }
  RuleContext facts = RuleContext::of(fixture.mep);
  facts.on_cpu = true;
  for (auto& opportunity : opportunities(*find_rule(rule), *source, facts)) {
    if (verdicts.size() == most) break;
    Candidate original;
    original.source = text;
    auto candidate = apply(original, *find_rule(rule), opportunity, "sums");
    if (!candidate) {
      ADD_FAILURE() << "edits of " << rule << " overlap";
      continue;
    }
    verdicts.push_back(std::get<Verdict>((*evaluator)->confirm(*candidate)));
    EXPECT_TRUE(verdicts.back().ok()) << verdicts.back().text() << "\n" << candidate->source;
  }
  EXPECT_EQ(verdicts.size(), most);
  return verdicts;
}

float total(const std::vector<float>& in, size_t) {
  float sum = 0;
  for (float one : in) sum += one;
  return sum;
}

const Sums kLone{.source =
                     "__global__ void sums(const float* in, float* out, int n) {\n  float s = 0;\n"
                     "  for (int i = 0; i < n; ++i) s += in[i];\n  out[0] = s;\n}\n"};

TEST(JudgedSums, OfALoneThreadAreSharedByABlock) { judged(mep_of(kLone, total), kLone.source, "thread_to_warp"); }

TEST(JudgedSums, OfALoneThreadAreKeptInSeveralRegisters) {
  judged(mep_of(kLone, total), kLone.source, "multiple_accumulators");
}

TEST(JudgedSums, ThatAreAddedToMemoryAreSharedByBlocks) {
  const Sums rows{.source =
                      "__global__ void sums(const float* in, float* out, int n) {\n"
                      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
                      "  float s = 0;\n  for (int k = 0; k < 100; ++k) s += in[i * 100 + k];\n"
                      "  out[i] += 0.5f * s;\n}\n",
                  .elements = kRows * 100,
                  .results = kRows,
                  .blocks = 1,
                  .threads = 64,
                  .n = kRows,
                  .grid = "(n + 63) / 64"_e};
  auto fixture = mep_of(rows, [](const std::vector<float>& in, size_t row) {
    float sum = 0;
    for (size_t k = 0; k < 100; ++k) sum += in[row * 100 + k];
    return 1 + 0.5f * sum;
  });
  judged(fixture, rows.source, "split_k");
}

TEST(JudgedSums, OfABlockThatAreAddedAtomicallyAreSharedByBlocks) {
  const Sums block{.source =
                       "__global__ void sums(const float* in, float* out, int n) {\n  __shared__ float part[64];\n"
                       "  float s = 0;\n  for (int i = threadIdx.x; i < n; i += blockDim.x) s += in[i];\n"
                       "  part[threadIdx.x] = s;\n  __syncthreads();\n"
                       "  for (int k = 32; k > 0; k /= 2) {\n"
                       "    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];\n"
                       "    __syncthreads();\n  }\n  if (threadIdx.x == 0) atomicAdd(out, part[0]);\n}\n",
                   .threads = 64};
  auto fixture = mep_of(block, [](const std::vector<float>& in, size_t row) { return 1 + total(in, row); });
  judged(fixture, block.source, "split_k");
}

TEST(JudgedSums, OfTooFineAGridAreGatheredInRegisters) {
  const Sums fine{.source =
                      "__global__ void sums(const float* in, float* out, int n) {\n"
                      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) atomicAdd(out, in[i]);\n}\n",
                  .blocks = (kTerms + 63) / 64,
                  .threads = 64,
                  .grid = "(n + 63) / 64"_e};
  auto fixture = mep_of(fine, [](const std::vector<float>& in, size_t row) { return 1 + total(in, row); });
  judged(fixture, fine.source, "grid_stride");
}

}  // namespace
}  // namespace kernelift::tuner
