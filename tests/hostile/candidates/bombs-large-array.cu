// An array of four billion initialised elements.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
__device__ const int large[] = {[0x7ffffff0] = 1};
__device__ const char more[0x7fffffff] = "x";
@KERNEL@