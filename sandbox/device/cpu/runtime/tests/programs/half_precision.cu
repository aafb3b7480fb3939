// fp16: arithmetic, comparisons, conversions, half2.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include "check.h"

__global__ void axpy(const __half* x, __half* y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hadd(__hmul(__float2half(a), x[i]), y[i]);
}
__global__ void pairs(const __half2* in, __half2* out, float* lows, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  __half2 two = __float2half2_rn(2.0f);
  out[i] = __hfma2(in[i], two, in[i]);
  lows[i] = __low2float(out[i]) + (__hgt(__high2half(in[i]), __float2half(20.0f)) ? 1000.0f : 0.0f);
}

/// Masks of pairs, a complex product and a sum, and counting.
__global__ void rest(__half2 a, __half2 b, unsigned* masks, __half2* product) {
  masks[0] = __hlt2_mask(a, b), masks[1] = __hneu2_mask(a, b), masks[2] = __hgeu2_mask(a, b);
  __half counted = __low2half(a);
  counted++;
  *product = __hcmadd(a, b, __halves2half2(counted, counted));
}

__half of_bits(unsigned short bits) {
  __half_raw raw;
  raw.x = bits;
  return __half(raw);
}
unsigned short bits_of(__half value) {
  volatile __half kept;
  kept = __half_raw(value);
  return static_cast<__half_raw>(kept).x;
}

/// Signed zeros, NaNs, and what a pair's != asks: whether both differ.
void check_corners() {
  const __half plus = of_bits(0), minus = of_bits(0x8000), nan = of_bits(0x7e01), one = of_bits(0x3c00);
  CHECK(bits_of(__hmax(minus, plus)) == 0 && bits_of(__hmin(plus, minus)) == 0x8000);
  CHECK(bits_of(__hmax(nan, one)) == 0x3c00 && bits_of(__hmin(one, nan)) == 0x3c00 &&
        bits_of(__hmax(nan, nan)) == 0x7fff);
  CHECK(bits_of(__hmax_nan(nan, one)) == 0x7fff && bits_of(__hmin_nan(one, nan)) == 0x7fff);
  const __half2 a = __floats2half2_rn(1, 2);
  CHECK(!(a != __floats2half2_rn(1, 3)) && a != __floats2half2_rn(3, 3) && !(a == __floats2half2_rn(1, 3)));
  CHECK(a < __floats2half2_rn(2, 3) && !(a < __floats2half2_rn(2, 2)) && a >= __floats2half2_rn(1, 1));
}

int main() {
  check_corners();
  const int n = 64;
  __half x[n], y[n];
  for (int i = 0; i < n; ++i) {
    x[i] = __float2half(float(i));
    y[i] = __float2half(0.5f);
  }
  __half *device_x = on_device(x, n), *device_y = on_device(y, n);
  axpy<<<2, 32>>>(device_x, device_y, 2.0f, n);
  to_host(y, device_y, n);
  for (int i = 0; i < n; ++i) CHECK(__half2float(y[i]) == 2.0f * i + 0.5f);
  float lows[n / 2], *device_lows = on_device<float>(nullptr, n / 2);
  pairs<<<1, 32>>>((__half2*)device_x, (__half2*)device_y, device_lows, n / 2);
  to_host(lows, device_lows, n / 2);
  for (int i = 0; i < n / 2; ++i) CHECK(lows[i] == 6.0f * i + (2 * i + 1 > 20 ? 1000.0f : 0.0f));
  unsigned masks[3], *device_masks = on_device<unsigned>(nullptr, 3);
  __half2 product, *device_product = on_device<__half2>(nullptr, 1);
  rest<<<1, 1>>>(__floats2half2_rn(1, 2), __floats2half2_rn(3, 2), device_masks, device_product);
  to_host(masks, device_masks, 3);
  to_host(&product, device_product, 1);
  CHECK(masks[0] == 0xffffu && masks[1] == 0xffffu && masks[2] == 0xffff0000u);
  CHECK(__low2float(product) == 1 && __high2float(product) == 10);
  return PASS();
}
