// Overloads and conversions whose number explodes.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
template <class... T> struct L {};
template <class A, class B> auto cat(A, B) -> L<A, B, A, B>;
using T0 = decltype(cat(1, 2));
using T1 = decltype(cat(T0(), T0()));
using T2 = decltype(cat(T1(), T1()));
using T3 = decltype(cat(T2(), T2()));
using T4 = decltype(cat(T3(), T3()));
using T5 = decltype(cat(T4(), T4()));
__device__ T5* y;
@KERNEL@