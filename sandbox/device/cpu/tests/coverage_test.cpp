// Check mode's record of code that no launch came to.
#include <gmock/gmock.h>

#include "sandbox/device/cpu/tests/check_run.h"

namespace kernelift::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const char* kBranches = R"(
__device__ int twice(int v) { return 2 * v; }
__device__ int never(int v) {
  return v - 1;
}
template <int kStep>
__device__ int stepped(int v) {
  if (v > 100000) return v - kStep;
  return v + kStep;
}
__global__ void other(int* out) { out[0] = 1; }
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = in[i];
  if (v < 0) {
    v = never(v);
  } else if (v > 5000000) v = n == 7 ? twice(v)
                                     : 3;
  for (int step = 0; step < v % 3; ++step)
    v += stepped<1>(v) + stepped<2>(v);
  out[i] = v;
})";

/// "line:column" of all code that launches with these numbers of threads do not come to.
std::vector<std::string> unreached_by(const std::string& source, std::vector<uint32_t> blocks, LowerOptions options) {
  options.checked = true;
  const TestImage image = build(source, options);
  std::vector<int> memory(2 * kCount);
  int *in = memory.data(), *out = in + kCount;
  for (int i = 0; i < kCount; ++i) in[i] = i;
  CheckedExtents extents;
  extents.objects = {{"in", reinterpret_cast<uint64_t>(in), sizeof(int) * 2 * kCount}};
  AccessCheck check(std::move(extents));
  LaunchOptions launch;
  launch.check = &check;
  for (uint32_t count : blocks) EXPECT_TRUE(image.run_with(launch, "k", grid(count, 128), in, out, kCount).ok());
  std::vector<std::string> places;
  for (auto& place : image.loaded->unreached())
    places.push_back(std::to_string(place.line) + ":" + std::to_string(place.column));
  return places;
}

TEST(Coverage, CodeThatNoThreadCameToIsNamedByItsPlace) {
  for (bool fibers : {false, true}) {
    LowerOptions options;
    options.force_fibers = fibers;
    EXPECT_THAT(unreached_by(kBranches, {2}, options), ElementsAre("8:26", "17:15", "18:31", "18:46")) << fibers;
  }
}

TEST(Coverage, FurtherLaunchesAddToIt) {
  const char* source = R"(
__global__ void k(int* in, int* out, int n) {
  if (blockIdx.x == 1) out[threadIdx.x] = 1;
  if (blockIdx.x == 3) out[threadIdx.x + 128] = 1;
})";
  EXPECT_THAT(unreached_by(source, {1}, {}), ElementsAre("3:24", "4:24"));
  EXPECT_THAT(unreached_by(source, {1, 2}, {}), ElementsAre("4:24"));
  EXPECT_THAT(unreached_by(source, {2, 4}, {}), IsEmpty());
}

TEST(Coverage, WhatEndsALaunchAndWhatComputesNothingIsNotCounted) {
  const char* source = R"(
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (in[i] < 0) __builtin_unreachable();
  out[i] = in[i];
})";
  EXPECT_THAT(unreached_by(source, {2}, {}), IsEmpty());
}

TEST(Coverage, AnImageThatIsNotForCheckModeHasNone) {
  EXPECT_THAT(build(kBranches).loaded->unreached(), IsEmpty());
  EXPECT_EQ(build(kBranches).loaded->image().code_block_count, 0u);
}

}  // namespace
}  // namespace kernelift::cpu
