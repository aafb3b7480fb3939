// compiler: hipcc
// A HIP program: exclusive prefix sums by blocks, with hip's names throughout.
#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

#define HIP(call)                                                \
  do {                                                           \
    hipError_t e = (call);                                       \
    if (e != hipSuccess) {                                       \
      std::printf("FAIL %s: %s\n", #call, hipGetErrorString(e)); \
      return 1;                                                  \
    }                                                            \
  } while (0)

__constant__ int offset;
__global__ void scan(const int* in, int* out) {
  __shared__ int buffer[2][128];
  int t = threadIdx.x, from = 0;
  buffer[0][t] = t > 0 ? in[blockIdx.x * 128 + t - 1] : 0;
  __syncthreads();
  for (int d = 1; d < 128; d *= 2, from = 1 - from) {
    buffer[1 - from][t] = buffer[from][t] + (t >= d ? buffer[from][t - d] : 0);
    __syncthreads();
  }
  out[blockIdx.x * 128 + t] = buffer[from][t] + offset;
}

int main() {
  const int n = 1024;
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i % 9;
  int *device_in, *device_out, shift = 100;
  hipEvent_t start, stop;
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  HIP(hipMalloc(&device_in, n * sizeof(int)));
  HIP(hipMalloc(&device_out, n * sizeof(int)));
  HIP(hipMemcpyToSymbol(HIP_SYMBOL(offset), &shift, sizeof shift));
  HIP(hipMemcpy(device_in, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
  HIP(hipEventRecord(start, 0));
  hipLaunchKernelGGL(scan, dim3(n / 128), dim3(128), 0, 0, device_in, device_out);
  scan<<<n / 128, 128>>>(device_in, device_out);
  HIP(hipGetLastError());
  HIP(hipEventRecord(stop, 0));
  HIP(hipEventSynchronize(stop));
  float ms = -1;
  HIP(hipEventElapsedTime(&ms, start, stop));
  HIP(hipMemcpy(out.data(), device_out, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0, sum = 0; i < n; ++i) {
    if (i % 128 == 0) sum = 100;
    if (out[i] != sum) {
      std::printf("FAIL at %d: %d, not %d\n", i, out[i], sum);
      return 1;
    }
    sum += in[i];
  }
  HIP(hipFree(device_in));
  HIP(hipDeviceSynchronize());
  if (ms < 0 || properties.warpSize != 32) return 1;
  std::printf("PASS\n");
  return 0;
}
