// DPX functions on the device and on the host, against what they are documented to compute, over edge values.
#include <cuda_runtime.h>
#include "check.h"

__host__ __device__ int top(int a, int b) { return a > b ? a : b; }
__host__ __device__ int low(int a, int b) { return a < b ? a : b; }
__host__ __device__ int half(unsigned word, int which) { return (short)(word >> 16 * which); }

/// The number of differences; a, b, c are taken as words and as pairs of halves.
__host__ __device__ int differences(unsigned a, unsigned b, unsigned c) {
  int wrong = 0;
  bool first, high, lower;
  const int x = a, y = b, z = c, sum = (int)(a + b);
  wrong += __viaddmax_s32(x, y, z) != top(sum, z);
  wrong += __viaddmax_s32_relu(x, y, z) != top(top(sum, z), 0);
  wrong += __viaddmin_s32(x, y, z) != low(sum, z);
  wrong += __vimax3_s32(x, y, z) != top(top(x, y), z);
  wrong += __vimin3_s32_relu(x, y, z) != top(low(low(x, y), z), 0);
  wrong += __viaddmin_u32(a, b, c) != (a + b < c ? a + b : c);
  wrong += __vimax3_u32(a, b, c) != (a > b ? (a > c ? a : c) : (b > c ? b : c));
  wrong += __vibmax_s32(x, y, &first) != top(x, y) || first != (x >= y);
  wrong += __vibmin_u32(a, b, &first) != (a < b ? a : b) || first != (a <= b);
  const unsigned words[] = {__viaddmax_s16x2(a, b, c), __viaddmin_s16x2_relu(a, b, c),
                            __vimax3_s16x2(a, b, c),   __vimin3_s16x2(a, b, c),
                            __vimax_s16x2_relu(a, b),  __vibmin_s16x2(a, b, &high, &lower)};
  for (int i = 0; i < 2; ++i) {
    const int p = half(a, i), q = half(b, i), r = half(c, i), s = (short)(p + q);
    const int expected[] = {top(s, r),         top(low(s, r), 0), top(top(p, q), r),
                            low(low(p, q), r), top(top(p, q), 0), low(p, q)};
    for (int k = 0; k < 6; ++k) wrong += half(words[k], i) != expected[k];
    wrong += (i ? high : lower) != (p <= q);
  }
  return wrong;
}

__global__ void compare(const unsigned* values, int n, int* wrong) {
  const int i = threadIdx.x;
  for (int j = 0; j < n; ++j)
    for (int k = 0; k < n; ++k) atomicAdd(wrong, differences(values[i], values[j], values[k]));
}

int main() {
  const unsigned values[] = {0,          1,          0xffffffff, 0x7fffffff, 0x80000000,
                             0x7fff8000, 0x80007fff, 0x00017fff, 0xffff0001, 0x12345678};
  const int n = 10, zero = 0;
  int on_host = 0, on_gpu = -1;
  for (unsigned a : values)
    for (unsigned b : values)
      for (unsigned c : values) on_host += differences(a, b, c);
  int* wrong = on_device(&zero, 1);
  compare<<<1, n>>>(on_device(values, n), n, wrong);
  to_host(&on_gpu, wrong, 1);
  CHECK(on_host == 0);
  CHECK(on_gpu == 0);
  return PASS();
}
