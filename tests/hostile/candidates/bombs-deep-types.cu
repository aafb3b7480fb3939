// A type of a hundred thousand pointers.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
#define S8 ********
#define S64 S8 S8 S8 S8 S8 S8 S8 S8
#define S512 S64 S64 S64 S64 S64 S64 S64 S64
#define S4K S512 S512 S512 S512 S512 S512 S512 S512
__device__ int S4K S4K S4K S4K S4K y;
@KERNEL@