// A hundred thousand nested parentheses.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
#define P8(x) ((((((((x))))))))
#define P64(x) P8(P8(x))
#define P4K(x) P64(P64(x))
#define O8 ((((((((
#define O64 O8 O8 O8 O8 O8 O8 O8 O8
#define O512 O64 O64 O64 O64 O64 O64 O64 O64
#define O4K O512 O512 O512 O512 O512 O512 O512 O512
__device__ int y = O4K O4K O4K O4K O4K O4K O4K O4K 1;
@KERNEL@