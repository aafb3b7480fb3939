// A constant that recurses.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
__device__ constexpr long y = f(90);
@KERNEL@