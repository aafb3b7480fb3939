// A 16-bit float type and its pair, read once for __half and once for __nv_bfloat16; it has no guard. Expects KL_T,
// KL_T2, KL_RAW, KL_RAW2, KL_NATIVE, KL_TO_FLOAT and KL_FROM_FLOAT (bits to float and back, for host code). Conversions
// to integers saturate, and those from double and integers round once.
struct KL_RAW {
  unsigned short x;
};
struct __attribute__((aligned(4))) KL_RAW2 {
  unsigned short x, y;
};

struct KL_T {
  unsigned short __x;
#define KL_FN __inline__ __attribute__((always_inline)) __host__ __device__
  KL_T() = default;
  KL_FN KL_T(const KL_RAW raw) : __x(raw.x) {}
  KL_FN KL_T(const float f) { *this = from_float(f); }
  KL_FN KL_T(const double f) { *this = from_double(f); }
  KL_FN KL_T(const int v) { *this = from_integer(v); }
  KL_FN KL_T(const unsigned int v) { *this = from_integer(v); }
  KL_FN KL_T(const long v) { *this = from_integer(v); }
  KL_FN KL_T(const unsigned long v) { *this = from_integer(v); }
  KL_FN KL_T(const long long v) { *this = from_integer(v); }
  KL_FN KL_T(const unsigned long long v) { *this = from_integer(v); }
  KL_FN KL_T(const short v) { *this = from_integer(v); }
  KL_FN KL_T(const unsigned short v) { *this = from_integer(v); }
  KL_FN operator KL_RAW() const {
    KL_RAW raw = {__x};
    return raw;
  }
  KL_FN operator KL_RAW() const volatile {
    KL_RAW raw = {__x};
    return raw;
  }
  KL_FN volatile KL_T& operator=(const KL_RAW& raw) volatile {
    __x = raw.x;
    return *this;
  }
  KL_FN volatile KL_T& operator=(const volatile KL_RAW& raw) volatile {
    __x = raw.x;
    return *this;
  }
  KL_FN operator float() const { return to_float(); }
  KL_FN explicit operator bool() const { return (__x & 0x7fffu) != 0; }
  KL_FN explicit operator int() const { return to_integer<int>(); }
  KL_FN explicit operator unsigned int() const { return to_integer<unsigned int>(); }
  KL_FN explicit operator short() const { return to_integer<short>(); }
  KL_FN explicit operator unsigned short() const { return to_integer<unsigned short>(); }
  KL_FN explicit operator long long() const { return to_integer<long long>(); }
  KL_FN explicit operator unsigned long long() const { return to_integer<unsigned long long>(); }
  KL_FN explicit operator double() const { return (double)to_float(); }
  KL_FN KL_T& operator=(const float f) { return *this = from_float(f); }
  KL_FN KL_T& operator=(const double f) { return *this = from_double(f); }
  KL_FN KL_T& operator=(const int v) { return *this = from_integer(v); }

  KL_FN static KL_T from_bits(unsigned short bits) {
    KL_T value;
    value.__x = bits;
    return value;
  }
#if defined(__CUDA_ARCH__)
  KL_FN KL_NATIVE native() const { return __builtin_bit_cast(KL_NATIVE, __x); }
  KL_FN static KL_T from_native(KL_NATIVE value) { return from_bits(__builtin_bit_cast(unsigned short, value)); }
  KL_FN float to_float() const { return (float)native(); }
  KL_FN static KL_T from_float(float f) { return from_native((KL_NATIVE)f); }
  KL_FN static KL_T from_double(double f) { return from_native((KL_NATIVE)f); }
  template <class Integer>
  KL_FN static KL_T from_integer(Integer v) {
    return from_native((KL_NATIVE)v);
  }
  template <class Integer>
  KL_FN Integer to_integer() const {
    return (Integer)native();
  }
#else
  KL_FN float to_float() const { return KL_TO_FLOAT(__x); }
  KL_FN static KL_T from_float(float f) { return from_bits(KL_FROM_FLOAT(f)); }
  KL_FN static KL_T from_double(double f) { return from_float(kernelift_double_to_odd_float(f)); }
  template <class Integer>
  KL_FN static KL_T from_integer(Integer v) {
    return from_double(kernelift_integer_to_odd_double(v));
  }
  template <class Integer>
  KL_FN Integer to_integer() const {
    return kernelift_saturated<Integer>(to_float());
  }
#if defined(__CUDA__) && defined(__clang__)
  // Named by device functions, which the host pass reads and never runs.
  __device__ KL_NATIVE native() const;
  __device__ static KL_T from_native(KL_NATIVE value);
#endif
#endif
};

struct __attribute__((aligned(4))) KL_T2 {
  KL_T x, y;
  KL_T2() = default;
  KL_FN KL_T2(const KL_T a, const KL_T b) : x(a), y(b) {}
#ifdef __HIP__
  KL_FN explicit KL_T2(const KL_T both) : x(both), y(both) {}
#endif
  KL_FN KL_T2(const KL_RAW2 raw) : x(KL_T::from_bits(raw.x)), y(KL_T::from_bits(raw.y)) {}
  KL_FN operator KL_RAW2() const {
    KL_RAW2 raw = {x.__x, y.__x};
    return raw;
  }
#undef KL_FN
};
