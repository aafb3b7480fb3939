// Types and the elementwise builtins that become LLVM intrinsics (llvm.sqrt, llvm.exp …), so that loops over device
// threads vectorise through them. Does not include the host's math.h: its macros and inline functions get in the way.
#pragma once
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef _Float16 f16;

#define KL_PI 3.141592653589793238462643383279502884
#define KL_INF __builtin_inf()
#define KL_NAN __builtin_nan("")

static inline u32 bits_of_float(f32 x) { return __builtin_bit_cast(u32, x); }
static inline f32 float_of_bits(u32 x) { return __builtin_bit_cast(f32, x); }
static inline u64 bits_of_double(f64 x) { return __builtin_bit_cast(u64, x); }
static inline f64 double_of_bits(u64 x) { return __builtin_bit_cast(f64, x); }

// libm, declared as far as it is used; libm's own names keep LLVM's knowledge of them.
#define KL_LIBM1(name)  \
  extern f64 name(f64); \
  extern f32 name##f(f32);
#define KL_LIBM2(name)       \
  extern f64 name(f64, f64); \
  extern f32 name##f(f32, f32);
// clang-format off
KL_LIBM1(expm1)
KL_LIBM1(log1p)
KL_LIBM1(asinh)
KL_LIBM1(acosh)
KL_LIBM1(atanh) KL_LIBM1(cbrt) KL_LIBM1(erf) KL_LIBM1(erfc) KL_LIBM1(tgamma) KL_LIBM1(lgamma) KL_LIBM1(j0) KL_LIBM1(j1)
    KL_LIBM1(y0) KL_LIBM1(y1) KL_LIBM1(logb) KL_LIBM2(hypot) KL_LIBM2(fmod) KL_LIBM2(remainder) KL_LIBM2(nextafter)
        KL_LIBM2(fdim) extern f64 jn(i32, f64);
// clang-format on
extern f32 jnf(i32, f32);
extern f64 yn(i32, f64);
extern f32 ynf(i32, f32);
extern f64 ldexp(f64, i32);
extern f32 ldexpf(f32, i32);
extern f64 frexp(f64, i32*);
extern f32 frexpf(f32, i32*);
extern f64 modf(f64, f64*);
extern f32 modff(f32, f32*);
extern f64 remquo(f64, f64, i32*);
extern f32 remquof(f32, f32, i32*);
extern i32 ilogb(f64);
extern i32 ilogbf(f32);
extern f64 fma(f64, f64, f64);
extern f32 fmaf(f32, f32, f32);
