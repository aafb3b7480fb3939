// Warp operations: shuffles of every type, votes, match, reduce, by clang's NVVM builtins.
// Shuffles of wide types move 32-bit halves; the segment operand is ((32 - width) << 8) | clamp, as PTX's shfl takes
// it.
#pragma once
#define KL_DEVICE static __device__ __forceinline__

KL_DEVICE void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
KL_DEVICE int __all_sync(unsigned mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
KL_DEVICE int __any_sync(unsigned mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
KL_DEVICE int __uni_sync(unsigned mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate); }
KL_DEVICE unsigned __ballot_sync(unsigned mask, int predicate) { return __nvvm_vote_ballot_sync(mask, predicate); }
KL_DEVICE unsigned __activemask() { return __nvvm_activemask(); }
KL_DEVICE unsigned __fns(unsigned mask, unsigned base, int offset) { return __nvvm_fns(mask, base, offset); }

#define KL_SHUFFLE_HALVES(name, type, Lane)                                   \
  KL_DEVICE type name(unsigned mask, type value, Lane lane, int width = 32) { \
    struct Halves {                                                           \
      int low, high;                                                          \
    };                                                                        \
    Halves halves = __builtin_bit_cast(Halves, value);                        \
    halves.low = name(mask, halves.low, lane, width);                         \
    halves.high = name(mask, halves.high, lane, width);                       \
    return __builtin_bit_cast(type, halves);                                  \
  }
#define KL_SHUFFLE(name, kind, clamp, Lane)                                                    \
  KL_DEVICE int name(unsigned mask, int value, Lane lane, int width = 32) {                    \
    return __nvvm_shfl_sync_##kind##_i32(mask, value, (int)lane, ((32 - width) << 8) | clamp); \
  }                                                                                            \
  KL_DEVICE unsigned name(unsigned mask, unsigned value, Lane lane, int width = 32) {          \
    return (unsigned)name(mask, (int)value, lane, width);                                      \
  }                                                                                            \
  KL_DEVICE float name(unsigned mask, float value, Lane lane, int width = 32) {                \
    return __nvvm_shfl_sync_##kind##_f32(mask, value, (int)lane, ((32 - width) << 8) | clamp); \
  }                                                                                            \
  KL_SHUFFLE_HALVES(name, long long, Lane)                                                     \
  KL_SHUFFLE_HALVES(name, unsigned long long, Lane)                                            \
  KL_SHUFFLE_HALVES(name, long, Lane)                                                          \
  KL_SHUFFLE_HALVES(name, unsigned long, Lane)                                                 \
  KL_SHUFFLE_HALVES(name, double, Lane)
KL_SHUFFLE(__shfl_sync, idx, 0x1f, int)
KL_SHUFFLE(__shfl_up_sync, up, 0, unsigned)
KL_SHUFFLE(__shfl_down_sync, down, 0x1f, unsigned)
KL_SHUFFLE(__shfl_xor_sync, bfly, 0x1f, int)
#undef KL_SHUFFLE_HALVES
#undef KL_SHUFFLE

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define KL_MATCH(type, bits, as)                                                             \
  KL_DEVICE unsigned __match_any_sync(unsigned mask, type value) {                           \
    return __nvvm_match_any_sync_i##bits(mask, __builtin_bit_cast(as, value));               \
  }                                                                                          \
  KL_DEVICE unsigned __match_all_sync(unsigned mask, type value, int* predicate) {           \
    return __nvvm_match_all_sync_i##bits##p(mask, __builtin_bit_cast(as, value), predicate); \
  }
KL_MATCH(int, 32, int)
KL_MATCH(unsigned, 32, int)
KL_MATCH(float, 32, int)
KL_MATCH(long, 64, long long)
KL_MATCH(unsigned long, 64, long long)
KL_MATCH(long long, 64, long long)
KL_MATCH(unsigned long long, 64, long long)
KL_MATCH(double, 64, long long)
#undef KL_MATCH
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
KL_DEVICE unsigned __reduce_add_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_add(v, mask); }
KL_DEVICE int __reduce_add_sync(unsigned mask, int v) { return __nvvm_redux_sync_add(v, mask); }
KL_DEVICE unsigned __reduce_min_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_umin(v, mask); }
KL_DEVICE int __reduce_min_sync(unsigned mask, int v) { return __nvvm_redux_sync_min(v, mask); }
KL_DEVICE unsigned __reduce_max_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_umax(v, mask); }
KL_DEVICE int __reduce_max_sync(unsigned mask, int v) { return __nvvm_redux_sync_max(v, mask); }
KL_DEVICE unsigned __reduce_and_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_and(v, mask); }
KL_DEVICE unsigned __reduce_or_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_or(v, mask); }
KL_DEVICE unsigned __reduce_xor_sync(unsigned mask, unsigned v) { return __nvvm_redux_sync_xor(v, mask); }
#endif

#undef KL_DEVICE
