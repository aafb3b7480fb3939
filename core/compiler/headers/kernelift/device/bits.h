// Integer intrinsics that clang's own headers lack: funnel shifts, byte dot products.
#pragma once
#define KL_DEVICE static __device__ __forceinline__

KL_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return __builtin_elementwise_fshl(high, low, shift & 31u);
}
KL_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return __builtin_elementwise_fshr(high, low, shift & 31u);
}
// The "c" forms clamp the shift at 32 instead of wrapping it.
KL_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32u ? low : __builtin_elementwise_fshl(high, low, shift);
}
KL_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32u ? high : __builtin_elementwise_fshr(high, low, shift);
}

KL_DEVICE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (signed char)(a >> i) * (signed char)(b >> i);
  return c;
}
KL_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 32; i += 8) c += ((a >> i) & 0xffu) * ((b >> i) & 0xffu);
  return c;
}
KL_DEVICE int __dp4a(char4 a, char4 b, int c) { return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
KL_DEVICE unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return c + (unsigned)a.x * b.x + (unsigned)a.y * b.y + (unsigned)a.z * b.z + (unsigned)a.w * b.w;
}
KL_DEVICE int __dp2a_lo(int a, int b, int c) {
  return c + (short)a * (signed char)b + (a >> 16) * (signed char)(b >> 8);
}
KL_DEVICE int __dp2a_hi(int a, int b, int c) {
  return c + (short)a * (signed char)(b >> 16) + (a >> 16) * (signed char)(b >> 24);
}
KL_DEVICE unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xffffu) * (b & 0xffu) + (a >> 16) * ((b >> 8) & 0xffu);
}
KL_DEVICE unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xffffu) * ((b >> 16) & 0xffu) + (a >> 16) * (b >> 24);
}
#undef KL_DEVICE
