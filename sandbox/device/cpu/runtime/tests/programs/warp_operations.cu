// flags: -arch=sm_80
// Shuffles, votes, matches, __activemask, __syncwarp and warp reductions.
#include <cuda_runtime.h>
#include "check.h"

__global__ void warp(int* out, double* sums) {
  const unsigned all = 0xffffffffu;
  int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  double value = i;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(all, value, offset);
  if (lane == 0) sums[i / 32] = value;
  int sum = i;
  for (int mask = 1; mask < 32; mask *= 2) sum += __shfl_xor_sync(all, sum, mask);
  int scan = 1;
  for (int d = 1; d < 32; d *= 2) {
    int before = __shfl_up_sync(all, scan, d);
    if (lane >= d) scan += before;
  }
  unsigned odd = __ballot_sync(all, lane & 1);
  int first = __shfl_sync(all, i, 0), segment = __shfl_sync(all, lane, 0, 8);
  bool fine = sum == 32 * first + 496 && scan == lane + 1 && odd == 0xaaaaaaaau && segment == lane / 8 * 8;
  fine = fine && __all_sync(all, lane < 32) && __any_sync(all, lane == 5) && !__any_sync(all, lane == 50);
  fine = fine && __match_any_sync(all, lane / 4) == 0xfu << lane / 4 * 4;
  fine = fine && __reduce_add_sync(all, lane) == 496 && __reduce_max_sync(all, lane) == 31;
  if (lane < 7) {
    unsigned active = __activemask();
    fine = fine && (active >> lane & 1) && (active & ~0x7fu) == 0;
    int next = __shfl_sync(0x7fu, lane, (lane + 1) % 7);
    fine = fine && next == (lane + 1) % 7;
  }
  __syncwarp();
  out[i] = fine;
}

__global__ void exchange(int* out) {  // Shared memory between lanes, ordered by __syncwarp only.
  __shared__ int box[64];
  int t = threadIdx.x;
  box[t] = t * 3;
  __syncwarp();
  int got = box[t ^ 1];
  __syncwarp();
  box[t] = got + 1;
  __syncwarp();
  out[t] = box[t ^ 1];
}

int main() {
  int *out = on_device<int>(nullptr, 512), host[512];
  double *sums = on_device<double>(nullptr, 16), host_sums[16];
  warp<<<4, 128>>>(out, sums);
  to_host(host, out, 512);
  to_host(host_sums, sums, 16);
  for (int i = 0; i < 512; ++i) CHECK(host[i] == 1);
  for (int w = 0; w < 16; ++w) CHECK(host_sums[w] == 32.0 * 32 * w + 496);
  exchange<<<1, 64>>>(out);
  to_host(host, out, 64);
  for (int i = 0; i < 64; ++i) CHECK(host[i] == i * 3 + 1);
  return PASS();
}
