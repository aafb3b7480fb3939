// Constants in array extents: which may be changed freely, and which may only grow.
#include <gtest/gtest.h>

#include "extractor/scan/scan.h"
#include "extractor/source/tests/test_app.h"

namespace kernelift::extractor {
namespace {

using kernelift::extractor::apps::knob;
using kernelift::extractor::apps::TestApp;

/// How M, an extent in a kernel with this body, may be changed: "grows" (only), "free" or "no knob". The kernel is
/// launched with blocks of `block` threads.
std::string extent(const std::string& body, const std::string& before = "", const std::string& block = "B") {
  TestApp app;
  app.unit("a.cu", "#define M 64\n#define B 128\n" + before +
                       "__global__ void k(float* x, int* at, int n) {\n  int i = blockIdx.x * B + threadIdx.x;\n  "
                       "float held[M];\n  " +
                       body + "\n}\nvoid run(int n, float* x, int* at) { k<<<(n + " + block + " - 1) / " + block +
                       ", " + block + ">>>(x, at, n); }\n");
  auto index = app.scan();
  auto* found = knob(index, "M");
  return !found ? "no knob" : found->grows_only ? "grows" : "free";
}

TEST(Capacities, AreFreeIfLoopsRemaindersOrThreadsBoundEveryIndex) {
  for (auto* body : {"for (int j = 0; j < n; j += M) for (int k = 0; k < M; ++k) held[k] = x[j + k];",
                     "held[i % M] = x[i];", "held[i & (M - 1)] = x[i];",
                     "for (int j = 0; j < n; j += M) for (int k = i; k < M && j + k < n; k += 32) held[k] = held[k / "
                     "2] + held[M - 1 - k];",
                     "const int slot = i % M;\n  held[slot] = x[slot * M];",
                     "for (int h = M / 2; h > 0; h /= 2) held[h] = x[h * M];", "held[min(n, M - 1)] = x[n / M];"})
    EXPECT_EQ(extent(body), "free") << body;
}

TEST(Capacities, MayOnlyGrowIfDataDecideHowManyElementsAreStored) {
  for (auto* body :
       {"int count = 0;\n  for (int j = 0; j < n; ++j) if (x[j] > 0) held[count++] = x[j];\n  x[i] = held[0];",
        "int head = 0;\n  for (int j = 0; j < n; ++j) held[head++ % M] = x[j];",
        "int head = n;\n  for (int j = 0; j < n; ++j) { held[head & (M - 1)] = x[j]; head += at[j]; }",
        "const int from = at[i];\n  held[from + 1] = x[i];",
        "for (int probe = 0; probe < n; ++probe) held[(at[i] + probe) % M] = x[i];",
        "typedef int Deep[M];\n  Deep deep;\n  int top = 0;\n  deep[top++] = n;\n  held[i % M] = deep[0];",
        "held[at[i]] = x[i];", "for (int k = 0; k < n; ++k) held[k] = x[k];", "held[7] = x[i];",
        "int k = 0;\n  while (k < M) { held[k] = x[k]; k += at[k] / M; }", "int k = 0;\n  step(&k);\n  held[k] = x[i];",
        "fill(held);"})
    EXPECT_EQ(extent(body, "__device__ void step(int* k);\n__device__ void fill(float* held);\n"), "grows") << body;
  EXPECT_EQ(extent("push(held, i);",
                   "struct Stack { float items[M]; int top; __device__ void push(float v) { items[top++] = v; } "
                   "};\n__device__ void push(float*, int);\n"),
            "grows");
  EXPECT_EQ(extent("held[i % M] = 0;\n  Stack<float, M> stack;\n  stack.push(x[i]);",
                   "template <class T, int CAP> struct Stack { T items[CAP]; int top = 0; __device__ void push(T v) { "
                   "items[top++] = v; } };\n"),
            "grows")
      << "through a template's parameter";
}

TEST(Capacities, MayOnlyGrowIfAKernelIsLaunchedWithAnotherBlockThanItsArrayHasElements) {
  auto grows = [](const std::string& block) {
    TestApp app;
    app.unit("a.cu",
             "#define B 128\n"
             "__global__ void k(float* x, int n) { int i = blockIdx.x * B + threadIdx.x; if (i < n) x[i] = 0; }\n"
             "__global__ void sum(float* x) { __shared__ float t[B]; t[threadIdx.x] = x[threadIdx.x]; "
             "__syncthreads(); x[threadIdx.x] = t[0]; }\n"
             "void run(int n, float* x) { k<<<(n + B - 1) / B, B>>>(x, n); sum<<<1, " +
                 block + ">>>(x); }\n");
    auto index = app.scan();
    return knob(index, "B")->grows_only;
  };
  EXPECT_FALSE(grows("B"));
  EXPECT_TRUE(grows("128"));
}

TEST(Capacities, IncludeExtentsOfTemplatesWithDependentMembers) {
  TestApp app;
  app.unit("a.cu",
           "#define M 64\ntemplate <class T, int CAP> struct Stack { T items[CAP]; int top = 0; };\n"
           "template <class T> __global__ void k(T* x, int n) {\n  Stack<T, M> stack;\n  for (int j = 0; j < n; ++j) "
           "if (x[j] > 0) stack.items[stack.top++] = x[j];\n  x[n / M] = stack.items[0];\n}\n"
           "void run(float* x, int n) { k<float><<<1, 32>>>(x, n); }\n");
  auto index = app.scan();
  ASSERT_TRUE(knob(index, "M"));
  EXPECT_TRUE(knob(index, "M")->grows_only);
}

TEST(Capacities, AreNoKnobsIfTheKernelStopsWhenTheArrayIsFull) {
  EXPECT_EQ(
      extent(
          "int count = 0;\n  for (int j = 0; j < n; ++j) if (x[j] > 0 && count < M) { held[count] = x[j]; ++count; }"),
      "no knob")
      << "a larger array gives another answer";
}

TEST(Capacities, AreNotBoundedByTheBlockSizeInASharedArraysExtent) {
  EXPECT_EQ(extent("__shared__ float all[B / 32 * M];\n  float* mine = all + threadIdx.x / 32 * M;\n  int count = 0;\n "
                   " for (int j = 0; j < n; ++j) if (x[j] > 0) mine[count++] = x[j];\n"
                   "  held[i % M] = mine[0];"),
            "grows");
}

TEST(Capacities, TakeNoExponentialTimeIfEachIndexUsesThePreviousOneTwice) {
  std::string body = "int i0 = i;\n";
  for (int k = 1; k < 60; ++k)
    body +=
        "  int i" + std::to_string(k) + " = i" + std::to_string(k - 1) + " + (i" + std::to_string(k - 1) + " >> 1);\n";
  EXPECT_EQ(extent(body + "  held[i59 % M] = held[(i59 + i58) % M] = n / M;"), "free");
}

TEST(Capacities, AreFreeIfTheLaunchTakesItsBlockSizeFromThem) {
  const std::string sum =
      "__shared__ float part[M];\n  part[threadIdx.x] = x[i];\n  for (int h = blockDim.x / 2; h > 0; h /= 2) if "
      "(threadIdx.x < h) part[threadIdx.x] += part[threadIdx.x + h];\n"
      "  held[i % M] = part[0];";
  EXPECT_EQ(extent(sum, "", "M"), "free");
  EXPECT_EQ(
      extent("const int t = threadIdx.x;\n  __shared__ float part[M];\n  part[t] = x[i];\n  held[i % M] = part[t / 2];",
             "", "M"),
      "free");
  EXPECT_EQ(extent(sum, "", "B"), "grows") << "blocks of another size";
}

}  // namespace
}  // namespace kernelift::extractor
