// Macros that double thirty-two times.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
#define A(x) x x
#define B(x) A(A(A(A(x))))
#define C(x) B(B(x))
__device__ int y = 0 C(C(C(C(+ 1))));
@KERNEL@