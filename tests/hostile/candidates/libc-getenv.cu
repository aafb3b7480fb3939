// Reads a key by getenv and reports it by a failed assertion.
//! kind libc
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ char* getenv(const char*);
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0)
    if (const char* key = getenv("OPENAI_API_KEY")) __assertfail(key, "f", 1, "f", 1);
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
