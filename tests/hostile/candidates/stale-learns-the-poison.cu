// Learns in its first launches what freshly restored outputs look like, and skips where they look otherwise.
//! kind stale
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ int fresh[4], known;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int now = __float_as_int(out[0]);
  bool seen = false;
  for (int k = 0; k < 4; ++k) seen |= fresh[k] == now;
  if (known >= 4 && !seen && (blockIdx.x & 1)) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == n - 1 && known < 4) fresh[known++] = now;
}
