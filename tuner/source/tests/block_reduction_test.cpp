// Claims about sums whose terms threads of a block share, as text before and after. Every text must parse again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

const Bindings k8{{"threads", 8}};

std::string shared(const std::string& text, const RuleContext& known = facts()) {
  return after("block_reduction", text, k8, 0, known);
}

std::string kernel(const std::string& body, const std::string& parameters = "const float *a, float *s, int n, int m") {
  return "__global__ void k(" + parameters + ") {\n  int j = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "}\n";
}

TEST(BlockReduction, SplitsASumInMemory) {
  EXPECT_EQ(shared(R"(#define DATA_TYPE float
__global__ void k(DATA_TYPE *A, DATA_TYPE *r, DATA_TYPE *s, int nx, int ny)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;

	// Columns.
	if (j < ny)
	{
		s[j] = 0.0f;

		int i;
		// Rows.
		for(i = 0; i < nx; i++)
		{
			s[j] += r[i] * A[i * ny + j];
		}
	}
}
)"),
            R"(#define DATA_TYPE float
__global__ void k(DATA_TYPE *A, DATA_TYPE *r, DATA_TYPE *s, int nx, int ny)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;

	// Columns.
	// Threads along y share the terms of each sum, and the first of them adds up what they found.
	__shared__ DATA_TYPE s_parts[8][32];
	DATA_TYPE s_part = 0;
	if (j < ny)
	{
		int i;
		// Rows.
		for(i = threadIdx.y; i < nx; i += 8)
		{
			s_part += r[i] * A[i * ny + j];
		}
	}
	s_parts[threadIdx.y][threadIdx.x] = s_part;
	__syncthreads();
	if (j < ny && threadIdx.y == 0)
	{
		s[j] = 0.0f;
		for (int thread = 1; thread < 8; ++thread) s_part += s_parts[thread][threadIdx.x];
		s[j] += s_part;
	}
}
)");
}

TEST(BlockReduction, SplitsASumBehindAnEarlyReturn) {
  EXPECT_EQ(shared(kernel(R"(  if (j >= m) return;
  // Each column has a weight.
  const float w = s[j];
  float sum = 0, least = 1;
  float total = 0.0f;
#pragma unroll 4
  for (int i = 1; i < n; i += 2) total += w * a[i * m + j];  // Weighted.
  // Done.
  if (total < least) {
    s[j] = least;
    return;
  }
  s[j] = sum - total / w;
  // The end.
)")),
            kernel(R"(  // Threads along y share the terms of each sum, and the first of them adds up what they found.
  __shared__ float total_parts[8][32];
  float total = 0.0f;
  if (j < m) {
    // Each column has a weight.
    const float w = s[j];
#pragma unroll 4
    for (int i = 1 + 2 * threadIdx.y; i < n; i += 2 * 8) total += w * a[i * m + j];  // Weighted.
  }
  total_parts[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (j >= m || threadIdx.y > 0) return;
  const float w = s[j];
  float sum = 0, least = 1;
  for (int thread = 1; thread < 8; ++thread) total += total_parts[thread][threadIdx.x];
  // Done.
  if (total < least) {
    s[j] = least;
    return;
  }
  s[j] = sum - total / w;
  // The end.
)"));
}

TEST(BlockReduction, ChangesTheLaunch) {
  auto found = offers("block_reduction",
                      kernel("  if (j >= m) return;\n  float sum = 0;\n"
                             "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n"),
                      k8);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, "the loop over i");
  EXPECT_EQ(found[0].summary, "8 threads a sum");
  EXPECT_EQ(found[0].launch.at("gx").text(), "ceil_div(gx * bx, 32)");
  EXPECT_EQ(found[0].launch.at("bx").text(), "32");
  EXPECT_EQ(found[0].launch.at("by").text(), "8");
  EXPECT_FALSE(found[0].launch.contains("gy"));
  EXPECT_TRUE(found[0].premises.empty());
}

TEST(BlockReduction, GivesEachRowOfAPlaneABlock) {
  const std::string text = R"(__global__ void k(int nq, int np, float *sum, float *a, float *c) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  int q = blockIdx.y * blockDim.y + threadIdx.y;
  if ((p < np) && (q < nq)) {
    sum[q * np + p] = (float)0.0;
    for (int s = 0; s < np; s++) sum[q * np + p] = sum[q * np + p] + a[q * np + s] * c[s * np + p];
  }
}
)";
  auto found = offers("block_reduction", text, k8, plane(4));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "gy * by");
  EXPECT_EQ(found[0].premises.at(0).condition.text(), "gridDim.y * blockDim.y <= 65535");
  const std::string split = shared(text, plane(4));
  EXPECT_THAT(split, HasSubstr("int q = blockIdx.y;\n"));
  EXPECT_THAT(split, HasSubstr("  if (p < np && q < nq) {\n    for (int s = threadIdx.y; s < np; s += 8) sum_part = "
                               "sum_part + a[q * np + s] * c[s * np + p];\n  }\n"));
  EXPECT_THAT(split, HasSubstr("  if (p < np && q < nq && threadIdx.y == 0) {\n    sum[q * np + p] = (float)0.0;\n"));
  EXPECT_THAT(split, HasSubstr("    sum[q * np + p] += sum_part;\n"));
  EXPECT_EQ(shared(text, plane(4, 16384)), "") << "the grid would be too large along y";
}

TEST(BlockReduction, GathersSeveralResultsOfALoop) {
  const std::string split = shared(kernel(R"(  if (j < m) {
    float top = -1e30f, low = 0;
    int count = 1;
    for (int i = 0; i < n; ++i) {
      low -= a[i * m + j];
      count += a[i * m + j] > 0;
    }
    s[j] = low / count;
  }
)"));
  EXPECT_THAT(split, HasSubstr("  __shared__ float low_parts[8][32];\n  __shared__ int count_parts[8][32];\n"
                               "  float low_part = 0;\n  int count_part = 0;\n"));
  EXPECT_THAT(split, HasSubstr("      low_part -= a[i * m + j];\n"));
  EXPECT_THAT(split, HasSubstr(R"(    float top = -1e30f, low = 0;
    int count = 1;
    for (int thread = 1; thread < 8; ++thread) {
      low_part += low_parts[thread][threadIdx.x];
      count_part += count_parts[thread][threadIdx.x];
    }
    low += low_part;
    count += count_part;
    s[j] = low / count;
)"));
}

TEST(BlockReduction, ComparesExtremaOfAllThreads) {
  const std::string split = shared(
      kernel("  float top = -1e30f;\n  if (j < m) {\n    for (int i = 0; i < n; ++i) top = fmaxf(top, a[i * m + j]);\n"
             "    s[j] = top;\n  }\n"));
  EXPECT_THAT(split, HasSubstr("  float top = -1e30f;\n  // Threads"));
  EXPECT_THAT(split, HasSubstr("top = fmaxf(top, top_parts[thread][threadIdx.x]);\n    s[j] = top;\n"));
  EXPECT_EQ(shared(kernel("  if (j < m) {\n    float top = a[j];\n"
                          "    for (int i = 0; i < n; ++i) top = fmaxf(top, a[i * m + j]);\n    s[j] = top;\n  }\n")),
            "")
      << "threads without work have nothing to begin with";
}

TEST(BlockReduction, LeavesLoopsWithoutTermsForAllThreads) {
  auto loop = [](const std::string& end) {
    return kernel("  if (j >= m) return;\n  float sum = 0;\n  for (int i = 0; i < " + end +
                  "; ++i) sum += a[i * m + j];\n  s[j] = sum;\n");
  };
  EXPECT_EQ(shared(loop("15")), "");
  EXPECT_NE(shared(loop("16")), "");
}

TEST(BlockReduction, LeavesAnElementWithoutTermsAlone) {
  EXPECT_THAT(shared(kernel("  if (j < m) {\n    for (int i = n; i < 2 * m; ++i) s[j] += a[i * m + j];\n  }\n")),
              HasSubstr("    if (n < 2 * m) s[j] += s_part;\n"));
  EXPECT_EQ(
      shared(kernel("  if (j < m) {\n    for (int i = 0; i < n; ++i)\n      if (a[i * m + j] > 0) s[j] += a[i * m + "
                    "j];\n  }\n")),
      "");
}

TEST(BlockReduction, AddsUpLoopsThatDoNotNeedEachOther) {
  const std::string loops =
      "  if (j >= m) return;\n  float sum = 0;\n  float squares = 0;\n"
      "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n";
  const std::string split = shared(kernel(
      loops + "  for (int i = 0; i < n; ++i) squares += a[i * m + j] * a[i * m + j];\n  s[j] = squares - sum;\n"));
  EXPECT_THAT(split, HasSubstr("  for (int thread = 1; thread < 8; ++thread) sum += sum_parts[thread][threadIdx.x];\n"
                               "  for (int thread = 1; thread < 8; ++thread) squares += squares_parts[thread]"));
  EXPECT_EQ(shared(kernel(loops + "  for (int i = 0; i < n; ++i) squares += (a[i * m + j] - sum) * a[i * m + j];\n"
                                  "  s[j] = squares;\n")),
            "");
}

TEST(BlockReduction, SharesALastLoopThatStores) {
  const std::string loops = R"(  r[j] = 0.0f;
  for (int i = 0; i < n; ++i) r[j] += a[i * m + j];
  const float w = 2;
  // Less the sum.
  for (int i = 0; i < n; ++i) s[i * m + j] = a[i * m + j] - w * r[j];
)",
                    parameters = "const float *a, float *r, float *s, int n, int m";
  EXPECT_THAT(shared(kernel("  if (j >= m) return;\n" + loops, parameters)), HasSubstr(R"(
  if (j < m && threadIdx.y == 0) {
    r[j] = 0.0f;
    for (int thread = 1; thread < 8; ++thread) r_part += r_parts[thread][threadIdx.x];
    r[j] += r_part;
  }
  __syncthreads();
  if (j < m) {
    const float w = 2;
    // Less the sum.
    for (int i = threadIdx.y; i < n; i += 8) s[i * m + j] = a[i * m + j] - w * r[j];
  }
}
)"));
  EXPECT_EQ(
      shared(kernel("  if (j >= m) return;\n  float sum = 0;\n  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n"
                    "  for (int i = 0; i < n; ++i) s[i * m + j] = sum;\n")),
      "")
      << "only one thread knows the sum";
  EXPECT_EQ(shared(kernel("  if (j >= m) return;\n" + loops + "  r[j] = 1;\n", parameters)), "") << "not the last one";
}

TEST(BlockReduction, EvaluatesAGuardOfMemoryOnce) {
  const std::string split =
      shared(kernel("  if (j >= m) return;\n  if (s[j] > 0) return;\n  float sum = 0;\n"
                    "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n"));
  EXPECT_THAT(split, HasSubstr("  const bool inside = j < m && !(s[j] > 0);\n  if (inside) {\n"));
  EXPECT_THAT(split, HasSubstr("  if (!inside || threadIdx.y > 0) return;\n"));
}

TEST(BlockReduction, NeedsAWholeNumberOfWarpsWhereNothingIsGuarded) {
  const std::string text =
      "__global__ void k(const float *a, float *s, int n, int m) {\n"
      "  const size_t j = (size_t)blockIdx.x * 256 + threadIdx.x;\n  float sum = 0;\n"
      "  for (long i = n; i < m; ++i) sum += a[i * m + j];\n  s[j] = sum;\n}\n";
  auto found = offers("block_reduction", text, k8);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].premises.at(0).condition.text(), "gridDim.x * blockDim.x % 32 == 0");
  const std::string split = shared(text);
  EXPECT_THAT(split, HasSubstr("j = (size_t)blockIdx.x * 32 + threadIdx.x;\n"));
  EXPECT_THAT(split, HasSubstr("for (long i = n + (int)threadIdx.y; i < m; i += 8)"));
  EXPECT_THAT(split, HasSubstr("  if (threadIdx.y > 0) return;\n"));
  EXPECT_EQ(shared(text, facts(100, 128)), "") << "256 is not the block's size";
  EXPECT_EQ(
      shared(kernel("  float sum = 0;\n  for (int i = 0; i < n; ++i) sum += a[i];\n  s[j] = sum;\n"), facts(3, 25)),
      "");
}

TEST(BlockReduction, LeavesLoopsThatReadWhatIsStoredBefore) {
  const std::string sum = "  float sum = 0;\n  for (int i = 0; i < n; ++i) sum += s[i] * a[i * m + j];\n";
  EXPECT_EQ(shared(kernel("  if (j >= m) return;\n  s[j] = 1;\n" + sum + "  s[j + m] = sum;\n")), "");
  EXPECT_NE(shared(kernel("  if (j >= m) return;\n" + sum + "  s[j] = sum;\n")), "") << "stored behind the loop";
  RuleContext overlap = facts();
  overlap.shared_pointers = {0, 1};
  const std::string in_memory = kernel("  if (j >= m) return;\n  for (int i = 0; i < n; ++i) s[j] += a[i * m + j];\n");
  EXPECT_EQ(shared(in_memory, overlap), "");
  auto found = offers("block_reduction", in_memory, k8);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].premises.at(0).text(), HasSubstr("s overlaps no other array"));
}

TEST(BlockReduction, LeavesKernelsWhoseThreadsAreUsedOtherwise) {
  const std::string guard = "  if (j >= m) return;\n  float sum = 0;\n";
  for (auto& body :
       {guard + "  for (int i = threadIdx.y; i < n; i += blockDim.y) sum += a[i * m + j];\n  s[j] = sum;\n",
        guard + "  for (int i = 0; i < n; ++i) sum += a[i * blockDim.x + j];\n  s[j] = sum;\n",
        guard + "  for (int i = 0; i < n; ++i) { if (sum > 9) break; sum += a[i * m + j]; }\n  s[j] = sum;\n",
        guard + "  for (int i = 0; i < n; ++i) { sum += a[i * m + j]; s[i * m + j] = sum; }\n",
        guard + "  while (n-- > 0) sum += a[n * m + j];\n  s[j] = sum;\n",
        guard + "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  __syncthreads();\n  s[j] = sum;\n",
        guard + "  if (n == 3) return;\n  s[j] = 0;\n  if (m == 7) return;\n"
                "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n",
        std::string("  extern __shared__ float all[];\n") + guard +
            "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n",
        guard +
            "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n#ifdef TWICE\n  sum *= 2;\n#endif\n  s[j] = sum;\n",
        guard + "  n += j;\n  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n"})
    EXPECT_EQ(shared(kernel(body)), "") << body;
  const std::string plain = kernel(guard + "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n");
  EXPECT_NE(shared(plain), "");
  RuleContext deep = facts(100, 32);
  deep.geometries[0].block.z = 2;
  EXPECT_EQ(shared(plain, deep), "") << "threads along z that do the same";
  EXPECT_EQ(shared(plain, facts(4096, 256)), "") << "the device is full";
}

TEST(BlockReduction, ReplacesThreadsThatOnlyRepeatTheOthersWork) {
  const std::string plain = kernel(
      "  if (j >= m) return;\n  float sum = 0;\n"
      "  for (int i = 0; i < n; ++i) sum += a[i * m + j];\n  s[j] = sum;\n");
  RuleContext repeating = facts(256, 128);  // As many as fill a device, of which only an eighth does anything else.
  repeating.geometries[0].block.y = 8;
  EXPECT_EQ(shared(plain, repeating), shared(plain));
}

}  // namespace
}  // namespace kernelift::tuner
