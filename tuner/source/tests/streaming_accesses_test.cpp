// Tests of streaming_accesses, as text before and after. Every rewritten text must parse.
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

constexpr const char* kRule = "streaming_accesses";
const Bindings kBoth = {{"stores", 1}}, kLoads = {{"stores", 0}};

const std::string kOperators = R"(template <class T> __device__ T __ldcs(const T*);
template <class T> __device__ void __stcs(T*, T);
)";
const std::string kScale = kOperators + R"(__global__ void k(const float* x, const float* table, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * table[i % 16];
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  KERNELIFT_ASSERT(at != text.npos, "a test changes what there is");
  return text.replace(at, from.size(), to);
}

bool none(const std::string& from, const std::string& to, const RuleContext& known = facts()) {
  return offers(kRule, replaced(kScale, from, to), kBoth, known).empty();
}

TEST(StreamingAccesses, AreThoseThatTheGridMakesOnce) {
  EXPECT_EQ(after(kRule, kScale, kBoth),
            replaced(kScale, "out[i] = x[i] * table[i % 16]", "__stcs(&out[i], __ldcs(&x[i]) * table[i % 16])"));
  EXPECT_EQ(after(kRule, kScale, kLoads), replaced(kScale, "x[i] *", "__ldcs(&x[i]) *"));
}

TEST(StreamingAccesses, MayBeInAGridStrideLoop) {
  const std::string text = kOperators + R"(__global__ void k(double* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = 2 * x[i];
}
)";
  EXPECT_EQ(after(kRule, text, kBoth), replaced(text, "x[i] = 2 * x[i]", "__stcs(&x[i], 2 * __ldcs(&x[i]))"));
}

TEST(StreamingAccesses, AreNotThoseThatAreMadeAgain) {
  // Only the store is left where x is read again.
  for (const std::string again : {"x[i] * x[i + 1]", "x[i / 2]", "x[2 * i]"})
    EXPECT_EQ(after(kRule, replaced(kScale, "x[i] *", again + " *"), kBoth).find("__ldcs(&x"), std::string::npos);
  EXPECT_TRUE(none("out[i] =", "out[0] =")) << "and nothing is stored as it could be";
  EXPECT_TRUE(none("out[i] =", "out[i] +="));
  EXPECT_TRUE(none("if (i < n)", "for (int t = 0; t < n; ++t)"));
  EXPECT_TRUE(none("if (i < n)", "if (blockIdx.y < n)")) << "blocks along y read the same";
}

TEST(StreamingAccesses, AreNotOfferedWhereTheyHaveNoEffect) {
  RuleContext cpu = facts();
  cpu.on_cpu = true;
  EXPECT_TRUE(offers(kRule, kScale, kBoth, cpu).empty());
}

}  // namespace
}  // namespace kernelift::tuner
