// A warning and an error with control sequences.
//! kind terminal
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@[[deprecated("\033[2J@MARK@")]] __device__ int old();
__device__ int use() { return old() + unknown_name; }
