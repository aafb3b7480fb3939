// Atomic functions: relaxed, as CUDA's are, by clang's scoped atomic builtins, so that they are plain atomicrmw and
// cmpxchg in the IR and every pass understands them. The _block and _system forms differ by their scope only.
#pragma once
#include "../types/vectors.h"
#define KL_DEVICE static __device__ __forceinline__

#define KL_RMW(name, type, operation, scope)                                     \
  KL_DEVICE type name(type* address, type value) {                               \
    return __scoped_atomic_##operation(address, value, __ATOMIC_RELAXED, scope); \
  }
#define KL_SCOPES(function, type, operation)                       \
  KL_RMW(function, type, operation, __MEMORY_SCOPE_DEVICE)         \
  KL_RMW(function##_block, type, operation, __MEMORY_SCOPE_WRKGRP) \
  KL_RMW(function##_system, type, operation, __MEMORY_SCOPE_SYSTEM)
#define KL_INTEGERS(function, operation)        \
  KL_SCOPES(function, int, operation)           \
  KL_SCOPES(function, unsigned int, operation)  \
  KL_SCOPES(function, long, operation)          \
  KL_SCOPES(function, unsigned long, operation) \
  KL_SCOPES(function, long long, operation)     \
  KL_SCOPES(function, unsigned long long, operation)

KL_INTEGERS(atomicAdd, fetch_add)
KL_SCOPES(atomicAdd, float, fetch_add)
KL_SCOPES(atomicAdd, double, fetch_add)
KL_INTEGERS(atomicSub, fetch_sub)
KL_INTEGERS(atomicMin, fetch_min)
KL_INTEGERS(atomicMax, fetch_max)
KL_INTEGERS(atomicAnd, fetch_and)
KL_INTEGERS(atomicOr, fetch_or)
KL_INTEGERS(atomicXor, fetch_xor)
KL_INTEGERS(atomicExch, exchange_n)
KL_SCOPES(atomicInc, unsigned int, fetch_uinc)
KL_SCOPES(atomicDec, unsigned int, fetch_udec)

#define KL_EXCHANGE(suffix, type, as, scope)                                                                     \
  KL_DEVICE type atomicExch##suffix(type* address, type value) {                                                 \
    return __builtin_bit_cast(                                                                                   \
        type, __scoped_atomic_exchange_n((as*)address, __builtin_bit_cast(as, value), __ATOMIC_RELAXED, scope)); \
  }
#define KL_CAS(suffix, type, scope)                                                                                 \
  KL_DEVICE type atomicCAS##suffix(type* address, type compare, type value) {                                       \
    __scoped_atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope); \
    return compare;                                                                                                 \
  }
#define KL_EACH_SCOPE(what, ...)                                                              \
  what(, __VA_ARGS__, __MEMORY_SCOPE_DEVICE) what(_block, __VA_ARGS__, __MEMORY_SCOPE_WRKGRP) \
      what(_system, __VA_ARGS__, __MEMORY_SCOPE_SYSTEM)
KL_EACH_SCOPE(KL_EXCHANGE, float, int)
KL_EACH_SCOPE(KL_EXCHANGE, double, long long)
KL_EACH_SCOPE(KL_CAS, unsigned short)
KL_EACH_SCOPE(KL_CAS, int)
KL_EACH_SCOPE(KL_CAS, unsigned int)
KL_EACH_SCOPE(KL_CAS, long)
KL_EACH_SCOPE(KL_CAS, unsigned long)
KL_EACH_SCOPE(KL_CAS, long long)
KL_EACH_SCOPE(KL_CAS, unsigned long long)

// Vectors are atomic element by element, which is all that CUDA promises of them.
#define KL_VECTOR_ADD(suffix, scope)                                  \
  KL_DEVICE float2 atomicAdd##suffix(float2* address, float2 value) { \
    value.x = atomicAdd##suffix(&address->x, value.x);                \
    value.y = atomicAdd##suffix(&address->y, value.y);                \
    return value;                                                     \
  }                                                                   \
  KL_DEVICE float4 atomicAdd##suffix(float4* address, float4 value) { \
    value.x = atomicAdd##suffix(&address->x, value.x);                \
    value.y = atomicAdd##suffix(&address->y, value.y);                \
    value.z = atomicAdd##suffix(&address->z, value.z);                \
    value.w = atomicAdd##suffix(&address->w, value.w);                \
    return value;                                                     \
  }
KL_VECTOR_ADD(, )
KL_VECTOR_ADD(_block, )
KL_VECTOR_ADD(_system, )

#undef KL_RMW
#undef KL_SCOPES
#undef KL_INTEGERS
#undef KL_EXCHANGE
#undef KL_CAS
#undef KL_EACH_SCOPE
#undef KL_VECTOR_ADD
#undef KL_DEVICE
