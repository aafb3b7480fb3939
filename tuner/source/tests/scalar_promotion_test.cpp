// Tests of scalar_promotion, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ScalarPromotion, KeepsTheElementInARegister) {
  std::string text = after("scalar_promotion", kProduct);
  EXPECT_THAT(text, HasSubstr("    float c_sum = 0;\n    // The whole row.\n    for (int i = 0; i < n; i++) {\n"));
  EXPECT_THAT(text, HasSubstr("c_sum += a[j * n + i] * b[i * n + j];\n    }\n    c[j] = c_sum;\n"));
  EXPECT_THAT(text, HasSubstr("// The whole row.\n"));
}

TEST(ScalarPromotion, TakesThePlaceOfAStoreInFrontOfTheLoop) {
  auto promoted = [](const std::string& before) {
    return after("scalar_promotion", "__global__ void k(float *y, float *z, const int *x, int i, int n) {\n  " +
                                         before + "\n  for (int j = 0; j < n; ++j)\n    y[i] += x[j];\n}\n");
  };
  EXPECT_THAT(promoted("y[i] = 0;"),
              HasSubstr("{\n  float y_sum = 0;\n  for (int j = 0; j < n; ++j)\n    y_sum += x[j];\n"
                        "  y[i] = y_sum;\n}"));
  EXPECT_THAT(promoted("y[i] = x[i] * 2;  // begins"), HasSubstr("  float y_sum = x[i] * 2;  // begins\n  for"));
  EXPECT_THAT(promoted("y[i] = 0;\n  z[i] = 1.5f;"), HasSubstr("  float y_sum = 0;\n  z[i] = 1.5f;\n  for"));
  EXPECT_THAT(promoted("y[i] = 0;\n  z[i] = y[i];"), HasSubstr("  y[i] = 0;\n  z[i] = y[i];\n  float y_sum = y[i];\n"));
  EXPECT_THAT(promoted("y[i] += 1;"), HasSubstr("  y[i] += 1;\n  float y_sum = y[i];\n"));
}

TEST(ScalarPromotion, KeepsAnElementOfSharedMemoryThatTheThreadAddsToNowAndThen) {
  auto promoted = [](const std::string& first, const std::string& more = "") {
    return after("scalar_promotion",
                 "__global__ void k(float *y, const int *x, int n) {\n  __shared__ float s[64];\n" + more +
                     "  int t = threadIdx.x;\n" + first +
                     "  for (int j = t; j < n; j += 64) {\n    if (x[j] > 0) s[t] -= y[j];\n  }\n  __syncthreads();\n"
                     "  y[0] = s[0];\n}\n");
  };
  const std::string loop =
      "  for (int j = t; j < n; j += 64) {\n    if (x[j] > 0) s_sum -= y[j];\n  }\n  s[t] = s_sum;\n  "
      "__syncthreads();\n";
  EXPECT_THAT(promoted("  s[t] = 0;\n  y[n] = 0;\n"), HasSubstr("  float s_sum = 0;\n  y[n] = 0;\n" + loop));
  EXPECT_THAT(promoted("  s[t] += y[t];\n"), HasSubstr("  s[t] += y[t];\n  float s_sum = s[t];\n" + loop));
  EXPECT_EQ(promoted(""), "") << "a thread that adds nothing leaves the element alone";
  EXPECT_EQ(promoted("  if (n > 3) s[t] = 0;\n"), "");
  EXPECT_EQ(promoted("  s[t] = 0;\n  t = n - t;\n"), "") << "another element";
  for (const char* other : {"  float *p = s;\n  p[0] = 1;\n", "  float *p = &s[0];\n  p[0] = 1;\n",
                            "  float &first = s[0];\n  first = 1;\n", "  atomicAdd(&s[n], 1.0f);\n"})
    EXPECT_EQ(promoted("  s[t] = 0;\n", other), "") << other << "leads to it besides";
}

TEST(ScalarPromotion, UnderstandsPlainAssignment) {
  EXPECT_THAT(
      after("scalar_promotion",
            "__global__ void k(double *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] = y[ 0 ] + i;\n}\n"),
      HasSubstr("double y_sum = y[0];\n  for (int i = 0; i < n; ++i)\n    y_sum = y_sum + i;\n  y[0] = y_sum;\n"));
}

TEST(ScalarPromotion, LeavesElementsWhoseIndexChangesInTheLoop) {
  EXPECT_EQ(after("scalar_promotion",
                  "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[i] += 1;\n}\n"),
            "");
}

TEST(ScalarPromotion, LeavesArraysThatTheLoopReadsElsewhere) {
  EXPECT_EQ(after("scalar_promotion",
                  "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += y[i];\n}\n"),
            "");
}

TEST(ScalarPromotion, LeavesLoopsThatReturn) {
  EXPECT_EQ(after("scalar_promotion",
                  "__global__ void k(float *y, int n) {\n  for (int i = 0; i < n; ++i) {\n    y[0] += i;\n    if (y[0] "
                  "> 9) return;\n  }\n}\n"),
            "");
}

TEST(ScalarPromotion, WorksInTemplates) {
  EXPECT_THAT(
      after(
          "scalar_promotion",
          "template <class T> __global__ void k(T *y, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += T(i);\n}\n"),
      HasSubstr("auto y_sum = y[0];"));
}

TEST(ScalarPromotion, PromotesAllAccumulatorsOfALoopAtOnce) {
  std::string text = after("scalar_promotion",
                           "__global__ void k(float *x, float *y, int n) {\n  for (int i = 0; i < n; ++i) {\n    x[0] "
                           "+= i;\n    y[n] -= i;\n  }\n}\n");
  EXPECT_THAT(text, HasSubstr("  float x_sum = x[0];\n  float y_sum = y[n];\n  for"));
  EXPECT_THAT(text, HasSubstr("  }\n  x[0] = x_sum;\n  y[n] = y_sum;\n}\n"));
}

TEST(ScalarPromotion, AcceptsAnIndexComputedByAPureMethod) {
  EXPECT_THAT(after("scalar_promotion",
                    R"(struct Extent { int nx; __device__ int at(int x, int y) const { return y * nx + x; } };
template <class T> __device__ T flow(const T *p, int i) { return p[i] * 2; }
template <class T> __global__ void k(T *r, const T *p, Extent e, int x) {
  for (int a = 0; a < 3; ++a) {
    if (a == x) continue;
    r[e.at(x, 1)] += flow(p, a);
  }
}
)"),
              HasSubstr("auto r_sum = r[e.at(x, 1)];\n  for"));
}

TEST(ScalarPromotion, LeavesElementsWhoseAddressIsPassed) {
  EXPECT_EQ(after("scalar_promotion",
                  "__device__ void add(float *at, float x) { at[1] += x; }\n__global__ void k(float *y, int n) {\n  "
                  "for (int i = 0; i < n; ++i) {\n    y[0] += i;\n    add(&y[0], i);\n  }\n}\n"),
            "");
}

TEST(ScalarPromotion, LeavesIndicesReadFromMemory) {
  EXPECT_EQ(
      after("scalar_promotion",
            "__global__ void k(float *y, int *at, int n) {\n  for (int i = 0; i < n; ++i)\n    y[at[0]] += i;\n}\n"),
      "");
}

TEST(ScalarPromotion, LeavesLoopsThatSynchroniseInACalledFunction) {
  EXPECT_EQ(after("scalar_promotion",
                  "__device__ void wait() { __syncthreads(); }\n__global__ void k(float *y, int n) {\n  for (int i = "
                  "0; i < n; ++i) {\n    y[0] += i;\n    wait();\n  }\n}\n"),
            "");
}

TEST(ScalarPromotion, AccessesAnElementThatMayNotExistOnlyIfTheLoopHasIterations) {
  auto with = [](const std::string& before, const std::string& element, const std::string& to = "n") {
    return after(
        "scalar_promotion",
        "__global__ void k(float *y, const int *slot, int n) {\n  int t = threadIdx.x;\n  int s = slot[t];\n  " +
            before + "for (int i = 0; i < " + to + "; ++i)\n    y[" + element + "] += i;\n}\n");
  };
  EXPECT_THAT(
      with("", "s"),
      HasSubstr("  const bool has_iterations = 0 < n;\n  float y_sum = has_iterations ? y[s] : 0;\n  for (int i = 0; "
                "i < n; ++i)\n    y_sum += i;\n  if (has_iterations) y[s] = y_sum;\n"))
      << "s may be -1, for a row without elements";
  EXPECT_THAT(with("", "t - 1"), HasSubstr("has_iterations ? y[t - 1]"));
  EXPECT_THAT(with("", "t"), HasSubstr("float y_sum = y[t];"));
  EXPECT_THAT(with("", "s", "3"), HasSubstr("float y_sum = y[s];")) << "the loop has iterations";
  EXPECT_THAT(with("y[s] = 0;\n  ", "s"), HasSubstr("float y_sum = 0;\n")) << "the element exists";
  EXPECT_THAT(with("y[s] = 0;\n  s = -1;\n  ", "s"), HasSubstr("has_iterations ? y[s]"));
  EXPECT_THAT(with("if (s > 0) y[s] = 0;\n  ", "s"), HasSubstr("has_iterations ? y[s]"));
  EXPECT_EQ(with("", "s", "slot[--s]"), "") << "the condition has side effects";
}

TEST(ScalarPromotion, AccessesNothingForAThreadWithoutIterations) {
  const std::string rows =
      after("scalar_promotion", R"(__global__ void k(float *y, const float *a, const int *first, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, start = 0, end = 0;
  if (i < n) { start = first[i]; end = first[i + 1]; }
  for (int j = start; j < end; ++j) y[i] += a[j];
}
)");
  EXPECT_THAT(rows, HasSubstr("const bool has_iterations = start < end;\n  float y_sum = has_iterations ? y[i] : 0;\n  "
                              "for (int j = start; j "
                              "< end; ++j) y_sum += a[j];\n  if (has_iterations) y[i] = y_sum;"));
  EXPECT_THAT(after("scalar_promotion",
                    "__global__ void k(float *y, const int *first, int n) {\n  int i = first[threadIdx.x];\n  for "
                    "(unsigned j = i; j < n; ++j) y[i] += j;\n}\n"),
              HasSubstr("const bool has_iterations = (unsigned int)i < n;"))
      << "-1 becomes the largest unsigned number";
  const std::string lanes = after("scalar_promotion", R"(__global__ void k(float *y, const float *a, int m) {
  int lane = threadIdx.x % 32, group = threadIdx.x / 32;
  for (int j = lane * 64; j < m; ++j) y[group] += a[j];
}
)");
  EXPECT_THAT(lanes, HasSubstr("const bool has_iterations = (lane * 64) < m;"))
      << "a lane without iterations would overwrite the sum of the others";
  const std::string memory =
      after("scalar_promotion", R"(__global__ void k(float *y, const float *a, const int *first) {
  int i = threadIdx.x;
  for (int j = first[i]; j < first[i + 1]; ++j) y[i] += a[j];
}
)");
  EXPECT_THAT(memory, HasSubstr("const bool has_iterations = first[i] < first[i + 1];\n"));
}

TEST(ScalarPromotion, LeavesElementsThatAnIterationMaySkip) {
  auto in = [](const std::string& loop) {
    return after(
        "scalar_promotion",
        "__global__ void k(float *y, const float *a, int n, int m) {\n  int i = threadIdx.x;\n  " + loop + "\n}\n");
  };
  EXPECT_EQ(in("for (int j = 0; j < m; ++j) {\n    if (i >= n) break;\n    y[i] += a[j];\n  }"), "");
  EXPECT_EQ(in("for (int j = 0; j < m; ++j)\n    i < n && (y[i] += a[j]);"), "");
  EXPECT_EQ(in("for (int j = 0; j < m; ++j)\n    for (int l = 0; l < n - i; ++l)\n      if (a[l] > 0) continue;\n      "
               "else y[i] += a[l];"),
            "");
  EXPECT_THAT(in("y[i] = 0;\n  for (int j = 0; j < m; ++j) {\n    if (a[j] < 0) break;\n    y[i] += a[j];\n  }"),
              HasSubstr("y_sum += a[j]"));
  const std::string nest =
      in("for (int j = 0; j < m; ++j) {\n    for (int l = 0; l < n - i; ++l)\n      y[i] += a[l];\n  }");
  EXPECT_THAT(nest, AllOf(HasSubstr("has_iterations"), Not(HasSubstr("y_sum = y[i];\n  for (int j"))))
      << "only the inner loop is rewritten";
  EXPECT_THAT(in("for (int j = 0; j < m; ++j)\n    for (int l = 0; l < n; ++l)\n      y[i] += a[l];"),
              HasSubstr("float y_sum = y[i];\n  for (int j"));
}

TEST(ScalarPromotion, LeavesPointersDerivedFromOneThatTheLoopReads) {
  auto in = [](const std::string& body) {
    return after("scalar_promotion", "__global__ void k(float *a, float *b, const int *at, int n) {\n" + body + "}\n");
  };
  const std::string row = "  float *row = a + threadIdx.x * n;\n  float *mine = row + 1;\n",
                    head = "  for (int i = 0; i < n; ++i)\n    mine[0] += ";
  EXPECT_EQ(in(row + head + "a[at[i]];\n"), "");
  EXPECT_EQ(in(row + head + "row[at[i]];\n"), "");
  EXPECT_NE(in(row + head + "b[at[i]];\n"), "");
  EXPECT_EQ(in("  float *mine;\n  mine = a + 1;\n" + head + "a[at[i]];\n"), "");
}

TEST(ScalarPromotion, LeavesPointerParametersThatACallAliases) {
  auto called = [](const std::string& with) {
    return after(
        "scalar_promotion",
        "__device__ void add(float *y, const float *x, int n) {\n  for (int i = 0; i < n; ++i)\n    y[0] += x[i];\n}\n"
        "__global__ void k(float *a, float *b, int n) {\n  add(" +
            with + ", n);\n}\n");
  };
  EXPECT_NE(called("a + threadIdx.x, b"), "");
  EXPECT_EQ(called("a + threadIdx.x, a"), "");
}

TEST(ScalarPromotion, LeavesConditionalAccesses) {
  auto with = [](const std::string& body, const RuleContext& known = facts()) {
    return after("scalar_promotion",
                 "__global__ void k(float *y, const float *x, int n) {\n  for (int i = 0; i < n; ++i) {\n    " + body +
                     "\n  }\n}\n",
                 {}, 0, known);
  };
  EXPECT_NE(with("y[n] += x[i];"), "");
  EXPECT_EQ(with("if (x[i] > 0) y[n] += x[i];"), "") << "the element may not exist, or belong to another thread";
  EXPECT_EQ(with("if (x[i] > 0) continue;\n    y[n] += x[i];"), "");
  EXPECT_EQ(with("if (n > 7) continue;\n    y[n] += x[i];"), "");
  EXPECT_NE(with("if (i == 7) continue;\n    y[n] += x[i];"), "") << "only some iterations are skipped";
  RuleContext shared = facts();
  shared.shared_pointers = {0};
  EXPECT_EQ(with("y[n] += x[i];", shared), "") << "x may lead to y[n]";
}

}  // namespace
}  // namespace kernelift::tuner
