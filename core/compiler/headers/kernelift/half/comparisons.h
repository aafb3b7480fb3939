// Comparisons, minima and maxima of a 16-bit float type and its pair; part of operations.h, which is read twice, so it
// has no guard. Comparisons are ordered (false with a NaN), or in the "u" forms unordered (true with a NaN); the mask
// forms set all bits of a half.
#define KL_COMPARE(name, operator)                                                                                     \
  KL_FN bool __h##name(const KL_T a, const KL_T b) { return (float)a operator(float) b; }                              \
  KL_FN bool __h##name##u(const KL_T a, const KL_T b) {                                                                \
    return __hisnan(a) || __hisnan(b) || (float)a operator(float) b;                                                   \
  }                                                                                                                    \
  KL_FN KL_T2 __h##name##2(const KL_T2 a, const KL_T2 b) {                                                             \
    return KL_T2(KL_T(__h##name(a.x, b.x) ? 1.0f : 0.0f), KL_T(__h##name(a.y, b.y) ? 1.0f : 0.0f));                    \
  }                                                                                                                    \
  KL_FN KL_T2 __h##name##u2(const KL_T2 a, const KL_T2 b) {                                                            \
    return KL_T2(KL_T(__h##name##u(a.x, b.x) ? 1.0f : 0.0f), KL_T(__h##name##u(a.y, b.y) ? 1.0f : 0.0f));              \
  }                                                                                                                    \
  KL_FN bool __hb##name##2(const KL_T2 a, const KL_T2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }        \
  KL_FN bool __hb##name##u2(const KL_T2 a, const KL_T2 b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); } \
  KL_FN unsigned __h##name##2_mask(const KL_T2 a, const KL_T2 b) {                                                     \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                              \
  }                                                                                                                    \
  KL_FN unsigned __h##name##u2_mask(const KL_T2 a, const KL_T2 b) {                                                    \
    return (__h##name##u(a.x, b.x) ? 0xffffu : 0) | (__h##name##u(a.y, b.y) ? 0xffff0000u : 0);                        \
  }
KL_COMPARE(eq, ==)
KL_COMPARE(lt, <)
KL_COMPARE(le, <=)
KL_COMPARE(gt, >)
KL_COMPARE(ge, >=)
#undef KL_COMPARE
KL_FN bool __hne(const KL_T a, const KL_T b) { return !__hisnan(a) && !__hisnan(b) && (float)a != (float)b; }
KL_FN bool __hneu(const KL_T a, const KL_T b) { return (float)a != (float)b; }
KL_FN KL_T2 __hne2(const KL_T2 a, const KL_T2 b) {
  return KL_T2(KL_T(__hne(a.x, b.x) ? 1.0f : 0.0f), KL_T(__hne(a.y, b.y) ? 1.0f : 0.0f));
}
KL_FN KL_T2 __hneu2(const KL_T2 a, const KL_T2 b) {
  return KL_T2(KL_T(__hneu(a.x, b.x) ? 1.0f : 0.0f), KL_T(__hneu(a.y, b.y) ? 1.0f : 0.0f));
}
KL_FN bool __hbne2(const KL_T2 a, const KL_T2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
KL_FN bool __hbneu2(const KL_T2 a, const KL_T2 b) { return __hneu(a.x, b.x) && __hneu(a.y, b.y); }
KL_FN unsigned __hne2_mask(const KL_T2 a, const KL_T2 b) {
  return (__hne(a.x, b.x) ? 0xffffu : 0) | (__hne(a.y, b.y) ? 0xffff0000u : 0);
}
KL_FN unsigned __hneu2_mask(const KL_T2 a, const KL_T2 b) { return ~__heq2_mask(a, b); }

// +0 counts as greater than -0, and a NaN result has the bits of the hardware's NaN.
KL_FN KL_T __hmax(const KL_T a, const KL_T b) {
  if (__hisnan(a)) return __hisnan(b) ? KL_T::from_bits(0x7fff) : b;
  return __hisnan(b) || __hgt(a, b) ? a : __hgt(b, a) ? b : KL_T::from_bits(a.__x & b.__x);
}
KL_FN KL_T __hmin(const KL_T a, const KL_T b) {
  if (__hisnan(a)) return __hisnan(b) ? KL_T::from_bits(0x7fff) : b;
  return __hisnan(b) || __hlt(a, b) ? a : __hlt(b, a) ? b : KL_T::from_bits(a.__x | b.__x);
}
KL_FN KL_T __hmax_nan(const KL_T a, const KL_T b) {
  return __hisnan(a) || __hisnan(b) ? KL_T::from_bits(0x7fff) : __hmax(a, b);
}
KL_FN KL_T __hmin_nan(const KL_T a, const KL_T b) {
  return __hisnan(a) || __hisnan(b) ? KL_T::from_bits(0x7fff) : __hmin(a, b);
}
KL_PAIRWISE(__hmax2, __hmax)
KL_PAIRWISE(__hmin2, __hmin)
KL_PAIRWISE(__hmax2_nan, __hmax_nan)
KL_PAIRWISE(__hmin2_nan, __hmin_nan)
