// Templates that recurse without an end.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
template <int N> struct T { static constexpr int value = T<N + 1>::value; };
__device__ int x = T<0>::value;
@KERNEL@