// Cached loads and stores, shuffles and atomic addition of a 16-bit float type and its pair, in device code; part of
// operations.h, which is read twice, so it has no guard.
#if defined(__CUDA__) && defined(__clang__)
#define KL_DEVICE static __device__ __forceinline__
KL_DEVICE KL_T __ldg(const KL_T* p) { return KL_T::from_bits(__ldg((const unsigned short*)p)); }
KL_DEVICE KL_T2 __ldg(const KL_T2* p) { return __builtin_bit_cast(KL_T2, __ldg((const unsigned int*)p)); }
KL_DEVICE KL_T __ldcg(const KL_T* p) { return *p; }
KL_DEVICE KL_T2 __ldcg(const KL_T2* p) { return *p; }
KL_DEVICE KL_T __ldcs(const KL_T* p) { return *p; }
KL_DEVICE KL_T2 __ldcs(const KL_T2* p) { return *p; }
KL_DEVICE void __stcs(KL_T* p, KL_T value) { *p = value; }
KL_DEVICE void __stcs(KL_T2* p, KL_T2 value) { *p = value; }
KL_DEVICE void __stcg(KL_T* p, KL_T value) { *p = value; }
KL_DEVICE void __stcg(KL_T2* p, KL_T2 value) { *p = value; }
#define KL_SHUFFLE(name, Lane)                                                                      \
  KL_DEVICE KL_T name(unsigned mask, KL_T value, Lane lane, int width = 32) {                       \
    return KL_T::from_bits((unsigned short)name(mask, (unsigned)value.__x, lane, width));           \
  }                                                                                                 \
  KL_DEVICE KL_T2 name(unsigned mask, KL_T2 value, Lane lane, int width = 32) {                     \
    return __builtin_bit_cast(KL_T2, name(mask, __builtin_bit_cast(unsigned, value), lane, width)); \
  }
KL_SHUFFLE(__shfl_sync, int)
KL_SHUFFLE(__shfl_up_sync, unsigned)
KL_SHUFFLE(__shfl_down_sync, unsigned)
KL_SHUFFLE(__shfl_xor_sync, int)
#undef KL_SHUFFLE
KL_DEVICE KL_T atomicAdd(KL_T* address, KL_T value) {
  return KL_T::from_native(
      __scoped_atomic_fetch_add((KL_NATIVE*)address, value.native(), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE));
}
KL_DEVICE KL_T2 atomicAdd(KL_T2* address, KL_T2 value) {
  return KL_T2(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));
}
#undef KL_DEVICE
#endif
