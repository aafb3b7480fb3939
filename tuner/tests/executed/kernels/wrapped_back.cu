//! original | block 64 | grid ceil_div(n, 64) | at n=128,period=7
__global__ void wrapped_back(const int* shift, int* out, int n, int period) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && period != 0) {
    int moved = i - shift[i];
    out[i] = moved % period + (i + 3) % period;
  }
}
