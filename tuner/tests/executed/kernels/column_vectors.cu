//! original | block 64 | grid ceil_div(m, 64) | at m=128,n=45
__global__ void column_vectors(const float4* a, float4* out, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  float4 force = make_float4(0, 0, 0, 1);
  if (j < m) {
    for (int i = 0; i < n; ++i) {
      const float4 v = a[i * m + j];
      force.x += v.x * v.w;
      force.y += v.y * v.w;
      force.z -= v.z;
    }
    out[j] = force;
  }
}
