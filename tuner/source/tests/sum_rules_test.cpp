// Claims about rules for sums, as text before and after: terms shared by blocks, by the threads beside a lone one, or
// by registers. Every text must parse again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Bindings k16{{"blocks", 16}};

std::string kernel(const std::string& body, const std::string& before = "") {
  return before + "__global__ void k(float *c, const float *a, int *count, int n) {\n" +
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "}\n";
}

std::string split(const std::string& text) { return after("split_k", text, k16); }

const std::string kLoop = "  float s = 0;\n  for (int j = 0; j < n; ++j) s += a[i * n + j];\n";

TEST(SplitK, SharesTheTermsOfASumThatIsAddedToMemory) {
  const std::string text = kernel(kLoop + "  c[i] += s;\n");
  const std::string shared = split(text);
  EXPECT_THAT(shared, HasSubstr("for (int j = blockIdx.y; j < n; j += gridDim.y) s += a[i * n + j];\n"));
  EXPECT_THAT(shared, HasSubstr("  atomicAdd(&c[i], s);\n"));
  auto found = offers("split_k", text, k16);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "gy * 16");
  EXPECT_EQ(found[0].place, "the loop over j");
  std::vector<std::string> premises;
  for (auto& one : found[0].premises) premises.push_back(one.text());
  EXPECT_THAT(premises, ElementsAre("gridDim.y == 1 && blockDim.y == 1", "c overlaps no other array"));
}

TEST(SplitK, AsksNothingOfAnAxisThatNoLaunchUses) {
  RuleContext known = facts();
  known.single = {false, true, true};
  auto found = offers("split_k", kernel(kLoop + "  c[i] += s;\n"), k16, known);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].premises.size(), 1u);
}

TEST(SplitK, AddsWhatWasSubtractedScaledOrSpelledAsASum) {
  EXPECT_THAT(split(kernel(kLoop + "  c[i] -= s;\n")), HasSubstr("atomicAdd(&c[i], -s);"));
  EXPECT_THAT(split(kernel(kLoop + "  c[i] = c[i] + 0.5f * s;\n")), HasSubstr("atomicAdd(&c[i], 0.5f * s);"));
  EXPECT_THAT(split(kernel(kLoop + "  c[i] = c[i] - s / n;\n")), HasSubstr("atomicAdd(&c[i], -(s / n));"));
  EXPECT_THAT(split(kernel("  double s = 0;\n  for (int j = 0; j < n; ++j) s += a[j];\n  *c += s;\n")),
              HasSubstr("atomicAdd(&*c, (float)s);"));
}

TEST(SplitK, LetsASumBeginWithZeroThatBeganWithWhatItIsStoredTo) {
  const std::string shared = split(kernel(
      "  if (i < n) {\n    float s = c[i];\n    for (int j = 0; j < n; ++j) s -= a[i * n + j];\n    c[i] = s;\n  }\n"));
  EXPECT_THAT(shared, HasSubstr("    float s = 0;\n"));
  EXPECT_THAT(shared, HasSubstr("    atomicAdd(&c[i], s);\n"));
}

TEST(SplitK, SharesASumInMemoryOnceScalarPromotionKeepsItInARegister) {
  const std::string text =
      kernel("  if (i < n) {\n    for (int j = 0; j < n; ++j)\n      c[i] += a[j * n + i];\n  }\n");
  EXPECT_EQ(split(text), "") << "an atomic addition for every term";
  const std::string promoted = after("scalar_promotion", text);
  ASSERT_NE(promoted, "");
  EXPECT_THAT(split(promoted), HasSubstr("j += gridDim.y"));
  EXPECT_THAT(split(promoted), HasSubstr("atomicAdd(&c[i], "));
}

TEST(SplitK, FollowsSumsThroughSharedMemoryShufflesAndFunctions) {
  const std::string shared = split(
      kernel("  __shared__ float part[32];\n  float s = 0;\n"
             "  for (int j = threadIdx.x; j < n; j += blockDim.x) s += a[j];\n"
             "  s = of_warp(s);\n  part[threadIdx.x % 32] = s;\n  __syncthreads();\n"
             "  for (int h = 16; h > 0; h /= 2) {\n"
             "    if (threadIdx.x < h) part[threadIdx.x] = s = s + part[threadIdx.x + h];\n    __syncthreads();\n  }\n"
             "  if (threadIdx.x == 0) {\n    float all = 0;\n    for (int w = 0; w < 4; ++w) all += part[w];\n"
             "    atomicAdd(c, all);\n  }\n",
             "__device__ float of_warp(float v) {\n  for (int o = 16; o > 0; o /= 2) v += "
             "__shfl_xor_sync(0xffffffffu, v, o);\n  return v;\n}\n"));
  EXPECT_THAT(shared, HasSubstr("for (int j = threadIdx.x + blockDim.x * blockIdx.y; j < n; j += blockDim.x * "
                                "gridDim.y) s += a[j];"));
  EXPECT_THAT(shared, HasSubstr("for (int w = 0; w < 4; ++w) all += part[w];"))
      << "what all blocks do with their parts";
}

TEST(SplitK, SharesEveryLoopWhoseSumsAreAdded) {
  const std::string shared = split(
      kernel(kLoop + "  int m = 0;\n  for (int j = 0; j < n; ++j) m += a[j] > 0;\n  c[i] += s;\n  count[i] += m;\n"));
  EXPECT_THAT(shared, HasSubstr("s += a[i * n + j]"));
  EXPECT_THAT(shared, HasSubstr("for (int j = blockIdx.y; j < n; j += gridDim.y) m += a[j] > 0;"));
  EXPECT_THAT(shared, HasSubstr("atomicAdd(&count[i], m);"));
}

TEST(SplitK, AddsNothingFromManyBlocksOfWhichMoreIsMade) {
  for (const char* rest : {"c[i] = s;", "c[i] += s * s;", "c[i] += s + 1;", "c[i] *= s;", "if (s > 0) c[i] += s;",
                           "c[i] += s; count[i] = 1;", "c[i] += s; c[i + 1] += c[i];", "count[i] += (int)s;",
                           "count[i] += s;", "s = fmaxf(s, 0); c[i] += s;", "c[i] += s; c[i] += 1;",
                           "float t = atomicAdd(c, s);", "atomicMax(count, n); c[i] += s;", "c[(int)s] += s;",
                           "float *p = &s; c[i] += *p;", "for (int t = 0; t < s; ++t) c[i] += s;"})
    EXPECT_THAT(split(kernel(kLoop + "  " + rest + "\n")), Not(HasSubstr("atomicAdd(&c"))) << rest;
  EXPECT_THAT(split(kernel("  float s = 1;\n  for (int j = 0; j < n; ++j) s += a[j];\n  c[i] += s;\n")),
              Not(HasSubstr("atomicAdd(&c")));
  EXPECT_THAT(split(kernel("  float s = c[i];\n  for (int j = 0; j < n; ++j) s += a[j];\n  c[i + 1] = s;\n")),
              Not(HasSubstr("atomicAdd(&c")));
  EXPECT_THAT(
      split(kernel("  float s = c[i];\n  for (int j = 0; j < n; ++j) s += a[j];\n  for (int t = 0; t < 2; ++t)\n"
                   "    c[i] = s;\n  c[i] = 2 * s;\n")),
      Not(HasSubstr("atomicAdd(&c")));
  EXPECT_THAT(split(kernel("  float s = 0;\n  for (int j = 0; j < n; ++j) s = fmaxf(s, a[j]);\n  c[i] += s;\n")),
              Not(HasSubstr("atomicAdd(&c")));
}

TEST(SplitK, LetsTheLastOneThatArrivesPutTogetherWhatIsStored) {
  EXPECT_EQ(split(kernel(kLoop + "  c[i] = s > 0 ? s : 0;\n")),
            kernel("  float s = 0;\n"
                   "  // Blocks along y share the iterations; the last one that arrives puts together what all found.\n"
                   "  static float s_parts[16][65536];\n  static unsigned int arrived[65536];\n"
                   "  const unsigned int thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "  const unsigned int threads = gridDim.x * blockDim.x;\n"
                   "  const unsigned int parts = threads <= 65536 ? gridDim.y : 1;\n"
                   "  if (blockIdx.y >= parts) return;\n"
                   "  for (int j = blockIdx.y; j < n; j += parts) s += a[i * n + j];\n"
                   "  if (parts > 1) {\n    s_parts[blockIdx.y][thread] = s;\n    __threadfence();\n"
                   "    if (atomicInc(&arrived[thread], parts - 1) < parts - 1) return;\n    __threadfence();\n"
                   "    s = s_parts[0][thread];\n"
                   "    for (unsigned int part = 1; part < parts; ++part) s += s_parts[part][thread];\n  }\n"
                   "  c[i] = s > 0 ? s : 0;\n"));
  auto found = offers("split_k", kernel(kLoop + "  c[i] = s;\n"), k16);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gy").text(), "gy * 16");
  std::vector<std::string> premises;
  for (auto& one : found[0].premises) premises.push_back(one.text());
  EXPECT_THAT(premises, ElementsAre("gridDim.y == 1 && blockDim.y == 1 && gridDim.z == 1 && blockDim.z == 1",
                                    "no two launches of the kernel run at the same time"));
}

TEST(SplitK, KeepsNothingWhereLaunchesMayRunAtTheSameTime) {
  RuleContext streams = facts();
  streams.one_after_other = false;
  std::string reason;
  streams.declined = [&](const Rule&, const std::string& sentence) { reason = sentence; };
  EXPECT_TRUE(offers("split_k", kernel(kLoop + "  c[i] = s;\n"), k16, streams).empty());
  EXPECT_THAT(reason, HasSubstr("launches at the same time would share what its blocks keep"));
}

TEST(SplitK, LetsOnePartBeginWithWhatTheSumBeginsWith) {
  const std::string shared = split(kernel(
      "  if (i < n) {\n    float s = c[i], most = a[0];\n    for (int j = 0; j < n; ++j) {\n      s += a[i * n + j];\n"
      "      most = fmaxf(most, a[i * n + j]);\n    }\n    c[i] = s / most;\n  }\n"));
  EXPECT_THAT(shared, HasSubstr("    if (blockIdx.y > 0) s = 0;\n    for (int j = blockIdx.y;"));
  EXPECT_THAT(shared, HasSubstr("        s += s_parts[part][thread];\n"));
  EXPECT_THAT(shared, HasSubstr("most = fmaxf(most, most_parts[part][thread]);"));
}

TEST(SplitK, LetsTheLastBlockGoOnWhereItsThreadsWaitForEachOther) {
  const std::string rest =
      "  __shared__ float row[256];\n  row[threadIdx.x] = s;\n  __syncthreads();\n  c[i] = row[255 - threadIdx.x];\n";
  const std::string shared = split(kernel("  if (blockIdx.x >= n) return;\n" + kLoop + rest));
  EXPECT_THAT(shared,
              HasSubstr("    __syncthreads();\n"
                        "    if (threadIdx.x == 0) is_last = atomicInc(&arrived[blockIdx.x], parts - 1) == parts "
                        "- 1;\n    __syncthreads();\n    if (!is_last) return;\n    __threadfence();\n"));
  EXPECT_EQ(split(kernel("  if (i >= n) return;\n" + kLoop + rest)), "") << "not all threads arrive";
}

TEST(SplitK, LeavesLoopsThatRunOftenOrAfterWritesOrWhereBlocksWaitForEachOther) {
  for (const char* body :
       {"  for (int r = 0; r < 4; ++r) {\n    float s = 0;\n    for (int j = 0; j < n; ++j) s += a[j];\n"
        "    c[r] = s;\n  }\n",
        "  float s = 0;\n  count[i] = 1;\n  for (int j = 0; j < n; ++j) s += a[j];\n  c[i] = s;\n",
        "  if (i < n) {\n    float s = 0;\n    for (int j = 0; j < n; ++j) s += a[j];\n    c[i] = s;\n  } else {\n"
        "    c[i] = 0;\n  }\n",
        "  if (i < n) {\n    float s = 0;\n    for (int j = 0; j < n; ++j) s += a[j];\n    c[i] = s;\n  }\n"
        "  count[i] += 1;\n",
        "  float s = 0;\n  for (int j = 0; j < 20; ++j) s += a[j];\n  c[i] = s;\n",
        "  while (*(volatile int *)count < 1) {}\n  float s = 0;\n  for (int j = 0; j < n; ++j) s += a[j];\n"
        "  c[i] = s;\n"})
    EXPECT_EQ(split(kernel(body)), "") << body;
  const std::string shared = split(kernel(kLoop + "  c[i] = s;\n"));
  EXPECT_EQ(split(shared), "") << "blocks that tell each other something";
  RuleContext many = facts(512, 256);
  EXPECT_EQ(after("split_k", kernel(kLoop + "  c[i] = s;\n"), k16, 0, many), "") << "too much to keep";
  EXPECT_NE(after("split_k", kernel(kLoop + "  c[i] = s;\n"), {{"blocks", 4}}, 0, many), "");
}

TEST(SplitK, LeavesLoopsToEveryBlockWhoseSumsAreNeededForTerms) {
  const std::string shared =
      split(kernel(kLoop + "  float d = 0;\n  for (int j = 0; j < n; ++j) d += a[j] - s;\n  c[i] += d;\n"));
  EXPECT_THAT(shared, HasSubstr("for (int j = 0; j < n; ++j) s += a[i * n + j];"));
  EXPECT_THAT(shared, HasSubstr("for (int j = blockIdx.y; j < n; j += gridDim.y) d += a[j] - s;"));
}

TEST(SplitK, NeedsAnIdleAxisAndFewThreads) {
  const std::string text = kernel(kLoop + "  c[i] += s;\n");
  EXPECT_EQ(after("split_k", text, k16, 0, facts(1024, 256)), "") << "as many threads as the device holds";
  RuleContext planes = facts();
  for (auto& geometry : planes.geometries) geometry.grid.y = 2, geometry.grid.z = 2;
  EXPECT_EQ(after("split_k", text, k16, 0, planes), "");
}

const Bindings kFour{{"sums", 4}};

TEST(MultipleAccumulators, KeepsAdditionsFromWaitingForEachOther) {
  EXPECT_THAT(after("multiple_accumulators", kernel(kLoop + "  c[i] = s;\n"), kFour),
              HasSubstr("  {\n    float s_parts[4] = {};\n    int j = 0;\n    for (; j + 3 < n; j += 4) {\n"
                        "      #pragma unroll\n"
                        "      for (int part = 0; part < 4; ++part) s_parts[part] += a[i * n + (j + part)];\n"
                        "    }\n    for (; j < n; ++j) s += a[i * n + j];\n"
                        "    s += s_parts[0] + s_parts[1] + s_parts[2] + s_parts[3];\n  }\n"));
}

TEST(MultipleAccumulators, KeepsStridesAndExtrema) {
  const std::string text = kernel(
      "  int m = 0, j;\n  for (j = threadIdx.x; j <= n; j += 2) {\n    int v = count[j];\n    m = max(m, v);\n  }\n"
      "  count[i] = m;\n");
  const std::string changed = after("multiple_accumulators", text, {{"sums", 2}});
  EXPECT_THAT(changed, HasSubstr("int m_parts[2] = {m, m};\n    j = threadIdx.x;\n"
                                 "    for (; j + 1 * 2 <= n; j += 2 * 2) {"));
  EXPECT_THAT(changed, HasSubstr("      for (int part = 0; part < 2; ++part) {\n        int v = count[j + 2 * part];\n"
                                 "        m_parts[part] = max(m_parts[part], v);\n      }\n    }\n"
                                 "    for (; j <= n; j += 2) {\n      int v = count[j];\n"))
      << "each as deep as what it is in";
  EXPECT_THAT(changed, HasSubstr("m = max(m, m_parts[0]);\n    m = max(m, m_parts[1]);"));
}

TEST(MultipleAccumulators, AskForEachPartWhereSizesMultiplyTheCounter) {
  EXPECT_THAT(after("multiple_accumulators",
                    kernel("  float s = 0;\n  for (int j = 0; j < n; ++j) s += a[j * n + i];\n  c[i] = s;\n"), kFour),
              HasSubstr("    for (int j = 0; j < n; j += 4) {\n      #pragma unroll\n"
                        "      for (int part = 0; part < 4; ++part)\n"
                        "        if (j + part < n) s_parts[part] += a[(j + part) * n + i];\n    }\n    s += "));
  EXPECT_THAT(after("multiple_accumulators",
                    kernel("  float s = 0;\n  for (int j = threadIdx.x; j < n; j += blockDim.x) s += a[j];\n  c[i] = "
                           "s;\n"),
                    kFour),
              HasSubstr("if (j + (int)(blockDim.x) * part < n) s_parts[part] += a[j + (int)(blockDim.x) * part];"));
}

TEST(MultipleAccumulators, LeavesOtherLoopsAndFullGpus) {
  for (const char* body :
       {"  float s = 0;\n  for (int j = 0; j < n; ++j) { s += a[j]; c[j] = s; }\n",
        "  float s = 0;\n  for (int j = 0; j < n; ++j) { if (a[j] < 0) break; s += a[j]; }\n  c[i] = s;\n",
        "  float s = 0;\n  for (int l = 0; l < n; ++l)\n    s *= 2;\n  c[i] = s;\n"})
    EXPECT_EQ(after("multiple_accumulators", kernel(body), kFour), "") << body;
  EXPECT_EQ(after("multiple_accumulators", kernel(kLoop + "  c[i] = s;\n"), kFour, 0, facts(1024, 256)), "");
  RuleContext cpu = facts(1024, 256);
  cpu.on_cpu = true;
  EXPECT_NE(after("multiple_accumulators", kernel(kLoop + "  c[i] = s;\n"), kFour, 0, cpu), "");
}

RuleContext lone(uint32_t blocks = 1) {
  RuleContext known = facts(blocks, 1);
  return known;
}

const std::string kTotal =
    "__global__ void k(const float *x, float *out, int n) {\n  float s = 0;\n"
    "  for (int i = 0; i < n; ++i) s += x[i];\n  *out = s;\n}\n";

TEST(ThreadToWarp, LetsOthersJoinTheOnlyThreadOfABlock) {
  const std::string warp = after("thread_to_warp", kTotal, {{"threads", 32}}, 0, lone());
  EXPECT_THAT(warp, HasSubstr("  const int lane = threadIdx.x;\n"));
  EXPECT_THAT(warp, HasSubstr("for (int i = lane; i < n; i += 32) s += x[i];"));
  EXPECT_THAT(warp, HasSubstr("  if (lane == 0) *out = s;\n"));
  const std::string block = after("thread_to_warp", kTotal, {{"threads", 256}}, 0, lone());
  EXPECT_THAT(block, HasSubstr("for (int i = thread; i < n; i += 256) s += x[i];"));
  EXPECT_THAT(block, HasSubstr("  __shared__ float s_parts[8];\n  if (thread % 32 == 0) s_parts[thread / 32] = s;\n"
                               "  __syncthreads();\n  s = s_parts[0];\n  for (int warp = 1; warp < 8; ++warp)\n"
                               "    s += s_parts[warp];\n  __syncthreads();\n"));
  RuleContext unknown = lone();
  unknown.most_threads = 0;
  auto found = offers("thread_to_warp", kTotal, {{"threads", 256}}, unknown);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("bx").text(), "256");
  ASSERT_EQ(found[0].premises.size(), 1u);
  EXPECT_EQ(found[0].premises[0].text(), "blockDim.x == 1 && blockDim.y == 1 && blockDim.z == 1");
}

TEST(ThreadToWarp, KnowsTheNumbersOfALoneThread) {
  EXPECT_THAT(after("thread_to_warp", kernel(kLoop + "  c[i] = s;\n"), {{"threads", 32}}, 0, lone(64)),
              HasSubstr("int i = blockIdx.x * 1 + 0;"));
  EXPECT_EQ(after("thread_to_warp", kernel(kLoop + "  c[i] = s;\n"), {{"threads", 32}}), "") << "blocks of 256 threads";
  EXPECT_EQ(after("thread_to_warp", "__global__ void k(float *x) {\n  *x = 1;\n}\n", {{"threads", 32}}, 0, lone()), "");
}

const std::string kFirst =
    "__global__ void k(const float *x, float *out, int n) {\n  __shared__ float part[256];\n"
    "  const int t = threadIdx.x;\n  part[t] = x[blockIdx.x * 256 + t];\n  __syncthreads();\n"
    "  if (t == 0) {\n    float s = 0;\n    for (int w = 0; w < 256; ++w) s += part[w];\n    out[blockIdx.x] = s;\n"
    "  }\n}\n";

TEST(ThreadToWarp, LetsAWarpDoWhatTheFirstThreadDoes) {
  const std::string warp = after("thread_to_warp", kFirst, {{"threads", 32}});
  EXPECT_THAT(warp, HasSubstr("  if (threadIdx.x < 32) {\n"));
  EXPECT_THAT(warp, HasSubstr("for (int w = lane; w < 256; w += 32) s += part[w];"));
  EXPECT_THAT(warp, HasSubstr("    __syncwarp(0xffffffffu);\n    if (lane == 0) out[blockIdx.x] = s;\n"
                              "    __syncwarp(0xffffffffu);\n"));
  EXPECT_EQ(after("thread_to_warp", kFirst, {{"threads", 32}}, 0, facts(100, 48)), "") << "a part of a warp";
  auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string alone = with(kFirst, "float *out", "float *__restrict__ out");
  EXPECT_THAT(after("thread_to_warp", alone, {{"threads", 32}}), Not(HasSubstr("__syncwarp")))
      << "nothing reads what it stores";
  EXPECT_THAT(after("thread_to_warp", with(alone, "float s = 0", "float s = out[0]"), {{"threads", 32}}),
              HasSubstr("__syncwarp"));
  EXPECT_EQ(after("thread_to_warp",
                  with(kFirst, "  if (t == 0) {\n    float s = 0;\n", "  float s = x[t];\n  if (t == 0) {\n"),
                  {{"threads", 32}}),
            "")
      << "a value of the first thread";
  EXPECT_EQ(after("thread_to_warp", with(kFirst, "s += part[w]", "s += part[w + t]"), {{"threads", 32}}), "");
  EXPECT_EQ(after("thread_to_warp", with(kFirst, "t == 0", "t == 1"), {{"threads", 32}}), "");
  EXPECT_EQ(after("thread_to_warp", with(kFirst, "  __syncthreads();", "  if (t >= n) return;"), {{"threads", 32}}), "")
      << "lanes that have left";
}

const std::string kDot =
    "__global__ void k(const float *x, float *out, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) atomicAdd(out, x[i]);\n}\n";

TEST(GridStride, WalksOverAllElementsWithFewerBlocks) {
  const std::string text = after("grid_stride", kDot, {{"factor", 4}});
  EXPECT_EQ(text,
            "__global__ void k(const float *x, float *out, int n) {\n  float out_part = 0;\n"
            "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
            "    if (i < n) out_part += x[i];\n  }\n  if (blockIdx.x * blockDim.x + threadIdx.x < n) atomicAdd(out, "
            "out_part);\n}\n");
  auto found = offers("grid_stride", kDot, {{"factor", 4}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gx").text(), "ceil_div(gx, 4)");
}

TEST(GridStride, EndsAnIterationWhereAThreadReturned) {
  EXPECT_THAT(after("grid_stride", kernel("  if (i >= n) return;\n  c[i] = a[i];\n"), {{"factor", 4}}),
              HasSubstr("i < n; i += gridDim.x * blockDim.x) {\n    if (i >= n) continue;\n    c[i] = a[i];\n  }\n"));
}

TEST(GridStride, IndentsTheLinesOfItsLoopAsTheFileDoes) {
  EXPECT_THAT(after("grid_stride",
                    "__global__ void k(float *c, int n) {\n\tint i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                    "\tif (i < n) {\n#ifdef TWICE\n\t\tc[i] *= 2;\n#endif\n\n\t\tc[i] += 1;\n\t}\n}\n",
                    {{"factor", 4}}),
              HasSubstr("blockDim.x) {\n\t\tif (i < n) {\n#ifdef TWICE\n\t\t\tc[i] *= 2;\n#endif\n\n\t\t\tc[i] += 1;\n"
                        "\t\t}\n\t}\n}\n"));
}

TEST(GridStride, NeedsABoundThatAllThreadsKnow) {
  for (const char* body : {"  c[i] = a[i];\n", "  if (i < count[i]) c[i] = a[i];\n",
                           "  c[i] = 0;\n  if (i < n) c[i] = a[i];\n", "  if (i < n) c[i] = a[i];\n  else c[0] = 1;\n"})
    EXPECT_EQ(after("grid_stride", kernel(body), {{"factor", 4}}), "") << body;
}

TEST(RegisterPrivatisation, GathersWhatAThreadAddsInALoop) {
  EXPECT_THAT(after("register_privatisation",
                    kernel("  for (int j = i; j < n; j += 64) {\n    if (a[j] > 0) atomicAdd(&count[3], 1);\n"
                           "    atomicAdd(c, a[j]);\n  }\n")),
              HasSubstr("  int count_part = 0;\n  bool count_adds = false;\n  float c_part = 0;\n"
                        "  for (int j = i; j < n; j += 64) {\n"
                        "    if (a[j] > 0) (count_part += 1, count_adds = true);\n    c_part += a[j];\n  }\n"
                        "  if (count_adds) atomicAdd(&count[3], count_part);\n"
                        "  if (i < n) atomicAdd(c, c_part);\n"));
  EXPECT_THAT(after("register_privatisation", kernel("  for (int j = 0; j < 4; ++j) atomicAdd(c, a[4 * i + j]);\n")),
              HasSubstr("c_part += a[4 * i + j];\n  atomicAdd(c, c_part);\n"));
}

TEST(RegisterPrivatisation, LeavesWhatIsReadOrMoves) {
  for (const char* inside : {"atomicAdd(c + j, a[j]);", "count[i] = atomicAdd(count, 1);", "atomicAdd(c, a[j] * c[1]);",
                             "atomicMax(count, j);", "if (a[j] < 0) return; atomicAdd(c, a[j]);"})
    EXPECT_EQ(
        after("register_privatisation", kernel(std::string("  for (int j = i; j < n; j += 64) { ") + inside + " }\n")),
        "")
        << inside;
}

}  // namespace
}  // namespace kernelift::tuner
