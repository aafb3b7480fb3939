// Check mode: what it finds, each beside the similar kernel that is right.
#include <set>

#include "sandbox/device/cpu/tests/check_run.h"

namespace kernelift::cpu {
namespace {

TEST(Races, AllThreadsAddingToOneSharedElementAreFoundWithBothThreadsAndTheLine) {
  const AccessFinding finding = expect_found(FindingKind::Race, "sum", R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  sum += in[threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
})");
  EXPECT_EQ(finding.access.place, "test.cu:6");
  ASSERT_TRUE(finding.other);
  EXPECT_NE(finding.access.thread, finding.other->thread);
  EXPECT_EQ(finding.access.block, finding.other->block);
}

TEST(Races, AllThreadsAddingToOneElementOfABufferAreFound) {
  expect_found(FindingKind::Race, "out", R"(
__global__ void k(int* in, int* out, int n) { out[blockIdx.x] += in[threadIdx.x]; })");
}

TEST(Races, AllThreadsAddingToOneElementAreFoundWhereNothingTellsThemApart) {
  expect_found(FindingKind::Race, "out", R"(
__global__ void k(int* in, int* out, int n) { out[blockIdx.x] += 1; })");
}

TEST(Races, ATileWithItsBarriersIsRightAndWithoutOneIsNot) {
  auto kernel = [](const std::string& barrier) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int tile[128];
  int t = threadIdx.x;
  tile[t] = in[t];)" +
           barrier + R"(
  out[blockIdx.x * 128 + t] = tile[127 - t];
})";
  };
  expect_nothing(kernel("__syncthreads();"));
  expect_found(FindingKind::Race, "tile", kernel(""));
}

TEST(Races, ATileInALoopNeedsBothOfItsBarriers) {
  auto kernel = [](const std::string& before, const std::string& after) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int tile[128];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 8; ++i) {
    tile[t] = in[i * 128 + t];)" +
           before + "for (int j = 0; j < 128; ++j) sum += tile[j] * (j ^ t);" + after + R"(
  }
  out[blockIdx.x * 128 + t] = sum;
})";
  };
  expect_nothing(kernel("__syncthreads();", "__syncthreads();"));
  expect_found(FindingKind::Race, "tile", kernel("__syncthreads();", ""));
  expect_found(FindingKind::Race, "tile", kernel("", "__syncthreads();"));
}

TEST(Races, ADoubleBufferedTileNeedsOneBarrierOnly) {
  auto kernel = [](const std::string& buffers) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int tile[2][128];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 8; ++i) {
    tile[i % )" +
           buffers + R"(][t] = in[i * 128 + t];
    __syncthreads();
    for (int j = 0; j < 128; ++j) sum += tile[i % )" +
           buffers + R"(][j] * (j ^ t);
  }
  out[blockIdx.x * 128 + t] = sum;
})";
  };
  expect_nothing(kernel("2"));
  expect_found(FindingKind::Race, "tile", kernel("1"));
}

TEST(Races, ATreeOfSumsNeedsItsBarriers) {
  auto kernel = [](const std::string& barrier) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  extern __shared__ int sums[];
  int t = threadIdx.x;
  sums[t] = in[t];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) sums[t] += sums[t + half];)" +
           barrier + R"(
  }
  if (t == 0) out[blockIdx.x] = sums[0];
})";
  };
  expect_nothing(kernel("__syncthreads();"), grid(2, 128, 512));
  expect_found(FindingKind::Race, "sums", kernel(""), grid(2, 128, 512));
}

TEST(Races, TheLastWarpOfATreeNeedsSyncwarpOrVolatile) {
  auto kernel = [](const std::string& type, const std::string& barrier) {
    return R"(
__device__ void last(int t, )" +
           type + R"(* s) {
  for (int half = 16; half > 0; half /= 2) {
    int other = s[t + half];)" +
           barrier + R"(
    s[t] += other;)" +
           barrier + R"(
  }
}
__global__ void k(int* in, int* out, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = in[t]; s[t + 32] = 0;
  __syncthreads();
  last(t, s);
  __syncthreads();
  if (t == 0) out[blockIdx.x] = s[0];
})";
  };
  expect_nothing(kernel("int", "__syncwarp(~0u);"), grid(2, 32));
  expect_nothing(kernel("volatile int", ""), grid(2, 32));
  expect_found(FindingKind::Race, "s", kernel("int", ""), grid(2, 32));
}

TEST(Races, SyncwarpOrdersTheLanesThatItNamesAlone) {
  auto kernel = [](const std::string& partner) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncwarp(t < 16 ? 0xffffu : 0xffff0000u);
  out[blockIdx.x * 32 + t] = s[)" +
           partner + R"(];
})";
  };
  expect_nothing(kernel("t ^ 1"), grid(2, 32));
  expect_found(FindingKind::Race, "s", kernel("31 - t"), grid(2, 32));
}

TEST(Races, SyncwarpDoesNotOrderWarps) {
  expect_found(FindingKind::Race, "s", R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncwarp(~0u);
  out[blockIdx.x * 128 + t] = s[127 - t];
})");
}

TEST(Races, AShuffleOrdersWhatWasReadAndNotWhatWasStored) {
  auto kernel = [](const std::string& exchange) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int s[128];
  int t = threadIdx.x, warp = t / 32 * 32, lane = t % 32;
  s[t] = in[t];
  )" + exchange +
           R"(
  out[blockIdx.x * 128 + t] = s[warp + 31 - lane] + v;
})";
  };
  expect_nothing(kernel("int v = 0; __syncwarp(~0u);"));
  for (auto* exchange :
       {"int v = __shfl_sync(~0u, s[t], 0);", "int v = __any_sync(~0u, n > 0);", "int v = __ballot_sync(~0u, t > n);"})
    expect_found(FindingKind::Race, "s", kernel(exchange));
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  int v = out[row] + in[threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (lane == 0) out[row] = v;
})");
}

TEST(Races, SumsByShuffleAreRight) {
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int partial[4];
  int t = threadIdx.x, v = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += in[i];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) partial[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < 4 ? partial[t] : 0;
    for (int d = 2; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
})");
}

TEST(Races, AHistogramIsRightWithAtomicsAndABarrierAndWrongWithoutEither) {
  auto kernel = [](const std::string& add, const std::string& barrier) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int bins[16];
  int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) )" +
           add + barrier + R"(
  if (t < 16) atomicAdd(&out[t], bins[t]);
})";
  };
  const std::string atomic = "atomicAdd(&bins[in[i] * 7 % 16], 1);", plain = "bins[in[i] * 7 % 16] += 1;";
  expect_nothing(kernel(atomic, "__syncthreads();"));
  expect_found(FindingKind::Race, "bins", kernel(plain, "__syncthreads();"));
  expect_found(FindingKind::Race, "bins", kernel(atomic, ""));
}

TEST(Races, AddingByCompareAndSwapMayReadTheOldValuePlainly) {
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  int old = *out, assumed;
  do { assumed = old; old = atomicCAS(out, assumed, assumed + in[threadIdx.x]); } while (assumed != old);
})");
}

TEST(Races, OneAtomicOfAWarpThatItsLanesShareIsRight) {
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  bool keep = in[i] % 3 == 0;
  unsigned votes = __ballot_sync(~0u, keep);
  int lane = t % 32, leader = __builtin_ctz(votes), at = 0;
  if (lane == leader) at = atomicAdd(&out[0], __builtin_popcount(votes));
  at = __shfl_sync(~0u, at, leader);
  if (keep) out[1 + at + __builtin_popcount(votes & ((1u << lane) - 1))] = in[i];
})");
}

TEST(Races, WhatManyThreadsWriteAlikeIsNone) {
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  if (in[threadIdx.x] % 2) out[0] = 1;
})");
  expect_found(FindingKind::Race, "out", R"(
__global__ void k(int* in, int* out, int n) {
  if (in[threadIdx.x] % 2) out[blockIdx.x] = threadIdx.x;
})");
}

TEST(Races, BytesThatAreNeighboursAreNotOneObject) {
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ char bytes[128];
  __shared__ short halves[128];
  int t = threadIdx.x;
  bytes[t] = char(in[t]); halves[t] = short(in[t]);
  __syncthreads();
  out[blockIdx.x * 128 + t] = bytes[127 - t] + halves[127 - t];
})");
}

TEST(Races, BlocksThatWriteToOneElementAreFound) {
  const AccessFinding finding = expect_found(FindingKind::BlockRace, "out", R"(
__global__ void k(int* in, int* out, int n) {
  if (threadIdx.x == 0) out[0] += in[1 + blockIdx.x];
})");
  ASSERT_TRUE(finding.other);
  EXPECT_NE(finding.access.block, finding.other->block);
  expect_found(FindingKind::BlockRace, "out", R"(
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x) out[n - blockIdx.x] = out[i - 1];
})");
}

TEST(Races, TheLastBlockThatIsDoneMayReadWhatAllWrote) {
  auto kernel = [](const std::string& last) {
    return R"(
__device__ int done;
__global__ void k(int* in, int* out, int n) {
  __shared__ bool last;
  int t = threadIdx.x;
  out[1 + blockIdx.x * blockDim.x + t] = in[t] + 1;
  __threadfence();
  __syncthreads();
  if (t == 0) last = )" +
           last + R"(;
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (int i = t; i < gridDim.x * blockDim.x; i += blockDim.x) sum += out[1 + i];
  atomicAdd(&out[0], sum);
})";
  };
  expect_nothing(kernel("atomicAdd(&done, 1) == gridDim.x - 1"), grid(4, 128));
  expect_found(FindingKind::BlockRace, "out", kernel("blockIdx.x == gridDim.x - 1"), grid(4, 128));
}

TEST(Races, ABlockMaySpinUntilTheOneBeforeItIsDone) {
  auto kernel = [](const std::string& wait) {
    return R"(
__device__ volatile int flags[64];
__global__ void k(int* in, int* out, int n) {
  int b = blockIdx.x;
  if (threadIdx.x == 0) {
    int before = 0;
    if (b) { )" +
           wait + R"( before = out[b - 1]; }
    out[b] = before + in[b];
    __threadfence();
    flags[b] = 1;
  }
})";
  };
  expect_nothing(kernel("while (!flags[b - 1]) {} __threadfence();"), grid(8, 32));
  expect_found(FindingKind::BlockRace, "out", kernel(""), grid(8, 32));
}

TEST(Races, AVolatileVariableThatNothingWaitsForOrdersNoBlocks) {
  expect_found(FindingKind::BlockRace, "running", R"(
__device__ volatile int running[64];
__global__ void k(int* in, int* out, int n) {
  if (threadIdx.x != 0) return;
  int sum = blockIdx.x ? running[blockIdx.x - 1] : 0, before = sum;
  for (int i = 0; i < 32; ++i) sum += in[blockIdx.x * 32 + i];
  running[blockIdx.x] = sum;
  out[blockIdx.x] = sum - before;
})",
               grid(8, 32));
}

TEST(Races, AWrongValueThatIsHopedToBeOverwrittenIsFound) {
  const std::vector<AccessFinding> findings = findings_of(R"(
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i + 1] = 0;
  out[i] = in[i] + 1;
})");
  std::set<FindingKind> kinds;
  for (auto& finding : findings) kinds.insert(finding.kind);
  EXPECT_EQ(kinds, (std::set{FindingKind::Race, FindingKind::BlockRace})) << text_of(findings);
}

TEST(Races, ABarrierOfTheGridOrdersItsBlocks) {
  auto kernel = [](const std::string& barrier) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  out[i] = in[i];)" +
           barrier + R"(
  out[all + i] = out[all - 1 - i];
})";
  };
  Geometry cooperative = grid(4, 64);
  cooperative.cooperative = true;
  expect_nothing(kernel("__kl_grid_sync();"), cooperative);
  expect_found(FindingKind::BlockRace, "out", kernel("__syncthreads();"), cooperative);
}

TEST(Races, ALockOrdersTheThreadsThatTakeIt) {
  expect_nothing(R"(
__device__ int lock;
__global__ void k(int* in, int* out, int n) {
  if (threadIdx.x % 32) return;
  while (atomicCAS(&lock, 0, 1)) {}
  __threadfence();
  out[0] += in[threadIdx.x];
  __threadfence();
  atomicExch(&lock, 0);
})");
}

TEST(Races, ModuleVariablesAreLookedAt) {
  expect_found(FindingKind::Race, "total", R"(
__device__ int total;
__global__ void k(int* in, int* out, int n) { total += in[threadIdx.x]; out[blockIdx.x] = 0; })",
               grid(1, 128));
}

TEST(Bounds, AnIndexOutsideOfItsSharedArrayIsFoundThoughAnotherIsThere) {
  const AccessFinding finding = expect_found(FindingKind::OutOfBounds, "a", R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int a[64], b[64];
  int t = threadIdx.x;
  if (t < 64) a[t] = in[t], b[t] = in[t + 64];
  __syncthreads();
  out[t] = a[t % 64 + n - 4095] + b[t % 64];
})",
                                             grid(1, 128));
  EXPECT_EQ(finding.element, 64);
  EXPECT_EQ(finding.access.place, "test.cu:7");
}

TEST(Bounds, DynamicSharedMemoryEndsWhereTheLaunchSays) {
  auto kernel = R"(
__global__ void k(int* in, int* out, int n) {
  extern __shared__ int a[];
  int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  out[blockIdx.x * 128 + t] = a[127 - t];
})";
  expect_nothing(kernel, grid(2, 128, 512));
  expect_found(FindingKind::OutOfBounds, "a", kernel, grid(2, 128, 508));
}

TEST(Bounds, AReadBehindABufferIsFound) {
  const AccessFinding finding = expect_found(FindingKind::OutOfBounds, "in", R"(
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i + 1];
})",
                                             grid(32, 128));
  EXPECT_EQ(finding.element, kCount);
}

/// Blocks that come after the first do not ask about reads that are in order.
TEST(Bounds, EachOfNeighbouringReadsIsFoundByItsOwnLineThoughTheOthersAreInBounds) {
  for (int bad = 0; bad < 3; ++bad) {
    auto offset = [&](int of) { return std::to_string(of == bad ? 64 : of); };
    const AccessFinding finding = expect_found(FindingKind::OutOfBounds, "in", R"(
__global__ void k(int* in, int* out, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) & (n - 4);
  out[i + threadIdx.x % 4] = in[i + )" + offset(0) + R"(] +
           in[i + )" + offset(1) + R"(] +
           in[i + )" + offset(2) + R"(];
})",
                                               grid(32, 128));
    EXPECT_EQ(finding.access.place, "test.cu:" + std::to_string(4 + bad));
    EXPECT_EQ(finding.element, kCount);
  }
}

TEST(Races, AWriteToWhatBlocksHaveReadSoFarAsksForAllReadsAndIsFoundWithThem) {
  auto kernel = [](const std::string& place) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
  if (i == n - 1) in[)" +
           place + R"(] = 1;
})";
  };
  const Checked first = run_checked(kernel("200"), grid(32, 128), {}, false);
  EXPECT_EQ(first.not_checked, "it began to write to in after other blocks had read it");
  EXPECT_EQ(text_of(first.findings), "");
  const AccessFinding finding = expect_found(FindingKind::BlockRace, "in", kernel("200"), grid(32, 128));
  EXPECT_EQ(finding.element, 200);
  expect_nothing(kernel("n - 1"), grid(32, 128));
}

TEST(Alignment, AVectorAtAnOddElementIsFoundBehindTheFirstBlockToo) {
  auto kernel = [](const std::string& offset) {
    return R"(
typedef int vector __attribute__((ext_vector_type(2)));
__global__ void k(int* in, int* out, int n) {
  int t = blockIdx.x * 128 + threadIdx.x;
  vector v = *(vector*)(in + 2 * t + (blockIdx.x == 9) * )" +
           offset + R"();
  out[t] = v.x + v.y;
})";
  };
  expect_nothing(kernel("2"), grid(16, 128));
  expect_found(FindingKind::Misaligned, "", kernel("1"), grid(16, 128));
}

TEST(Bounds, AThreadsOwnArraysAreItsOwn) {
  expect_nothing(R"(
__device__ __noinline__ void fill(int* own, int seed) { for (int i = 0; i < 8; ++i) own[i * seed % 8] = seed + i; }
__global__ void k(int* in, int* out, int n) {
  int own[8], i = blockIdx.x * blockDim.x + threadIdx.x;
  fill(own, in[i] | 1);
  out[i] = own[in[i] % 8];
})");
}

TEST(Initialisation, SharedMemoryThatNoThreadWroteIsFound) {
  expect_found(FindingKind::Uninitialised, "a", R"(
__global__ void k(int* in, int* out, int n) {
  __shared__ int a[128];
  int t = threadIdx.x;
  if (t > 0) a[t] = in[t];
  __syncthreads();
  out[blockIdx.x * 128 + t] = a[127 - t];
})");
}

TEST(Alignment, AVectorAtAnOddElementIsFound) {
  auto kernel = [](const std::string& offset) {
    return R"(
typedef int vector __attribute__((ext_vector_type(2)));
__global__ void k(int* in, int* out, int n) {
  int t = threadIdx.x;
  vector v = *(vector*)(in + 2 * t + n - )" +
           offset + R"();
  if (v.x >= 0) out[blockIdx.x * 128 + t] = v.x + v.y;
})";
  };
  int misaligned = 0;
  for (auto offset : {"4096", "4095"})
    for (auto& finding : findings_of(kernel(offset))) misaligned += finding.kind == FindingKind::Misaligned;
  EXPECT_EQ(misaligned, 1);
}

TEST(Barriers, ThreadsThatWaitAtDifferentOnesAreFoundAndThoseThatHaveEndedDoNotCount) {
  auto kernel = [](const std::string& rest) {
    return R"(
__global__ void k(int* in, int* out, int n) {
  int t = threadIdx.x;
  if (t >= 96) return;
  if (t < 32) { out[blockIdx.x * 128 + t] = in[t]; __syncthreads(); }
  )" + rest +
           R"(
  out[blockIdx.x * 128 + t] += 1;
})";
  };
  const AccessFinding finding = expect_found(FindingKind::DivergentBarrier, "",
                                             kernel("else { out[blockIdx.x * 128 + t] = t; __syncthreads(); }"));
  EXPECT_NE(finding.access.place, finding.other->place);
  expect_nothing(R"(
__global__ void k(int* in, int* out, int n) {
  int t = threadIdx.x;
  if (t >= 96) return;
  out[blockIdx.x * 128 + t] = in[t];
  __syncthreads();
  out[blockIdx.x * 128 + t] += 1;
})");
}

}  // namespace
}  // namespace kernelift::cpu
