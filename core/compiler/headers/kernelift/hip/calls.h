// HIP's functions that have no equal in CUDA's runtime: said with those that it has.
#pragma once
#define hipHostMalloc kernelift_hip_host_malloc
#define hipHostAlloc cudaHostAlloc
#define hipMallocHost cudaMallocHost
#define hipHostFree cudaFreeHost
#define hipFreeHost cudaFreeHost
#define hipMemcpyHtoD(to, from, size) cudaMemcpy((void*)(to), (from), (size), cudaMemcpyHostToDevice)
#define hipMemcpyDtoH(to, from, size) cudaMemcpy((to), (const void*)(from), (size), cudaMemcpyDeviceToHost)
#define hipMemcpyDtoD(to, from, size) cudaMemcpy((void*)(to), (const void*)(from), (size), cudaMemcpyDeviceToDevice)
#define hipGetDevicePropertiesR0600 cudaGetDeviceProperties
#define hipExtMallocWithFlags(pointer, size, flags) cudaMalloc((pointer), (size))
#define hipMemcpyWithStream(to, from, size, kind, stream) \
  (cudaMemcpyAsync((to), (from), (size), (kind), (stream)), cudaStreamSynchronize(stream))
#define hipExtGetLastError cudaGetLastError
#define hipExtStreamCreateWithCUMask(stream, words, mask) cudaStreamCreate(stream)
#define hipExtLaunchKernel kernelift_hip_ext_launch
#define hipMemAllocHost cudaMallocHost
#define hipMemcpyHtoDAsync(to, from, size, stream) \
  cudaMemcpyAsync((void*)(to), (from), (size), cudaMemcpyHostToDevice, (stream))
#define hipMemcpyDtoHAsync(to, from, size, stream) \
  cudaMemcpyAsync((to), (const void*)(from), (size), cudaMemcpyDeviceToHost, (stream))
#define hipMemcpyDtoDAsync(to, from, size, stream) \
  cudaMemcpyAsync((void*)(to), (const void*)(from), (size), cudaMemcpyDeviceToDevice, (stream))
#define hipMemsetD8(pointer, value, count) cudaMemset((void*)(pointer), (value), (count))
#define hipMemsetD8Async(pointer, value, count, stream) cudaMemsetAsync((void*)(pointer), (value), (count), (stream))
#define hipMemsetD16(pointer, value, count) kernelift_hip_fill((void*)(pointer), (unsigned short)(value), (count), 0)
#define hipMemsetD16Async(pointer, value, count, stream) \
  kernelift_hip_fill((void*)(pointer), (unsigned short)(value), (count), (stream))
#define hipMemsetD32(pointer, value, count) kernelift_hip_fill((void*)(pointer), (unsigned int)(value), (count), 0)
#define hipMemsetD32Async(pointer, value, count, stream) \
  kernelift_hip_fill((void*)(pointer), (unsigned int)(value), (count), (stream))

#ifdef __cplusplus
/// hipHostMalloc's flags may be left out, and its pointer is typed.
template <class T>
static inline cudaError_t kernelift_hip_host_malloc(T** pointer, size_t size, unsigned int flags = 0) {
  // HIP's own flags (coherent, NUMA user…) lie above CUDA's and say nothing here.
  return ::cudaHostAlloc((void**)(void*)pointer, size, flags & 7u);
}
static inline cudaError_t kernelift_hip_ext_launch(const void* function, dim3 grid, dim3 block, void** arguments,
                                                   size_t shared, cudaStream_t stream, cudaEvent_t start,
                                                   cudaEvent_t stop, int) {
  if (start) (void)cudaEventRecord(start, stream);
  const cudaError_t error = cudaLaunchKernel(function, grid, block, arguments, shared, stream);
  if (stop) (void)cudaEventRecord(stop, stream);
  return error;
}
/// A pattern wider than cudaMemset's byte: one element, then what is there doubled until all is.
template <class T>
static inline cudaError_t kernelift_hip_fill(void* pointer, T value, size_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  cudaError_t error = cudaMemcpyAsync(pointer, &value, sizeof value, cudaMemcpyHostToDevice, stream);
  for (size_t done = 1; error == cudaSuccess && done < count; done *= 2)
    error = cudaMemcpyAsync((T*)pointer + done, pointer, (done < count - done ? done : count - done) * sizeof(T),
                            cudaMemcpyDeviceToDevice, stream);
  return error;
}

// The driver-like calls: the device's number is its handle.
static inline cudaError_t hipInit(unsigned int) { return cudaSuccess; }
static inline cudaError_t hipDeviceGet(int* device, int ordinal) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || ordinal < 0 || ordinal >= count)
    return error != cudaSuccess ? error : cudaErrorInvalidDevice;
  *device = ordinal;
  return cudaSuccess;
}
static inline cudaError_t hipDeviceGetName(char* name, int length, int device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  for (int i = 0; error == cudaSuccess && i < length; ++i)
    if (!(name[i] = i + 1 < length ? properties.name[i] : 0)) break;
  return error;
}
static inline cudaError_t hipDeviceTotalMem(size_t* bytes, int device) {
  cudaDeviceProp properties;
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error == cudaSuccess) *bytes = properties.totalGlobalMem;
  return error;
}
static inline cudaError_t hipDeviceComputeCapability(int* major, int* minor, int device) {
  const cudaError_t error = cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device);
  return error != cudaSuccess ? error : cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device);
}
static inline cudaError_t hipDrvGetErrorName(cudaError_t error, const char** text) {
  *text = cudaGetErrorName(error);
  return cudaSuccess;
}
static inline cudaError_t hipDrvGetErrorString(cudaError_t error, const char** text) {
  *text = cudaGetErrorString(error);
  return cudaSuccess;
}
#endif
