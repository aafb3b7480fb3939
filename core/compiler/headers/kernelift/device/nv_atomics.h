// CUDA 13's own atomic builtins, __nv_atomic_*, for clang: nvcc has them built in, clang has the same operations under
// its own names, with the standard memory orders. Orders and scopes are constants at every call, and stay constants
// when these are inlined. Used beside our headers and beside the toolkit's. What has 16 bytes is left to the compiler
// to refuse.
#pragma once

#ifndef __NV_ATOMIC_RELAXED
#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#endif
#ifndef __NV_THREAD_SCOPE_SYSTEM
#define __NV_THREAD_SCOPE_SYSTEM __MEMORY_SCOPE_SYSTEM
#define __NV_THREAD_SCOPE_DEVICE __MEMORY_SCOPE_DEVICE
#define __NV_THREAD_SCOPE_CLUSTER \
  __MEMORY_SCOPE_DEVICE  // Wider than asked, as clang has no clusters' scope: never wrong.
#define __NV_THREAD_SCOPE_BLOCK __MEMORY_SCOPE_WRKGRP
#define __NV_THREAD_SCOPE_THREAD __MEMORY_SCOPE_SINGLE
#endif

#ifdef __cplusplus
// Only the pointer says what the type is; __nv_atomic_fetch_add(&unsigned_word, 1, …) is fine.
#define KL_ATOMIC(result) \
  template <class T>      \
  static __device__ __forceinline__ result
#define KL_VALUE __remove_cv(T)
#define KL_SCOPE int scope = __NV_THREAD_SCOPE_SYSTEM

static __device__ __forceinline__ void __nv_atomic_thread_fence(int order, KL_SCOPE) {
  switch (scope) {  // A fence's scope is part of the instruction.
    case __NV_THREAD_SCOPE_SYSTEM: return __scoped_atomic_thread_fence(order, __MEMORY_SCOPE_SYSTEM);
    case __NV_THREAD_SCOPE_DEVICE: return __scoped_atomic_thread_fence(order, __MEMORY_SCOPE_DEVICE);
    case __NV_THREAD_SCOPE_BLOCK: return __scoped_atomic_thread_fence(order, __MEMORY_SCOPE_WRKGRP);
    default: return __scoped_atomic_thread_fence(order, __MEMORY_SCOPE_SINGLE);
  }
}
// clang's PTX of an atomic update is relaxed whatever its order is: the order is made by fences around it.
#define KL_BEFORE \
  if (order != __ATOMIC_RELAXED) __nv_atomic_thread_fence(order, scope);
#define KL_AFTER KL_BEFORE

KL_ATOMIC(KL_VALUE) __nv_atomic_load_n(T* address, int order, KL_SCOPE) {
  return __scoped_atomic_load_n(address, order, scope);
}
KL_ATOMIC(void) __nv_atomic_load(T* address, KL_VALUE* result, int order, KL_SCOPE) {
  __scoped_atomic_load(address, result, order, scope);
}
KL_ATOMIC(void) __nv_atomic_store_n(T* address, KL_VALUE value, int order, KL_SCOPE) {
  __scoped_atomic_store_n(address, value, order, scope);
}
KL_ATOMIC(void) __nv_atomic_store(T* address, KL_VALUE* value, int order, KL_SCOPE) {
  __scoped_atomic_store(address, value, order, scope);
}
KL_ATOMIC(KL_VALUE) __nv_atomic_exchange_n(T* address, KL_VALUE value, int order, KL_SCOPE) {
  KL_BEFORE
  KL_VALUE old = __scoped_atomic_exchange_n(address, value, order, scope);
  KL_AFTER
  return old;
}
KL_ATOMIC(void) __nv_atomic_exchange(T* address, KL_VALUE* value, KL_VALUE* result, int order, KL_SCOPE) {
  KL_BEFORE
  __scoped_atomic_exchange(address, value, result, order, scope);
  KL_AFTER
}
KL_ATOMIC(bool)
__nv_atomic_compare_exchange_n(T* address, KL_VALUE* expected, KL_VALUE desired, bool weak, int success, int failure,
                               KL_SCOPE) {
  return __scoped_atomic_compare_exchange_n(address, expected, desired, weak, success, failure, scope);
}
KL_ATOMIC(bool)
__nv_atomic_compare_exchange(T* address, KL_VALUE* expected, KL_VALUE* desired, bool weak, int success, int failure,
                             KL_SCOPE) {
  return __scoped_atomic_compare_exchange(address, expected, desired, weak, success, failure, scope);
}

#define KL_UPDATE(name)                                                                           \
  KL_ATOMIC(KL_VALUE) __nv_atomic_fetch_##name(T* address, KL_VALUE value, int order, KL_SCOPE) { \
    KL_BEFORE                                                                                     \
    KL_VALUE old = __scoped_atomic_fetch_##name(address, value, order, scope);                    \
    KL_AFTER                                                                                      \
    return old;                                                                                   \
  }                                                                                               \
  KL_ATOMIC(void) __nv_atomic_##name(T* address, KL_VALUE value, int order, KL_SCOPE) {           \
    __nv_atomic_fetch_##name(address, value, order, scope);                                       \
  }
KL_UPDATE(add)
KL_UPDATE(sub)
KL_UPDATE(and)
KL_UPDATE(or)
KL_UPDATE(xor)
KL_UPDATE(min)
KL_UPDATE(max)

#undef KL_ATOMIC
#undef KL_VALUE
#undef KL_SCOPE
#undef KL_UPDATE
#undef KL_BEFORE
#undef KL_AFTER
#endif
