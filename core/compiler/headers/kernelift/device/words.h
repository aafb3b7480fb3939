// SIMD within a 32-bit word (__vadd2, __vmaxu4, ...): lane by lane on clang vectors, which both NVPTX and a CPU's
// vectoriser understand. clang's own definitions are inline PTX:
// the names are mapped to ours at the end.
#pragma once
#define KL_DEVICE static __device__ __forceinline__
typedef short kernelift_s2 __attribute__((ext_vector_type(2)));
typedef unsigned short kernelift_u2 __attribute__((ext_vector_type(2)));
typedef signed char kernelift_s4 __attribute__((ext_vector_type(4)));
typedef unsigned char kernelift_u4 __attribute__((ext_vector_type(4)));

#define KL_BINARY(name, Vector, expression)                                               \
  KL_DEVICE unsigned name(unsigned first, unsigned second) {                              \
    Vector a = __builtin_bit_cast(Vector, first), b = __builtin_bit_cast(Vector, second); \
    return __builtin_bit_cast(unsigned, (Vector)(expression));                            \
  }
#define KL_HALF(a, b) ((a & b) + ((a ^ b) >> 1))
#define KL_LANES(n)                                                                                                    \
  KL_BINARY(kernelift_vadd##n, kernelift_u##n, a + b)                                                                  \
  KL_BINARY(kernelift_vsub##n, kernelift_u##n, a - b)                                                                  \
  KL_BINARY(kernelift_vaddss##n, kernelift_s##n, __builtin_elementwise_add_sat(a, b))                                  \
  KL_BINARY(kernelift_vaddus##n, kernelift_u##n, __builtin_elementwise_add_sat(a, b))                                  \
  KL_BINARY(kernelift_vsubss##n, kernelift_s##n, __builtin_elementwise_sub_sat(a, b))                                  \
  KL_BINARY(kernelift_vsubus##n, kernelift_u##n, __builtin_elementwise_sub_sat(a, b))                                  \
  KL_BINARY(kernelift_vmaxs##n, kernelift_s##n, __builtin_elementwise_max(a, b))                                       \
  KL_BINARY(kernelift_vmaxu##n, kernelift_u##n, __builtin_elementwise_max(a, b))                                       \
  KL_BINARY(kernelift_vmins##n, kernelift_s##n, __builtin_elementwise_min(a, b))                                       \
  KL_BINARY(kernelift_vminu##n, kernelift_u##n, __builtin_elementwise_min(a, b))                                       \
  KL_BINARY(kernelift_vhaddu##n, kernelift_u##n, KL_HALF(a, b))                                                        \
  KL_BINARY(kernelift_vavgu##n, kernelift_u##n, (a | b) - ((a ^ b) >> 1))                                              \
  /* Signed averages round away from zero, as nvcc's do. */                                                            \
  KL_BINARY(kernelift_vavgs##n, kernelift_s##n, KL_HALF(a, b) + ((a ^ b) & 1 & (KL_HALF(a, b) >= 0)))                  \
  KL_BINARY(kernelift_vabsdiffu##n, kernelift_u##n, __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b)) \
  KL_BINARY(kernelift_vabsdiffs##n, kernelift_s##n, __builtin_elementwise_max(a, b) - __builtin_elementwise_min(a, b)) \
  KL_COMPARE(n, eq, ==, u)                                                                                             \
  KL_COMPARE(n, ne, !=, u)                                                                                             \
  KL_BOTH(n, gt, >)                                                                                                    \
  KL_BOTH(n, ge, >=)                                                                                                   \
  KL_BOTH(n, lt, <)                                                                                                    \
  KL_BOTH(n, le, <=)                                                                                                   \
  KL_DEVICE unsigned kernelift_vneg##n(unsigned a) { return kernelift_vsub##n(0u, a); }                                \
  KL_DEVICE unsigned kernelift_vnegss##n(unsigned a) { return kernelift_vsubss##n(0u, a); }                            \
  KL_DEVICE unsigned kernelift_vabs##n(unsigned a) { return kernelift_vmaxs##n(a, kernelift_vsub##n(0u, a)); }         \
  KL_DEVICE unsigned kernelift_vabsss##n(unsigned a) { return kernelift_vmaxs##n(a, kernelift_vsubss##n(0u, a)); }
// Comparisons give all-ones lanes (__vcmp) or ones (__vset).
#define KL_COMPARE(n, name, operator, sign)                             \
  KL_BINARY(kernelift_vcmp##name##n, kernelift_##sign##n, a operator b) \
  KL_BINARY(kernelift_vset##name##n, kernelift_##sign##n, (a operator b) &(kernelift_s##n)(1))
#define KL_BOTH(n, name, operator)                                                           \
  KL_BINARY(kernelift_vcmp##name##s##n, kernelift_s##n, a operator b)                        \
  KL_BINARY(kernelift_vset##name##s##n, kernelift_s##n, (a operator b) &(kernelift_s##n)(1)) \
  KL_BINARY(kernelift_vcmp##name##u##n, kernelift_u##n, a operator b)                        \
  KL_BINARY(kernelift_vset##name##u##n, kernelift_u##n, (a operator b) &(kernelift_s##n)(1))
KL_LANES(2)
KL_LANES(4)

/// Sums of absolute differences over the lanes.
KL_DEVICE unsigned kernelift_vsadu2(unsigned a, unsigned b) {
  unsigned d = kernelift_vabsdiffu2(a, b);
  return (d & 0xffffu) + (d >> 16);
}
KL_DEVICE unsigned kernelift_vsads2(unsigned a, unsigned b) {
  unsigned d = kernelift_vabsdiffs2(a, b);
  return (d & 0xffffu) + (d >> 16);
}
KL_DEVICE unsigned kernelift_vsadu4(unsigned a, unsigned b) {
  unsigned d = kernelift_vabsdiffu4(a, b);
  return (d & 0xffu) + ((d >> 8) & 0xffu) + ((d >> 16) & 0xffu) + (d >> 24);
}
KL_DEVICE unsigned kernelift_vsads4(unsigned a, unsigned b) {
  unsigned d = kernelift_vabsdiffs4(a, b);
  return (d & 0xffu) + ((d >> 8) & 0xffu) + ((d >> 16) & 0xffu) + (d >> 24);
}
#undef KL_BINARY
#undef KL_LANES
#undef KL_COMPARE
#undef KL_BOTH
#undef KL_DEVICE

#define __vabs2 kernelift_vabs2
#define __vabs4 kernelift_vabs4
#define __vabsdiffs2 kernelift_vabsdiffs2
#define __vabsdiffs4 kernelift_vabsdiffs4
#define __vabsdiffu2 kernelift_vabsdiffu2
#define __vabsdiffu4 kernelift_vabsdiffu4
#define __vabsss2 kernelift_vabsss2
#define __vabsss4 kernelift_vabsss4
#define __vadd2 kernelift_vadd2
#define __vadd4 kernelift_vadd4
#define __vaddss2 kernelift_vaddss2
#define __vaddss4 kernelift_vaddss4
#define __vaddus2 kernelift_vaddus2
#define __vaddus4 kernelift_vaddus4
#define __vavgs2 kernelift_vavgs2
#define __vavgs4 kernelift_vavgs4
#define __vavgu2 kernelift_vavgu2
#define __vavgu4 kernelift_vavgu4
#define __vcmpeq2 kernelift_vcmpeq2
#define __vcmpeq4 kernelift_vcmpeq4
#define __vcmpges2 kernelift_vcmpges2
#define __vcmpges4 kernelift_vcmpges4
#define __vcmpgeu2 kernelift_vcmpgeu2
#define __vcmpgeu4 kernelift_vcmpgeu4
#define __vcmpgts2 kernelift_vcmpgts2
#define __vcmpgts4 kernelift_vcmpgts4
#define __vcmpgtu2 kernelift_vcmpgtu2
#define __vcmpgtu4 kernelift_vcmpgtu4
#define __vcmples2 kernelift_vcmples2
#define __vcmples4 kernelift_vcmples4
#define __vcmpleu2 kernelift_vcmpleu2
#define __vcmpleu4 kernelift_vcmpleu4
#define __vcmplts2 kernelift_vcmplts2
#define __vcmplts4 kernelift_vcmplts4
#define __vcmpltu2 kernelift_vcmpltu2
#define __vcmpltu4 kernelift_vcmpltu4
#define __vcmpne2 kernelift_vcmpne2
#define __vcmpne4 kernelift_vcmpne4
#define __vhaddu2 kernelift_vhaddu2
#define __vhaddu4 kernelift_vhaddu4
#define __vmaxs2 kernelift_vmaxs2
#define __vmaxs4 kernelift_vmaxs4
#define __vmaxu2 kernelift_vmaxu2
#define __vmaxu4 kernelift_vmaxu4
#define __vmins2 kernelift_vmins2
#define __vmins4 kernelift_vmins4
#define __vminu2 kernelift_vminu2
#define __vminu4 kernelift_vminu4
#define __vneg2 kernelift_vneg2
#define __vneg4 kernelift_vneg4
#define __vnegss2 kernelift_vnegss2
#define __vnegss4 kernelift_vnegss4
#define __vsads2 kernelift_vsads2
#define __vsads4 kernelift_vsads4
#define __vsadu2 kernelift_vsadu2
#define __vsadu4 kernelift_vsadu4
#define __vseteq2 kernelift_vseteq2
#define __vseteq4 kernelift_vseteq4
#define __vsetges2 kernelift_vsetges2
#define __vsetges4 kernelift_vsetges4
#define __vsetgeu2 kernelift_vsetgeu2
#define __vsetgeu4 kernelift_vsetgeu4
#define __vsetgts2 kernelift_vsetgts2
#define __vsetgts4 kernelift_vsetgts4
#define __vsetgtu2 kernelift_vsetgtu2
#define __vsetgtu4 kernelift_vsetgtu4
#define __vsetles2 kernelift_vsetles2
#define __vsetles4 kernelift_vsetles4
#define __vsetleu2 kernelift_vsetleu2
#define __vsetleu4 kernelift_vsetleu4
#define __vsetlts2 kernelift_vsetlts2
#define __vsetlts4 kernelift_vsetlts4
#define __vsetltu2 kernelift_vsetltu2
#define __vsetltu4 kernelift_vsetltu4
#define __vsetne2 kernelift_vsetne2
#define __vsetne4 kernelift_vsetne4
#define __vsub2 kernelift_vsub2
#define __vsub4 kernelift_vsub4
#define __vsubss2 kernelift_vsubss2
#define __vsubss4 kernelift_vsubss4
#define __vsubus2 kernelift_vsubus2
#define __vsubus4 kernelift_vsubus4
