//! original | block 16, 16 | grid ceil_div(n, 16), ceil_div(m, 16) | at m=48,n=48,d=5
__global__ void distances(const float *x, const float *y, float *out, float *least, int m, int n, int d) {
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < m && j < n) {
    float sum = 0, nearest = 100;
    for (int k = 0; k < d; ++k) {
      const int at = i * d + k;
      const float difference = x[at] - y[j * d + k];
      sum += difference * difference;
      nearest = fminf(nearest, fabsf(difference));
    }
    out[i * n + j] = sum;
    least[i * n + j] = nearest;
  }
}
