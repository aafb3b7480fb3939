// How accesses of real kernels lie in memory, and what recorded inputs look like.
#include "core/model/kernel/access_pattern.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>

#include "core/compiler/model/tests/model_of.h"
#include "core/model/element.h"
#include "core/model/recorded_facts.h"

namespace kernelift {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& body, const std::string& parameters, const Dim3& block) {
  const KernelModel model = model_of("__global__ void k(" + parameters + ") {\n" + body + "\n}\n", block);
  Geometry launch;
  launch.grid = {64, 64, 1}, launch.block = block;
  return AccessPattern(launch, {{"arg.a2", 1024}}).lines(model, {{"arg.a0", "out"}, {"arg.a1", "in"}});
}

TEST(AccessPattern, TellsCoalescedFromStridedAndScatteredAccesses) {
  const char* const parameters = "float* out, const float* in, int n, const int* at";
  const Dim3 block{256, 1, 1};
  EXPECT_THAT(
      lines_of("int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = in[i];", parameters, block),
      ElementsAre(EndsWith("of in (line 2): adjacent elements"), EndsWith("of out (line 2): adjacent elements")));
  EXPECT_THAT(lines_of("int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = in[i * n];", parameters, block)[0],
              HasSubstr("a warp touches 32 sectors of 32 bytes where 4 would do"));
  EXPECT_THAT(lines_of("int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = in[at[i]];", parameters, block)[1],
              HasSubstr("scattered: where depends on values in memory"));
  EXPECT_THAT(lines_of("int i = blockIdx.x * blockDim.x + threadIdx.x; out[i] = in[blockIdx.x];", parameters, block)[0],
              HasSubstr("one element for a warp"));
  EXPECT_THAT(lines_of("out[threadIdx.x] = in[threadIdx.x / 8];", parameters, block)[0],
              HasSubstr("a warp reaches 4 different elements, which are adjacent"));
  EXPECT_THAT(lines_of("out[threadIdx.x] = in[threadIdx.x * n + threadIdx.y];", parameters, {8, 8, 1})[0],
              HasSubstr("a warp touches 8 sectors of 32 bytes where 4 would do"));
  EXPECT_THAT(lines_of("out[threadIdx.x] = in[threadIdx.x];", parameters, {1, 1, 1})[0], HasSubstr("one thread"));
}

TEST(AccessPattern, SaysWhatLoopsWalkAndWhichThreadsRead) {
  const auto lines = lines_of(
      "int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y; float s = 0;\n"
      "for (int k = 0; k < n; ++k)\n  s += in[r * n + k] *\n    out[k * n + c];\nout[r * n + c + n * n] = s;",
      "float* out, const float* in, int n", {16, 16, 1});
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("a warp reaches 2 different elements, in 2 sectors of 32 bytes where 1 would do; the "
                                  "innermost loop walks along it"));
  EXPECT_THAT(lines[1],
              HasSubstr("iterations of the innermost loop 4096 bytes apart; all threads along y read the same"));
}

TEST(AccessPattern, CountsTheThreadsOfABankConflict) {
  const auto lines = lines_of(
      "__shared__ float tile[32][32];\ntile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];\n"
      "__syncthreads();\nout[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];",
      "float* out, const float* in, int n", {32, 32, 1});
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("a bank conflict of 32 ways")));
}

template <class T>
std::string text_of(const char* type, const std::vector<T>& values) {
  return values_text(ElementType::parse(type), std::as_bytes(std::span(values)));
}

TEST(RecordedValues, AreDescribedByRangeZerosOrderAndNumber) {
  EXPECT_EQ(text_of<float>("float", {0.5f, 0.5f}), "all 0.5");
  EXPECT_EQ(text_of<float>("float", {0, 1.5f, 0, -2.25f}), "-2.25 … 1.5, 50 % zeros, 3 different values");
  EXPECT_EQ(text_of<float>("float", {NAN, 1, 3, 2}), "1 … 3, 25 % infinite or not a number, 3 different values");
  EXPECT_EQ(text_of<int>("int", {1, 1, 2, 5}), "1 … 5, rising, 3 different values");
  EXPECT_EQ(text_of<int>("int", {-2, -1, 0}), "-2 … 0, 33 % zeros, rising, 3 different values");
  EXPECT_EQ(text_of<uint8_t>("unsigned char", {0, 127, 128, 255}), "0 … 255, 25 % zeros, rising, 4 different values");
  EXPECT_EQ(text_of<uint64_t>("unsigned long", {1, 1ull << 63}), "1 … 9223372036854775808, rising, 2 different values");
  EXPECT_EQ(text_of<float>("float", std::vector<float>(1000, 0)), "all 0");
  std::vector<float> sparse(1000);
  sparse[7] = 1;
  EXPECT_THAT(text_of<float>("float", sparse), HasSubstr("over 99 % zeros"));
  std::vector<int> many(100);
  for (int i = 0; i < 100; ++i) many[static_cast<size_t>(i)] = 99 - i;
  EXPECT_EQ(text_of<int>("int", many), "0 … 99, 1 % zeros, falling");
  EXPECT_EQ(text_of<double>("double", {}), "");
  EXPECT_EQ(text_of<char>("struct Cell", {1, 2}), "");
}

}  // namespace
}  // namespace kernelift
