// Vector types, cache-hinted loads and stores, bit intrinsics, restrict pointers.
#include <cuda_runtime.h>
#include "check.h"

__global__ void mix(const float4* __restrict__ in, float4* out, const int2* pairs, uchar4* bytes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = __ldg(&in[i]);
  int2 p = __ldcg(&pairs[i]);
  v.x += p.x;
  v.w = fmaf(v.y, v.z, p.y);
  __stcs(&out[i], make_float4(v.w, v.z, v.y, v.x));
  bytes[i] = make_uchar4(i, i >> 8, __popc(i), __clz(i + 1));
}

__global__ void bits(unsigned* out) {
  unsigned x = 0x12345678u;
  out[0] = __brev(x);
  out[1] = __byte_perm(x, 0xabcdef01u, 0x7410);
  out[2] = __ffs(0x100);
  out[3] = __funnelshift_l(x, x, 8);
  out[4] = __umulhi(0xffffffffu, 0xffffffffu);
  out[5] = __vadd4(0x01ff0203u, 0x01010101u);
  out[6] = __float_as_uint(1.0f);
  out[7] = __mul24(1000, -3);
}

int main() {
  const int n = 300;
  static float4 in[n], out[n];
  static int2 pairs[n];
  static uchar4 bytes[n];
  for (int i = 0; i < n; ++i) {
    in[i] = make_float4(i, i + 1, 2, 0);
    pairs[i] = make_int2(10 * i, 5);
  }
  float4 *device_in = on_device(in, n), *device_out = on_device(in, n);
  int2* device_pairs = on_device(pairs, n);
  uchar4* device_bytes = on_device(bytes, n);
  mix<<<3, 128>>>(device_in, device_out, device_pairs, device_bytes, n);
  to_host(out, device_out, n);
  to_host(bytes, device_bytes, n);
  for (int i = 0; i < n; ++i) {
    CHECK(out[i].x == (i + 1) * 2.0f + 5 && out[i].y == 2 && out[i].z == i + 1 && out[i].w == 11 * i);
    CHECK(bytes[i].y == i >> 8 && bytes[i].z == __builtin_popcount(i) && bytes[i].w == __builtin_clz(i + 1));
  }
  unsigned words[8], *device_words = on_device(words, 8);
  bits<<<1, 1>>>(device_words);
  to_host(words, device_words, 8);
  CHECK(words[0] == 0x1e6a2c48u && words[1] == 0xab015678u);
  CHECK(words[2] == 9 && words[3] == 0x34567812u && words[4] == 0xfffffffeu && words[5] == 0x02000304u);
  CHECK(words[6] == 0x3f800000u && int(words[7]) == -3000);
  return PASS();
}
