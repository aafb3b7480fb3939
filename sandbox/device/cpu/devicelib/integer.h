// Integer intrinsics: counting, permuting, averaging, wide products.
#pragma once
i32 __nv_clz(i32 x) { return x ? __builtin_clz((u32)x) : 32; }
i32 __nv_clzll(i64 x) { return x ? __builtin_clzll((u64)x) : 64; }
i32 __nv_popc(i32 x) { return __builtin_popcount((u32)x); }
i32 __nv_popcll(i64 x) { return __builtin_popcountll((u64)x); }
i32 __nv_ffs(i32 x) { return x ? __builtin_ctz((u32)x) + 1 : 0; }
i32 __nv_ffsll(i64 x) { return x ? __builtin_ctzll((u64)x) + 1 : 0; }
i32 __nv_brev(i32 x) { return (i32)__builtin_bitreverse32((u32)x); }
i64 __nv_brevll(i64 x) { return (i64)__builtin_bitreverse64((u64)x); }

static inline u32 permuted(u32 a, u32 b, u32 selector) {
  const u64 bytes = (u64)b << 32 | a;
  u32 result = 0;
  for (i32 i = 0; i < 4; ++i) {
    const u32 choice = selector >> 4 * i;
    u32 byte = (u32)(bytes >> 8 * (choice & 7)) & 0xff;
    if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}
// __byte_perm ignores the sign-replication bit of a selector; prmt honours it.
i32 __nv_byte_perm(i32 a, i32 b, i32 s) { return (i32)permuted((u32)a, (u32)b, (u32)s & 0x7777); }
i32 __nvvm_prmt(i32 a, i32 b, i32 s) { return (i32)permuted((u32)a, (u32)b, (u32)s); }

#define KL_MINMAX(suffix, type, compare_type)                                                   \
  type __nv_##suffix##min(type x, type y) { return (compare_type)x < (compare_type)y ? x : y; } \
  type __nv_##suffix##max(type x, type y) { return (compare_type)x > (compare_type)y ? x : y; }
KL_MINMAX(, i32, i32)
KL_MINMAX(u, i32, u32)
KL_MINMAX(ll, i64, i64)
KL_MINMAX(ull, i64, u64)

i32 __nv_mulhi(i32 x, i32 y) { return (i32)((i64)x * y >> 32); }
i32 __nv_umulhi(i32 x, i32 y) { return (i32)((u64)(u32)x * (u32)y >> 32); }
i64 __nv_mul64hi(i64 x, i64 y) { return (i64)((__int128)x * y >> 64); }
i64 __nv_umul64hi(i64 x, i64 y) { return (i64)((unsigned __int128)(u64)x * (u64)y >> 64); }
static inline i32 signed24(i32 x) { return (i32)((u32)x << 8) >> 8; }
i32 __nv_mul24(i32 x, i32 y) { return (i32)((u32)signed24(x) * (u32)signed24(y)); }
i32 __nv_umul24(i32 x, i32 y) { return (i32)(((u32)x & 0xffffff) * ((u32)y & 0xffffff)); }
i32 __nv_sad(i32 x, i32 y, i32 z) { return (i32)((x > y ? (u32)x - (u32)y : (u32)y - (u32)x) + (u32)z); }
i32 __nv_usad(i32 x, i32 y, i32 z) { return (i32)(((u32)x > (u32)y ? (u32)x - (u32)y : (u32)y - (u32)x) + (u32)z); }
i32 __nv_abs(i32 x) { return x < 0 ? (i32)(0u - (u32)x) : x; }
i64 __nv_llabs(i64 x) { return x < 0 ? (i64)(0ull - (u64)x) : x; }
i32 __nv_hadd(i32 a, i32 b) { return (i32)(((i64)a + b) >> 1); }
i32 __nv_rhadd(i32 a, i32 b) { return (i32)(((i64)a + b + 1) >> 1); }
i32 __nv_uhadd(i32 a, i32 b) { return (i32)(((u64)(u32)a + (u32)b) >> 1); }
i32 __nv_urhadd(i32 a, i32 b) { return (i32)(((u64)(u32)a + (u32)b + 1) >> 1); }

i32 __nvvm_mulhi_i(i32 x, i32 y) { return __nv_mulhi(x, y); }
i32 __nvvm_mulhi_ui(i32 x, i32 y) { return __nv_umulhi(x, y); }
i64 __nvvm_mulhi_ll(i64 x, i64 y) { return __nv_mul64hi(x, y); }
i64 __nvvm_mulhi_ull(i64 x, i64 y) { return __nv_umul64hi(x, y); }
i16 __nvvm_mulhi_s(i16 x, i16 y) { return (i16)((i32)x * y >> 16); }
i16 __nvvm_mulhi_us(i16 x, i16 y) { return (i16)((u32)(u16)x * (u16)y >> 16); }
i32 __nvvm_mul24_i(i32 x, i32 y) { return __nv_mul24(x, y); }
i32 __nvvm_mul24_ui(i32 x, i32 y) { return __nv_umul24(x, y); }
i32 __nvvm_sad_i(i32 x, i32 y, i32 z) { return __nv_sad(x, y, z); }
i32 __nvvm_sad_ui(i32 x, i32 y, i32 z) { return __nv_usad(x, y, z); }

static inline i32 sum_of_products(u32 a, u32 b, i32 c, i32 signed_a, i32 signed_b) {
  for (i32 i = 0; i < 4; ++i) {
    const i32 x = signed_a ? (i32)(i8)(a >> 8 * i) : (i32)(u8)(a >> 8 * i);
    const i32 y = signed_b ? (i32)(i8)(b >> 8 * i) : (i32)(u8)(b >> 8 * i);
    c = (i32)((u32)c + (u32)(x * y));
  }
  return c;
}
i32 __nvvm_idp4a_s_s(i32 a, i32 b, i32 c) { return sum_of_products((u32)a, (u32)b, c, 1, 1); }
i32 __nvvm_idp4a_s_u(i32 a, i32 b, i32 c) { return sum_of_products((u32)a, (u32)b, c, 1, 0); }
i32 __nvvm_idp4a_u_s(i32 a, i32 b, i32 c) { return sum_of_products((u32)a, (u32)b, c, 0, 1); }
i32 __nvvm_idp4a_u_u(i32 a, i32 b, i32 c) { return sum_of_products((u32)a, (u32)b, c, 0, 0); }

// Funnel shifts that clamp their count at 32; flo is the position of the highest significant bit, -1 if none.
i32 __nvvm_fshl_clamp_i32(i32 high, i32 low, i32 n) {
  return (u32)n >= 32 ? low : (i32)(((u64)(u32)high << 32 | (u32)low) << (u32)n >> 32);
}
i32 __nvvm_fshr_clamp_i32(i32 high, i32 low, i32 n) {
  return (u32)n >= 32 ? high : (i32)(((u64)(u32)high << 32 | (u32)low) >> (u32)n);
}
i32 __nvvm_flo_u_i32(i32 x, _Bool shift_amount) {
  return !x ? -1 : shift_amount ? __builtin_clz((u32)x) : 31 - __builtin_clz((u32)x);
}
i32 __nvvm_flo_u_i64(i64 x, _Bool shift_amount) {
  return !x ? -1 : shift_amount ? __builtin_clzll((u64)x) : 63 - __builtin_clzll((u64)x);
}
i32 __nvvm_flo_s_i32(i32 x, _Bool shift_amount) { return __nvvm_flo_u_i32(x < 0 ? ~x : x, shift_amount); }
i32 __nvvm_flo_s_i64(i64 x, _Bool shift_amount) { return __nvvm_flo_u_i64(x < 0 ? ~x : x, shift_amount); }

// bfe, bfi and lop3 as inline assembly spells them; positions and lengths are bytes, as PTX reads them.
i32 __nvvm_bfe_u32(i32 a, i32 position, i32 length) {
  const u32 p = (u32)position & 0xff, n = (u32)length & 0xff;
  if (!n || p > 31) return 0;
  const u32 field = (u32)a >> p;
  return (i32)(n >= 32 ? field : field & ((1u << n) - 1));
}
i32 __nvvm_bfe_s32(i32 a, i32 position, i32 length) {
  const u32 p = (u32)position & 0xff, n = (u32)length & 0xff;
  if (!n) return 0;
  const u32 last = p + n - 1 > 31 ? 31 : p + n - 1, sign = (u32)a >> last & 1;
  const u32 field = p > 31 ? 0 : (u32)a >> p, kept = last + 1 > p ? last + 1 - p : 0;
  const u32 mask = kept >= 32 ? ~0u : (1u << kept) - 1;
  return (i32)((field & mask) | (sign ? ~mask : 0));
}
i64 __nvvm_bfe_u64(i64 a, i32 position, i32 length) {
  const u32 p = (u32)position & 0xff, n = (u32)length & 0xff;
  if (!n || p > 63) return 0;
  const u64 field = (u64)a >> p;
  return (i64)(n >= 64 ? field : field & ((1ull << n) - 1));
}
i32 __nvvm_bfi_b32(i32 a, i32 b, i32 position, i32 length) {
  const u32 p = (u32)position & 0xff, n = (u32)length & 0xff;
  if (!n || p > 31) return b;
  const u32 mask = (n >= 32 ? ~0u : (1u << n) - 1) << p;
  return (i32)(((u32)b & ~mask) | ((u32)a << p & mask));
}
i64 __nvvm_bfi_b64(i64 a, i64 b, i32 position, i32 length) {
  const u32 p = (u32)position & 0xff, n = (u32)length & 0xff;
  if (!n || p > 63) return b;
  const u64 mask = (n >= 64 ? ~0ull : (1ull << n) - 1) << p;
  return (i64)(((u64)b & ~mask) | ((u64)a << p & mask));
}
i32 __nvvm_lop3(i32 a, i32 b, i32 c, i32 table) {
  u32 result = 0;
  for (u32 row = 0; row < 8; ++row)
    if ((u32)table >> row & 1)
      result |= (row & 4 ? (u32)a : ~(u32)a) & (row & 2 ? (u32)b : ~(u32)b) & (row & 1 ? (u32)c : ~(u32)c);
  return (i32)result;
}

// fns: position of the n-th set bit from `base` upwards (n > 0) or downwards (n < 0); base itself if n is 0 and set.
i32 __nvvm_fns(i32 mask, i32 base, i32 n) {
  const u32 bits = (u32)mask;
  if (n == 0) return bits >> (base & 31) & 1 ? base : -1;
  const i32 step = n > 0 ? 1 : -1;
  i32 left = n > 0 ? n : -n;
  for (i32 at = base; at >= 0 && at < 32; at += step)
    if ((bits >> at & 1) && --left == 0) return at;
  return -1;
}
