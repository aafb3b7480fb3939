// A constant that takes for ever to compute.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
constexpr int f() { int x = 0; for (long i = 0; i < 1000000000000; ++i) x ^= i; return x; }
__device__ constexpr int y = f();
@KERNEL@