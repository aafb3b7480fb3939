// Check mode's shadow: what one word of it says of global memory and what needs a cell, what is noted where an access
// is made, and blocks that pass barriers as a whole. What a shorter note might forget is found all the same.
#include <set>

#include "sandbox/device/cpu/tests/check_run.h"

namespace kernelift::cpu {
namespace {

std::string kernel(const std::string& body) {
  return R"(
typedef int pair __attribute__((ext_vector_type(2)));
typedef int quad __attribute__((ext_vector_type(4)));
__global__ void k(int* in, int* out, int n) {
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
)" + body +
         "\n}";
}

TEST(Shadow, AReadBehindABarrierIsKeptBesideTheWriteBeforeIt) {
  const std::string begin = "out[i] = in[i]; __syncthreads(); int other = out[i ^ 1];";
  expect_nothing(kernel(begin + "__syncthreads(); out[i] = other;"));
  expect_found(FindingKind::Race, "out", kernel(begin + "out[i] = other;"));
}

TEST(Shadow, AReadBehindABarrierIsKeptForWritesThatComeLater) {
  // The readers are the block's first threads, which run before those that write.
  auto late = [](const std::string& barrier) {
    return kernel("out[i] = in[i]; __syncthreads(); if (t < 64) out[256 + i] = out[i ^ 127] + 1;" + barrier +
                  "if (t >= 64) out[i] = 5 * in[i];");
  };
  expect_nothing(late("__syncthreads();"));
  expect_found(FindingKind::Race, "out", late(""));
}

TEST(Shadow, AWriteIsKeptThoughItsThreadHasReadItBehindABarrier) {
  expect_found(FindingKind::BlockRace, "out", kernel(R"(
  if (blockIdx.x == 0) out[t] = in[t];
  __syncthreads();
  if (blockIdx.x == 0) out[256 + t] = out[t] * 2;
  else out[512 + t] = out[t ^ 1] + 3;)"));
}

TEST(Shadow, AThreadThatReadsWhatItHasWrittenIsStillTheOneThatWroteIt) {
  const AccessFinding finding = expect_found(FindingKind::Race, "out", kernel(R"(
  out[t] = in[t];
  out[256 + t] = out[t];
  out[t ^ 1] = in[t] * 3;)"),
                                             grid(1, 128));
  ASSERT_TRUE(finding.other);
  EXPECT_TRUE(finding.access.write);
}

TEST(Shadow, WhatManyBlocksHaveReadMayNoneOfThemWrite) {
  expect_found(FindingKind::BlockRace, "out", kernel(R"(
  int sum = 0;
  if (t) return;
  for (int j = 0; j < 8; ++j) sum += out[j];
  if (i == 3 * 128) out[5] = in[5];
  out[256 + i] = sum;)"),
               grid(4, 128));
}

TEST(Shadow, AWriteAfterManyReadersLeavesItselfAlone) {
  // The cell of many readers becomes a word again; the next block's write is in conflict with that.
  expect_found(FindingKind::BlockRace, "out", kernel(R"(
  int seen = out[(t + 1) % 128];
  __syncthreads();
  out[t] = seen + in[t] + blockIdx.x;)"));
}

TEST(Shadow, EachGranuleOfAVectorIsLookedAt) {
  auto vectors = [](const std::string& type, const std::string& width, const std::string& overlap) {
    return kernel(type + " v = {}; v.x = in[i]; if (t % 2) *(" + type + "*)(out + " + width + " * i) = v;" +
                  "else out[" + width + " * i + " + overlap + "] = in[i];");
  };
  expect_nothing(vectors("pair", "2", "1"));
  expect_found(FindingKind::Race, "out", vectors("pair", "2", "3"));
  expect_nothing(vectors("quad", "4", "3"));
  expect_found(FindingKind::Race, "out", vectors("quad", "4", "7"));
}

TEST(Shadow, EachGranuleOfASharedVectorIsLookedAt) {
  auto vectors = [](const std::string& overlap) {
    return kernel("__shared__ alignas(16) int s[512]; s[4 * t + 3] = in[t]; quad v = {in[t], 1, 2, 3};" + overlap +
                  "__syncthreads(); out[i] = s[(4 * t + 1) % 512] + s[4 * t];");
  };
  expect_nothing(vectors("*(quad*)(s + 4 * t) = v;"));
  expect_found(FindingKind::Race, "s", vectors("*(quad*)(s + 4 * ((t + 1) % 128)) = v;"));
}

TEST(Shadow, AVectorThatBeginsInsideAnArrayMayNotEndBehindIt) {
  auto tile = [](const std::string& ints) {
    return kernel("__shared__ alignas(8) int a[" + ints + "], b[64]; if (t < " + ints + R"() a[t] = in[t];
  b[t % 64] = 1;
  __syncthreads();
  if (t < 32) { pair v = *(pair*)(a + 2 * t); out[i] = v.x + v.y + b[t]; })");
  };
  expect_nothing(tile("64"), grid(2, 64));
  expect_found(FindingKind::OutOfBounds, "a", tile("63"), grid(2, 64));
  // Of a buffer: n - 1 is odd.
  expect_found(FindingKind::OutOfBounds, "out", R"(
typedef int pair __attribute__((ext_vector_type(2), aligned(4)));
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  pair v = {in[i], 0};
  if (i % 2) *(pair*)(out + i) = v;
})",
               grid(32, 128));
}

TEST(Shadow, BytesOfOneGranuleOfABufferAreTheirWriters) {
  auto bytes = [](const std::string& index, const std::string& rest) {
    return kernel("((char*)out)[" + index + "] = char(in[i] + 1);" + rest);
  };
  expect_nothing(bytes("i", ""));
  expect_found(FindingKind::Race, "out", bytes("i & ~1", ""));
  expect_found(FindingKind::Race, "out", bytes("i", "if (t % 4 == 1) out[i / 4] = in[i];"));
}

TEST(Shadow, AtomicAndPlainAccessesOfOneElementAreInConflict) {
  expect_nothing(kernel("atomicAdd(&out[t / 2], in[i]);"));
  expect_found(FindingKind::Race, "out", kernel("if (t % 2) atomicAdd(&out[i / 2], in[i]); else out[i / 2] = in[i];"));
  expect_found(FindingKind::Race, "out",
               kernel("if (t % 2 == 0) out[i / 2] = in[i]; else atomicAdd(&out[i / 2], in[i]);"));
}

TEST(Shadow, OneLineMayLeadToSeveralObjects) {
  expect_nothing(kernel("int* p = t % 2 ? in : out; p[i] = t;"));
  expect_found(FindingKind::OutOfBounds, "in", kernel("int* p = t % 2 ? in : out; p[i + (t == 127) * (n - 120)] = t;"),
               grid(1, 128));
}

TEST(Shadow, BlocksThatAreResidentTogetherHaveSharedMemoryOfTheirOwn) {
  auto tile = [](const std::string& barrier) {
    return kernel("__shared__ int s[64]; s[t] = in[i]; __kl_grid_sync(); int v = s[63 - t];" + barrier +
                  "s[t] = v + 1; __syncthreads(); out[i] = s[63 - t];");
  };
  Geometry cooperative = grid(4, 64);
  cooperative.cooperative = true;
  expect_nothing(tile("__syncthreads();"), cooperative);
  expect_found(FindingKind::Race, "s", tile(""), cooperative);
}

TEST(Shadow, ALoopWithTwoBarriersNeedsBothInEveryIteration) {
  auto loop = [](const std::string& second) {
    return kernel(R"(
  __shared__ int s[128];
  int sum = 0;
  for (int j = 0; j < 6; ++j) {
    s[t] = in[i] + j;
    __syncthreads();
    if (j % 2) { sum += s[127 - t]; __syncthreads(); }
    else { sum -= s[(t + 1) % 128]; )" +
                  second + R"( }
  }
  out[i] = sum;)");
  };
  expect_nothing(loop("__syncthreads();"));
  expect_found(FindingKind::Race, "s", loop(""));
}

TEST(Shadow, ThreadsThatPartAtABarrierInALoopOverThreadsAreNamed) {
  // What decides is read by all threads alike, and one of them changes it in between.
  LowerOptions options;
  options.checked = true;
  const TestImage image = build(R"(
__device__ int turn;
__global__ void k(int* out) {
  if (turn == 0) {
    if (threadIdx.x == 40) turn = 1;
    __syncthreads();
    out[threadIdx.x] = 1;
  } else {
    __syncthreads();
    out[threadIdx.x] = 2;
  }
})",
                                options);
  ASSERT_EQ(image.mode("k"), "cut");
  std::vector<int> out(64);
  const kl_image& table = image.loaded->image();
  AccessCheck check({{{"out", reinterpret_cast<uint64_t>(out.data()), 64 * sizeof(int)},
                      {"turn", reinterpret_cast<uint64_t>(table.variables[0].address), sizeof(int)}},
                     {}});
  LaunchOptions launch;
  launch.check = &check;
  (void)image.run_with(launch, "k", grid(1, 64), out.data());
  const AccessFinding* parted = nullptr;
  for (auto& finding : check.findings())
    if (finding.kind == FindingKind::DivergentBarrier) parted = &finding;
  ASSERT_TRUE(parted) << text_of(check.findings());
  ASSERT_TRUE(parted->other);
  EXPECT_EQ((std::set{parted->access.place, parted->other->place}), (std::set<std::string>{"test.cu:6", "test.cu:9"}));
}

TEST(Shadow, WhatSitesRememberOfALaunchIsForgottenInTheNext) {
  LowerOptions options;
  options.checked = true;
  const TestImage image =
      build(kernel("__shared__ int s[128]; s[t] = in[i]; __syncthreads(); out[i] = s[127 - t];"), options);
  std::vector<int> memory(4 * kCount);
  int *in = memory.data(), *out = in + kCount, *far = out + kCount;
  auto run = [&](int* to, uint64_t count, bool checked = true) {
    auto address = [](const int* at) { return reinterpret_cast<uint64_t>(at); };
    AccessCheck check({{{"in", address(in), 256 * sizeof(int)}, {"out", address(to), count * sizeof(int)}},
                       {{address(to) + count * sizeof(int), address(to) + 256 * sizeof(int)}}});
    LaunchOptions launch;
    if (checked) launch.check = &check;
    EXPECT_TRUE(image.run_with(launch, "k", grid(2, 128), in, to, 256).ok());
    return text_of(check.findings());
  };
  EXPECT_EQ(run(out, 256), "");
  EXPECT_NE(run(out, 255).find("out of bounds"), std::string::npos);
  EXPECT_EQ(run(far, 256), "");
  EXPECT_EQ(run(out, 256, false), "");
  EXPECT_EQ(run(out, 256), "");
}

}  // namespace
}  // namespace kernelift::cpu
