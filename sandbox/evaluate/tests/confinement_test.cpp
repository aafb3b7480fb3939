// Candidates that bring machine code of their own, as data. What that code could do if it ran is tried in
// sandbox/jail/tests/escape_test.cpp; here it must not run at all.
#include <gtest/gtest.h>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

/// Right, if the call of `code` returns. 0xc3 is ret.
std::string calling(const std::string& file_scope, const std::string& inside) {
  return "__constant__ float bias;\n" + file_scope +
         "__global__ void scale(const float* in, float* out, int n, float factor) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         inside +
         "  if (i == 0) ((void (*)())(void*)code)();\n"
         "  if (i < n) out[i] = in[i] * factor + bias;\n"
         "}\n";
}

TEST(Confinement, DataOfACandidateIsNeverRunAsCode) {
  MepFixture fixture = scale_mep(10'000);
  EvaluatorOptions options;
  options.few_candidates = true, options.most_rounds = 8;
  auto evaluator = make_evaluator(fixture.mep, fixture.path(), options);
  ASSERT_TRUE(evaluator.ok()) << evaluator.error().message;
  const std::string bytes = " unsigned long long code[2] = {0xc3c3c3c3c3c3c3c3ull, 0xc3c3c3c3c3c3c3c3ull};\n";
  for (auto& source : {calling("__device__ const" + bytes, ""), calling("__device__" + bytes, ""),
                       calling("__constant__" + bytes, ""), calling("", "  volatile" + bytes)}) {
    Candidate candidate;
    candidate.source = source, candidate.tier = "source";
    const Evaluation evaluation = (*evaluator)->submit(candidate).get();
    const Verdict* verdict = std::get_if<Verdict>(&evaluation);
    ASSERT_TRUE(verdict) << source;
    EXPECT_EQ(verdict->outcome, Outcome::Crashed) << verdict->text() << source;
    EXPECT_NE(verdict->detail.find("Segmentation fault"), std::string::npos) << verdict->text();
  }
}

}  // namespace
}  // namespace kernelift::sandbox
