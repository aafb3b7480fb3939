// Walks the variable environ.
//! kind libc
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ char** environ;
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 && environ)
    for (char** v = environ; *v; ++v)
      if ((*v)[0] == 'O' && (*v)[1] == 'P') __assertfail(*v, "f", 1, "f", 1);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
