// Asks by system calls whether a file of the user's is there, how large it is, where the program lies and in which
// folder it runs, and reports by a wrong result that it was told.
//! kind metadata
//! kernel map
//! devices cpu
//! must no-gain
//! outside wrong
@part:syscall@
__device__ __noinline__ int told() {
  const char path[] = "@SECRET@", program[] = "/proc/self/exe";
  long into[64];
  const long here = -100, follows_nothing = 0x100;
  long answers[] = {
      system_call(4, (long)path, (long)into, 0),                            // stat
      system_call(6, (long)path, (long)into, 0),                            // lstat
      system_call4(262, here, (long)path, (long)into, 0),                   // newfstatat
      system_call4(262, here, (long)path, (long)into, 0x1000),              // the same, by AT_EMPTY_PATH
      system_call4(332, here, (long)path, follows_nothing, 0x7ff),          // statx
      system_call(21, (long)path, 0, 0),                                    // access
      system_call(269, here, (long)path, 0),                                // faccessat
      system_call4(439, here, (long)path, 0, 0),                            // faccessat2
      system_call(89, (long)program, (long)into, sizeof into),              // readlink
      system_call4(267, here, (long)program, (long)into, sizeof into),      // readlinkat
      system_call(79, (long)into, sizeof into, 0),                          // getcwd
  };
  // Of statx: no memory for the answer, which it says only of a file that is there.
  const long bad_address = -14, no_file = -2;
  for (long answer : answers)
    if (answer >= 0 || answer == bad_address || answer == no_file) return 1;
  return 0;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == 0) out[0] = x + told();
}
