// A tree of two to the thirty templates.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
template <int N, int M> struct T { static constexpr int value = T<N - 1, 2 * M>::value + T<N - 1, 2 * M + 1>::value; };
template <int M> struct T<0, M> { static constexpr int value = M; };
__device__ int x = T<30, 1>::value;
@KERNEL@