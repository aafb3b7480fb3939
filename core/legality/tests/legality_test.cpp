// Each question of the comparison, and each kind of its answers.
#include "core/legality/legality.h"

#include <gtest/gtest.h>

#include "core/base/processor_time.h"
#include "core/legality/tests/compared.h"

namespace kernelift::legality {
namespace {

TEST(CompareMemory, AGuardedKernelIsProvenForAnyBlock) {
  EXPECT_EQ(compare(kOriginal, {kGuarded, {32, 1, 1}, "ceil_div(arg.a2, 32)"}).kind, Kind::Proven);
}

TEST(CompareMemory, AnUnguardedKernelIsProvenWhereTheBlockDivides) {
  const std::string text = kernel("if (i == n - 1) out[i] = 0; else out[i] = x[i + 1] - x[i];");
  auto answer = compare({text, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, {text, {1024, 1, 1}, "ceil_div(arg.a2, 1024)"});
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  EXPECT_EQ(*answer.premise->evaluate({{"arg.a2", 1152}}), 0);
  EXPECT_EQ(*answer.premise->evaluate({{"arg.a2", 4096}}), 1);
  EXPECT_NE(answer.why.find("thread 128 of block 0"), std::string::npos) << answer.why;
  EXPECT_EQ(answer.line, 3u);
}

TEST(CompareMemory, ReadingBesideIsRefutedWithAnExample) {
  auto answer = compare(kOriginal, {kernel("if (i < n) out[i] = x[i + 1];"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_EQ(answer.kind, Kind::Refuted);
  EXPECT_EQ(answer.why, "n = 1: thread 0 of block 0 reads x[1] in line 3, which the original does not touch");
  EXPECT_EQ(answer.example.at("arg.a2"), 1);
}

TEST(CompareMemory, AnElementThatIsNoLongerWrittenIsRefuted) {
  auto answer =
      compare(kOriginal, {kernel("if (i > 0 && i < n) out[i] = x[i];"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_EQ(answer.kind, Kind::Refuted);
  EXPECT_NE(answer.why.find("as the original, and the candidate does not"), std::string::npos) << answer.why;
}

TEST(CompareMemory, AnOrdinarySumInPlaceOfAnAtomicOneIsWrongForTwoElements) {
  const Launched atomic{kernel("if (i < n) atomicAdd(out, x[i]);"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};
  auto answer = compare(atomic, {kernel("if (i < n) out[0] += x[i];"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_TRUE(answer.kind == Kind::Refuted || (answer.premise && *answer.premise->evaluate({{"arg.a2", 2}}) == 0));
}

TEST(CompareMemory, AWriteThatAnotherThreadReadsIsRefuted) {
  auto answer = compare(
      kOriginal,
      {kernel("if (i < n) { out[i] = x[i]; if (i > 0) out[i] += out[i - 1]; }"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_TRUE(answer.kind == Kind::Refuted || (answer.premise && *answer.premise->evaluate({{"arg.a2", 2}}) == 0));
}

TEST(CompareMemory, ARaceThatTheOriginalHasIsNoReason) {
  const std::string flag = kernel("if (i < n) out[0] = 1;");
  EXPECT_EQ(compare({flag, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, {flag, {64, 1, 1}, "ceil_div(arg.a2, 64)"}).kind,
            Kind::Proven);
}

TEST(CompareMemory, ARaceOnAnotherElementThanTheOriginalsIsOne) {
  const std::string flag = kernel("if (i < n) { out[0] = 1; out[i + 1] = 0; }");
  const std::string both = kernel("if (i < n) { out[0] = 1; out[i + 1] = 0; out[1] = 0; }");
  auto answer = compare({flag, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, {both, {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_TRUE(answer.kind == Kind::Refuted || (answer.premise && *answer.premise->evaluate({{"arg.a2", 2}}) == 0))
      << answer.why;
}

std::string reversed(const std::string& extent, const std::string& barrier) {
  return kernel("__shared__ float s[" + extent + "]; s[threadIdx.x] = i < n ? x[i] : 0; " + barrier +
                " if (i < n) out[i] = s[127 - threadIdx.x] * 0 + x[i];");
}

TEST(CompareMemory, ASharedArrayThatIsTooSmallIsRefuted) {
  auto answer = compare(kOriginal, {reversed("100", "__syncthreads();"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_EQ(answer.kind, Kind::Refuted);
  EXPECT_NE(answer.why.find("beyond the end of s in line 3"), std::string::npos) << answer.why;
}

TEST(CompareMemory, AMissingBarrierIsRefutedAndAPresentOneProves) {
  const Launched with{reversed("128", "__syncthreads();"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};
  EXPECT_EQ(compare(kOriginal, with).kind, Kind::Proven);
  EXPECT_EQ(compare(kOriginal, {reversed("128", ""), {128, 1, 1}, "ceil_div(arg.a2, 128)"}).kind, Kind::Refuted);
}

TEST(CompareMemory, ABarrierOnConditionOfMemoryOrdersNothing) {
  const Launched some{reversed("128", "if (x[0] > 0) __syncthreads();"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};
  EXPECT_NE(compare(kOriginal, some).kind, Kind::Proven);
}

TEST(CompareMemory, ABarrierThatOnlySomeThreadsReachIsExcludedByAPremise) {
  auto answer = compare(
      kOriginal, {reversed("128", "if (i >= n) return; __syncthreads();"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  ASSERT_EQ(answer.kind, Kind::UnderPremise) << answer.why;
  EXPECT_EQ(*answer.premise->evaluate({{"arg.a2", 256}}), 1);
  EXPECT_EQ(*answer.premise->evaluate({{"arg.a2", 200}}), 0);
}

TEST(CompareMemory, WhatAKernelKeepsInAStaticVariableOfItsOwnIsItsAffair) {
  auto keeps = [&](const std::string& condition, const std::string& index,
                   const std::string& variable = "static float kept[4096];", const std::string& before = "") {
    return compare(kOriginal,
                   {before + kernel(variable + " if (i < n) { float v = x[i]; if (" + condition + ") { kept[" + index +
                                    "] = v; __threadfence(); v = kept[" + index + "]; } out[i] = v; }"),
                    {128, 1, 1},
                    "ceil_div(arg.a2, 128)"});
  };
  EXPECT_EQ(keeps("i < 4096", "i").kind, Kind::Proven) << keeps("i < 4096", "i").why;
  EXPECT_EQ(keeps("i <= 4096", "i").kind, Kind::UnderPremise) << "beyond its end";
  EXPECT_NE(keeps("i < 4096", "i / 2").kind, Kind::Proven) << "two threads write one element";
  EXPECT_EQ(keeps("i < 4096", "i", "", "__device__ float kept[4096];\n").kind, Kind::Refuted)
      << "other kernels and the host can read it";
}

TEST(CompareMemory, AProductOfABlocksPositionIsNoReasonToRefute) {
  const std::string text =
      "__shared__ float kept[64]; if (n > 0 && gridDim.x * n <= 64 && threadIdx.x < n) "
      "kept[blockIdx.x * n + threadIdx.x] = 0; if (i < n) out[i] = x[i];";
  auto answer = compare(kOriginal, {kernel(text), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_NE(answer.why.find("which is not affine"), std::string::npos) << answer.why;
}

TEST(CompareMemory, AGridThatCannotBeLaunchedIsExcluded) {
  auto answer = compare(kOriginal, {kGuarded, {128, 1, 1}, "arg.a2 / 128"});
  EXPECT_TRUE(answer.kind == Kind::Refuted || *answer.premise->evaluate({{"arg.a2", 100}}) == 0) << answer.why;
}

TEST(CompareMemory, AMisalignedVectorIsRefuted) {
  const std::string vectors = kernel(
      "if (2 * i + 2 < n) { float2 v = *(const float2*)(x + 2 * i + 1); out[2 * i + 1] = v.x; out[2 * i + 2] = v.y; }"
      " if (i == 0) out[0] = x[0];");
  auto answer = compare(kOriginal, {vectors, {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_TRUE(answer.kind == Kind::Refuted || (answer.premise && *answer.premise->evaluate({{"arg.a2", 101}}) == 0))
      << answer.why;
}

TEST(CompareMemory, WhatTheOriginalMisalignsIsAskedOfNoCandidate) {
  const std::string pitched = kernel("if (i < 4) *(float*)((char*)out + (long long)i * n) = x[i];");
  auto answer = compare({pitched, {128, 1, 1}, "1"}, {pitched, {32, 1, 1}, "1"});
  EXPECT_NE(answer.kind, Kind::Refuted) << answer.why;
  const std::string wider = kernel("if (i < 4) *(double*)((char*)out + (long long)i * n) = x[i];");
  EXPECT_NE(compare({pitched, {128, 1, 1}, "1"}, {wider, {128, 1, 1}, "1"}).kind, Kind::Proven);
}

TEST(CompareMemory, ATensorsOwnStridesAreSubscriptsWhereEachThreadHasOneElement) {
  auto strided = [](const std::string& body) {
    return "struct T { float* d; long s0, s1; int n, m; };\n"
           "__global__ void k(T x, T out) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
           body + "\n}";
  };
  const std::string rows = "ceil_div(arg.a1.o24, ";
  const std::string one = strided(
      "int j = blockIdx.y; if (i < out.n && j < out.m) out.d[i * out.s0 + j * out.s1] = x.d[i * x.s0 + j * x.s1];");
  const Launched original{one, {128, 1, 1}, rows + "128)"};
  EXPECT_EQ(compare(original, {one, {32, 1, 1}, rows + "32)"}).kind, Kind::Proven);
  const std::string two = strided(
      "int j = blockIdx.y; for (int r = i * 2; r < i * 2 + 2; ++r) if (r < out.n && j < out.m)"
      " out.d[r * out.s0 + j * out.s1] = x.d[r * x.s0 + j * x.s1];");
  EXPECT_EQ(compare(original, {two, {64, 1, 1}, rows + "128)"}).kind, Kind::Proven);
  // With numbers for the strides an example can be given.
  const std::string beside = strided(
      "int j = blockIdx.y; if (i < out.n && j < out.m) out.d[(i + 1) * out.s0 + j * out.s1] = x.d[i * x.s0 + j * "
      "x.s1];");
  EXPECT_EQ(compare(original, {beside, {128, 1, 1}, rows + "128)"}).kind, Kind::Refuted);
  // Where all of them are one element, atomic sums are right, and others are not.
  const std::string
      sum =
          strided("int j = blockIdx.y; if (i < out.n && j < out.m) atomicAdd(&out.d[i * out.s0 + j * out.s1], 1.0f);"),
      plain = strided("int j = blockIdx.y; if (i < out.n && j < out.m) out.d[i * out.s0 + j * out.s1] += 1.0f;");
  EXPECT_EQ(compare({sum, {128, 1, 1}, rows + "128)"}, {plain, {128, 1, 1}, rows + "128)"}).kind, Kind::NotKnown);
  // One thread's elements may be one, which it writes in its order.
  const std::string row = strided("for (int j = 0; i < out.n && j < out.m; ++j) out.d[i * out.s0 + j * out.s1] = j;"),
                    turned = strided(
                        "for (int j = out.m - 1; i < out.n && j >= 0; --j) out.d[i * out.s0 + j * out.s1] = j;");
  EXPECT_EQ(compare({row, {128, 1, 1}, rows + "128)"}, {turned, {128, 1, 1}, rows + "128)"}).kind, Kind::NotKnown);
}

TEST(CompareMemory, WhatIsReadFromMemoryIsNamedByItsArray) {
  const Launched original{kernel("if (i < n) out[(int)x[i]] = 1;"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};
  auto answer = compare(original, {kernel("if (i < n) out[(int)x[i] + 1] = 1;"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_NE(answer.kind, Kind::Proven);
  EXPECT_EQ(answer.why.find("load "), std::string::npos) << answer.why;
  EXPECT_NE(answer.why.find("an element of x"), std::string::npos) << answer.why;
}

TEST(CompareMemory, WhatIsNotUnderstoodIsNotKnownWithItsLine) {
  auto answer = compare(
      kOriginal, {kernel("if (i < n) out[i] = x[i];\n  asm volatile(\"\");"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_NE(answer.why.find("inline assembly in line 4"), std::string::npos) << answer.why;
}

TEST(CompareMemory, AnUnknownGridIsTheSameOnBothSides) {
  const std::string stride = kernel("for (; i < n; i += blockDim.x * gridDim.x) out[i] = x[i];");
  const auto answer = compare({stride, {128, 1, 1}, ""}, {stride, {256, 1, 1}, ""});
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
}

TEST(CompareMemory, ANegativeSizeLeavesNothingToDo) {
  const std::string unguarded = kernel("out[i] = x[i];");
  auto answer =
      compare({unguarded, {128, 1, 1}, "arg.a2"}, {kernel("if (n > 0) out[i] = x[i];"), {128, 1, 1}, "arg.a2"});
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
}

TEST(CompareMemory, DynamicSharedMemoryIsAsLargeAsTheOriginalUsesIt) {
  auto text = [&](const std::string& place) {
    return "extern __shared__ float s[];\n" +
           kernel("s[" + place + "] = i < n ? x[i] : 0; if (i < n) out[i] = s[" + place + "];");
  };
  const Launched plain{text("threadIdx.x"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};
  EXPECT_EQ(compare(plain, plain).kind, Kind::Proven);
  EXPECT_EQ(compare(plain, {text("threadIdx.x + 1"), {128, 1, 1}, "ceil_div(arg.a2, 128)"}).kind, Kind::NotKnown);
  EXPECT_EQ(compare(plain, {text("threadIdx.x"), {256, 1, 1}, "ceil_div(arg.a2, 256)"}).kind, Kind::NotKnown);
}

TEST(CompareMemory, AProofNamesWhatItTakesForGranted) {
  const std::string pairs =
      kernel("if (i < n / 2) ((float2*)out)[i] = ((const float2*)x)[i]; if (i == 0 && n % 2) out[n - 1] = x[n - 1];");
  auto answer = compare(kOriginal, {pairs, {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  ASSERT_EQ(answer.kind, Kind::Proven) << answer.why;
  std::string all;
  for (auto& one : answer.assumptions) all += to_text(one, {{"arg.a0", "x"}, {"arg.a1", "out"}}) + "; ";
  EXPECT_EQ(all, "x, out point to different memory; x is a multiple of 8 bytes; out is a multiple of 8 bytes; ");
}

TEST(CompareMemory, AnElementThatBothBranchesWriteIsWritten) {
  const std::string branches = kernel("if (i < n) { if (x[i] > 0) out[i] = 1; else out[i] = 2; }");
  EXPECT_EQ(compare({branches, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, kOriginal).kind, Kind::Proven);
  const std::string one = kernel("if (i < n) { if (x[i] > 0) out[i] = 1; }");
  EXPECT_NE(compare({one, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, kOriginal).kind, Kind::Proven);
}

TEST(CompareMemory, TheSameBytesAsAnotherTypeAreAnotherValue) {
  auto text = [](const std::string& type) {
    return "__global__ void k(const int* x, float* out, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
           " if (i < n) out[*(const " +
           type + "*)(x + i)] = 1; }";
  };
  const Launched ints{text("int"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};
  EXPECT_EQ(compare(ints, ints).kind, Kind::Proven);
  EXPECT_NE(compare(ints, {text("short"), {128, 1, 1}, "ceil_div(arg.a2, 128)"}).kind, Kind::Proven);
}

TEST(CompareMemory, IndicesThatAreDividedByParametersAreComparedByWhatIsDivided) {
  auto text = [](const std::string& index) { return kernel("if (i < 8 * n) out[" + index + "] = x[i];"); };
  auto answer = [&](const std::string& one, const std::string& other) {
    return compare({text(one), {128, 1, 1}, "ceil_div(8 * arg.a2, 128)"},
                   {text(other), {64, 1, 1}, "ceil_div(8 * arg.a2, 64)"});
  };
  const std::string turned = "i % n * 8 + i / n";
  EXPECT_EQ(answer(turned, turned).kind, Kind::Proven) << answer(turned, turned).why;
  EXPECT_NE(answer(turned, "i % n * 8 + (i + 1) / n").kind, Kind::Proven);
  EXPECT_NE(answer(turned, "i % n * 8 + i % n").kind, Kind::Proven);
  EXPECT_NE(answer(turned, "i % (n + 1) * 8 + i / (n + 1)").kind, Kind::Proven);
  EXPECT_NE(answer("(i / n) * n + (i + 1) / n", "((i + 1) / n) * n + i / n").kind, Kind::Proven)
      << "the same quotients with each other's arguments";
  EXPECT_EQ(answer("i / n / 2 * 64 + i % n % 7", "i / n / 2 * 64 + i % n % 7").kind, Kind::Proven);
}

TEST(CompareMemory, AnIndexThatIsDividedByTheGridIsNotKnown) {
  // The quotient is by another number of blocks on each side.
  const std::string text = kernel("if (i < n) out[i / gridDim.x] = x[i];");
  EXPECT_NE(compare({text, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, {text, {64, 1, 1}, "ceil_div(arg.a2, 64)"}).kind,
            Kind::Proven);
}

TEST(CompareLaunches, AThreadThatTheOriginalDoesNotHaveMayReadNothing) {
  const std::string text = kernel("if (x[i % (n - 3)] > 0 && i < n) out[i] = 1;");
  ASSERT_EQ(values(text, 128, 256).kind, Kind::Proven) << "it writes nothing";
  auto answer = under_launches(compare_launches, text, 128, 256);
  EXPECT_TRUE(answer.kind == Kind::NotKnown || (answer.premise && *answer.premise->evaluate({{"arg.a2", 100}}) == 0));
}

TEST(CompareLaunches, AThreadThatIsChosenByNoLinearConditionIsNotKnownToBeTheSame) {
  EXPECT_NE(under_launches(compare_launches, kernel("if (i % (n - 3) < 5) out[i] = x[i];"), 128, 256).kind,
            Kind::Proven);
}

TEST(CompareMemory, NeighboursOfAStencilAreComparedWithTheirLike) {
  std::string sum;
  for (const char* place : {"-3137", "+3007", "-64", "+0", "+64", "-3135", "+3009", "-3071", "+3073", "-3007", "+3137"})
    sum += "+ x[plane * 3072 + j * 64 + i " + std::string(place) + "]";
  const std::string text =
      "__global__ void k(const float* x, float* out, int n, int m, int plane) {"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
      "  if (i > 0 && i < 63 && i < n && j > 0 && j < 47 && j < m) out[plane * 3072 + j * 64 + i] = " +
      sum + "; }";
  auto shape = [](int x, int y) {
    return LaunchShape{{uint32_t(x), uint32_t(y), 1},
                       {*Expression::parse("ceil_div(arg.a2, " + std::to_string(x) + ")"),
                        *Expression::parse("ceil_div(arg.a3, " + std::to_string(y) + ")"), Expression::constant(1)}};
  };
  const auto wide = shape(32, 4), narrow = shape(4, 8);
  const auto before = suite_model(text, wide.block), after = suite_model(text, narrow.block);
  Bounds few;
  few.operations /= 4;
  auto answer = compare_memory({before, wide}, {after, narrow}, {}, few);
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
}

const std::string kVolume = R"(__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  int at = (z * ny + y) * nx + x;
  v[at] = u[at - nx * ny] + u[at + nx * ny] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
})";
const std::string kJammedVolume = R"(__global__ void heat(const float* u, float* v, int nx, int ny, int nz) {
  int x[2], y[2];
  #pragma unroll
  for (int k = 0; k < 2; ++k) x[k] = (blockIdx.x * 2 + k) * blockDim.x + threadIdx.x;
  #pragma unroll
  for (int k = 0; k < 2; ++k) y[k] = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + k;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x[0] >= 1 && y[0] >= 1 && z >= 1 && x[1] < nx - 1 && y[1] < ny - 1 && z < nz - 1) {
    #pragma unroll
    for (int a = 0; a < 2; ++a)
      #pragma unroll
      for (int b = 0; b < 2; ++b) {
        int at = (z * ny + y[b]) * nx + x[a];
        v[at] = u[at - nx * ny] + u[at + nx * ny] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
      }
  } else {
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
      int x = (blockIdx.x * 2 + k % 2) * blockDim.x + threadIdx.x;
      int y = (blockIdx.y * blockDim.y + threadIdx.y) * 2 + k / 2, z = blockIdx.z * blockDim.z + threadIdx.z;
      if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) continue;
      int at = (z * ny + y) * nx + x;
      v[at] = u[at - nx * ny] + u[at + nx * ny] + u[at - nx] + u[at + nx] + u[at - 1] + u[at + 1] - 6.0f * u[at];
    }
  }
})";

Answer of_jammed_volume(const std::string& from, const std::string& to) {
  auto shape = [](int x, int y) {
    return LaunchShape{
        {16, 4, 4},
        {*Expression::parse("ceil_div(arg.a2, " + std::to_string(x) + ")"),
         *Expression::parse("ceil_div(arg.a3, " + std::to_string(y) + ")"), *Expression::parse("ceil_div(arg.a4, 4)")}};
  };
  std::string text = kJammedVolume;
  text.replace(text.find(from), from.size(), to);
  static const auto before = suite_model(kVolume, {16, 4, 4});
  const auto after = suite_model(text, {16, 4, 4});
  return compare_memory({before, shape(16, 4)}, {after, shape(32, 8)});
}

TEST(CompareMemory, NeighboursThatAThreadComputesTogetherAreProven) {
  auto answer = of_jammed_volume("int x[2]", "int x[2]");
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
}

TEST(CompareMemory, NeighboursThatAreComputedWronglyAreNotProven) {
  for (auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"k < 4", "k < 3"},                                   // The last one is left out.
           {"x[1] < nx - 1", "x[0] < nx - 1"},                   // The second one may be the border.
           {"y[1] < ny - 1", "y[1] < ny"},                       //
           {"u[at + nx * ny] + u[at - nx]", "u[at + nx * ny]"},  // A neighbour less, of those in bounds.
           {"x >= nx - 1 || y >= ny - 1 || z >= nz - 1) continue", "x >= nx || y >= ny - 1 || z >= nz - 1) continue"},
           {"x[1] < nx - 1 &&", "x[1] < nx - 1 && nz != 7 &&"},  // Right, but for the next.
           {"} else {", "} else if (nz != 7) {"},
       }) {
    auto answer = of_jammed_volume(from, to);
    if (from.ends_with("&&")) EXPECT_NE(answer.kind, Kind::Refuted) << to << answer.why;
    else EXPECT_NE(answer.kind, Kind::Proven) << to;
  }
}

/// A sum of a row that eight lanes or a warp share, whose first lane stores it where all of them read it.
std::string shared_row(const std::string& mask, const std::string& exchange, int lanes) {
  const std::string count = std::to_string(lanes);
  return kernel("const unsigned lanes = " + mask + "; const int row = i / " + count + ", lane = threadIdx.x % " +
                count + "; if (row >= n) return; float s = *(volatile float*)(out + row); " + exchange +
                " if (lane == 0) out[row] = s + x[row];");
}

Answer of_shared_row(const std::string& mask, const std::string& exchange, int lanes) {
  return compare(
      {kernel("if (i < n) out[i] = *(volatile float*)(out + i) + x[i];"), {128, 1, 1}, "ceil_div(arg.a2, 128)"},
      {shared_row(mask, exchange, lanes), {128, 1, 1}, "ceil_div(arg.a2, " + std::to_string(128 / lanes) + ")"});
}

const std::string kGroup = "0xffu << (threadIdx.x & 24)", kAdd = "s += __shfl_xor_sync(lanes, s, 1);";

TEST(CompareMemory, AnExchangeOrdersTheLanesThatWaitForEachOther) {
  for (auto& answer :
       {of_shared_row("~0u", kAdd, 32), of_shared_row(kGroup, kAdd, 8), of_shared_row(kGroup, "__syncwarp(lanes);", 8)})
    EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
}

TEST(CompareMemory, WhatPrintsAsTheOriginalIsComparedUnderItsLaunch) {
  auto text = [](const std::string& value) {
    return kernel("if (i == 7 && x[i] > 0) printf(\"%d of %d: %f\\n\", i, n, x[i]); if (i < n) out[i] = " + value +
                  ";");
  };
  auto with = [&](int block) {
    return compare({text("2 * x[i]"), {128, 1, 1}, "ceil_div(arg.a2, 128)"},
                   {text("x[i] + x[i]"), {uint32_t(block), 1, 1}, "ceil_div(arg.a2, " + std::to_string(block) + ")"});
  };
  EXPECT_EQ(with(128).kind, Kind::Proven) << with(128).why;
  EXPECT_EQ(with(256).kind, Kind::NotKnown);
}

TEST(CompareMemory, SaysBetweenWhatAFenceIsMissing) {
  auto text = [](const std::string& body) { return kernel("if (i >= n) return; " + body + " ((int*)x)[i] = 1;"); };
  auto answer = compare({text("out[i] = 2; __threadfence();"), {128, 1, 1}, "ceil_div(arg.a2, 128)"},
                        {text("__threadfence(); out[i] = 2;"), {128, 1, 1}, "ceil_div(arg.a2, 128)"});
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_EQ(answer.why, "the original's fences order out and x, and the candidate's do not");
}

/// It is no barrier of memory: only what went into it is known to have been read.
TEST(CompareMemory, AnExchangeOrdersNothingButWhatItIsGivenBeforeWhatDependsOnIt) {
  for (auto* exchange : {"s += __shfl_xor_sync(lanes, x[row], 1);", "__any_sync(lanes, row > 0);",
                         "const bool r = __any_sync(lanes, s > 0); s = x[row];"})
    EXPECT_NE(of_shared_row("~0u", exchange, 32).kind, Kind::Proven) << exchange;
  const std::string loop = "float r = 0; for (int k = 0; k < n; ++k) { r += __shfl_xor_sync(lanes, r, 1); ";
  EXPECT_NE(of_shared_row("~0u", loop + "r += s; } s = r;", 32).kind, Kind::Proven) << "given after it";
}

TEST(CompareMemory, AnExchangeOfOtherLanesOrdersNothing) {
  const std::string sometimes = "if (threadIdx.x % 2) " + kAdd;
  for (auto& [mask, exchange] : std::vector<std::pair<std::string, std::string>>{
           {kGroup, ""},                                // None at all.
           {"0xfu << (threadIdx.x & 28)", kAdd},        // Half of the group.
           {"0x01010101u << (threadIdx.x & 7)", kAdd},  // Every eighth lane.
           {"0xffu << (threadIdx.x & 31)", kAdd},       // No groups.
           {"__activemask()", kAdd},
           {kGroup, sometimes},
           {kGroup, "for (int k = 0; k < lane; ++k) " + kAdd}})
    EXPECT_NE(of_shared_row(mask, exchange, 8).kind, Kind::Proven) << mask << exchange;
}

std::string hundreds_of_accesses() {
  std::string body =
      "for (int a = 0; a < n; ++a) for (int b = 0; b < a; ++b) for (int c = b; c < n; ++c) for (int d = 0; d < c; ++d)"
      " for (int e = 0; e < n; ++e) for (int f = e; f < n; ++f) for (int g = 0; g < 7; ++g) for (int h = g; h < n; "
      "++h) {";
  for (int i = 0; i < 300; ++i)
    body += "out[" + std::to_string(i) + " * a + b * " + std::to_string(i % 7) + " + h] += x[a + g + " +
            std::to_string(i) + "];\n";
  return kernel(body + "}");
}

TEST(CompareMemory, HundredsOfAccessesInNestedLoopsEndInTime) {
  const std::string text = hundreds_of_accesses();
  const auto start = std::clock();
  auto answer = compare({text, {128, 1, 1}, "ceil_div(arg.a2, 128)"}, {text, {64, 1, 1}, "ceil_div(arg.a2, 64)"});
  EXPECT_EQ(answer.kind, Kind::NotKnown);
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 60);
}

TEST(CompareMemory, WhereverItGivesUpItClaimsNothing) {
  // The candidate's elements depend on values in memory, the original's do not, or the other way about.
  auto on_input = [](const std::string& body) {
    return "__global__ void k(const int* x, float* out, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
           body + "\n}";
  };
  const std::string plain = on_input("if (i < n) { out[i] = 1; out[i + 1] = 2; }"),
                    chosen = on_input("if (i < n) { if (x[i] > 0) out[i] = 1; else out[i] = 3; out[i + 1] = 2; }");
  const LaunchShape launch{
      {128, 1, 1}, {*Expression::parse("ceil_div(arg.a2, 128)"), Expression::constant(1), Expression::constant(1)}};
  const KernelModel models[] = {suite_model(plain, launch.block), suite_model(chosen, launch.block)};
  for (bool swapped : {false, true}) {
    const Side original{models[swapped], launch}, candidate{models[!swapped], launch};
    const Answer whole = compare_memory(original, candidate);
    int ended = 0, gave_up = 0;
    Bounds bounds;
    for (bounds.operations = 50; ended < 3 && bounds.operations < 1'000'000;
         bounds.operations += bounds.operations / 20 + 1) {
      const Answer answer = compare_memory(original, candidate, {}, bounds);
      if (answer.kind == Kind::NotKnown) ++gave_up;
      else EXPECT_EQ(answer.kind, whole.kind) << bounds.operations << " operations: " << answer.why;
      ended += answer.kind == whole.kind && answer.why == whole.why;
    }
    EXPECT_GT(gave_up, 10);
    EXPECT_EQ(ended, 3) << whole.why;
  }
}

TEST(CompareMemory, AQuestionThatIsNoLongerOfInterestEnds) {
  KernelModel model = suite_model(hundreds_of_accesses(), {128, 1, 1});
  model.whole_code.clear();  // Equal code is not compared.
  const Side side{model,
                  {{128, 1, 1}, {Expression::variable("arg.a2"), Expression::constant(1), Expression::constant(1)}}};
  std::stop_source nobody;
  nobody.request_stop();
  Bounds bounds;
  bounds.seconds = 300, bounds.operations = 1'000'000'000, bounds.stop = nobody.get_token();
  const double begin = thread_seconds();
  EXPECT_EQ(compare_memory(side, side, {}, bounds).kind, Kind::NotKnown);
  EXPECT_LT(thread_seconds() - begin, 10);
}

const Launched kNotUnderstood{
    kernel("asm volatile(\"membar.gl;\"); if (i < n) out[i * i % n] = x[i];"), {128, 1, 1}, "ceil_div(arg.a2, 128)"};

TEST(CompareMemory, EqualCodeUnderOneLaunchIsProvenWhateverItDoes) {
  auto bounded = kNotUnderstood;
  bounded.source.replace(0, 10, "__global__ __launch_bounds__(128, 8)");
  auto answer = compare(kNotUnderstood, bounded);
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
  EXPECT_TRUE(answer.same_values && answer.assumptions.empty());
}

TEST(CompareMemory, EqualCodeWithRestrictedPointersIsProvenForDifferentMemory) {
  auto restricted = kNotUnderstood;
  restricted.source.replace(restricted.source.find("* out"), 2, "* __restrict__ ");
  auto answer = compare(kNotUnderstood, restricted);
  EXPECT_EQ(answer.kind, Kind::Proven) << answer.why;
  ASSERT_EQ(answer.assumptions.size(), 1u);
  EXPECT_EQ(answer.assumptions[0].kind, Assumption::Kind::DifferentMemory);
}

TEST(CompareMemory, EqualCodeUnderAnotherLaunchIsCompared) {
  auto fewer = kNotUnderstood;
  fewer.grid = "ceil_div(arg.a2, 256)";
  EXPECT_EQ(compare(kNotUnderstood, fewer).kind, Kind::NotKnown);
}

TEST(CompareMemory, CodeThatDiffersByAConstantIsCompared) {
  auto other = kNotUnderstood;
  other.source.replace(other.source.find("i * i"), 5, "i * 3");
  EXPECT_EQ(compare(kNotUnderstood, other).kind, Kind::NotKnown);
}

}  // namespace
}  // namespace kernelift::legality
