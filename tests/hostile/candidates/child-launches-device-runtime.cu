// Calls the device runtime by its name to launch.
//! kind child-launches
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ int cudaLaunchDeviceV2(void*, void*);
extern "C" __device__ void* cudaGetParameterBufferV2(void*, dim3, dim3, unsigned);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) cudaLaunchDeviceV2(cudaGetParameterBufferV2((void*)map, dim3(1), dim3(1), 0), 0);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
