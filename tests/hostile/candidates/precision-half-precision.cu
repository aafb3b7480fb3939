// Computes with eleven bits of mantissa.
//! kind precision
//! kernel map
//! devices both
//! must wrong unstable cheated suspect
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  x = __int_as_float((__float_as_int(x) + 0x1000) & 0xffffe000);
  out[i] = x;
}
