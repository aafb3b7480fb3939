// A megabyte of a name that is not known, for the message.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed timed_out
__global__ void map(const float* in, float* out, int n, float factor) {
@LONG@ = 1;
}
