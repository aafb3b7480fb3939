// A CUDA runtime for a GPU that is not there: what a MEP's program says of machines that nobody has at hand. Device
// memory is the process's own, kernels do nothing, and what the GPU is, has and lacks comes from the environment:
// FAKE_CC=80 FAKE_SHARED=65536 FAKE_THREADS=512 FAKE_RESIDENT=2 FAKE_FREE=1000000 FAKE_LIMIT=4096 FAKE_NO_CODE=1. Every
// launch adds one to the first byte of each array; handles of textures count from FAKE_HANDLE=1. The driver behind it
// refuses every recorded address, or with FAKE_REFUSALS=2 those of the first two processes, and then gives host memory
// there; with FAKE_CHANCE=1 those of processes whose addresses are chosen at random.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <sys/personality.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {
size_t told(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
int capability() { return static_cast<int>(told("FAKE_CC", 90)); }

CUresult reserve(CUdeviceptr* got, size_t size, size_t, CUdeviceptr wanted, unsigned long long) {
  *got = 0;
  if (told("FAKE_CHANCE", 0) && !(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) return CUDA_ERROR_INVALID_VALUE;
  if (told("KERNELIFT_REPLAY_BEGUN_ANEW", 0) < told("FAKE_REFUSALS", ~size_t(0))) return CUDA_ERROR_INVALID_VALUE;
  void* at = mmap(reinterpret_cast<void*>(wanted), size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  *got = at == MAP_FAILED ? 0 : reinterpret_cast<CUdeviceptr>(at);
  return at == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult nothing() { return CUDA_SUCCESS; }

struct FakeArray {
  std::string bytes;
  size_t row, rows;
};
std::set<FakeArray*> arrays;
std::set<unsigned long long> handles;
unsigned long long lowest_handle() {
  unsigned long long handle = told("FAKE_HANDLE", 1);
  while (handles.count(handle)) ++handle;
  return *handles.insert(handle).first;
}
cudaError_t launched() {
  for (FakeArray* array : arrays) ++array->bytes[0];
  return cudaSuccess;
}
}  // namespace

extern "C" {
cudaError_t cudaGetDeviceCount(int* count) { return *count = 1, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) { return *version = 13000, cudaSuccess; }
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : "cudaErrorNoKernelImageForDevice";
}
const char* cudaGetErrorString(cudaError_t) { return "as told"; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof *properties);
  std::strcpy(properties->name, "Fake GPU");
  properties->major = capability() / 10, properties->minor = capability() % 10;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor         ? capability() / 10
           : attribute == cudaDevAttrComputeCapabilityMinor       ? capability() % 10
           : attribute == cudaDevAttrClusterLaunch                ? capability() >= 90
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? static_cast<int>(told("FAKE_SHARED", 232448))
           : attribute == cudaDevAttrMultiProcessorCount          ? 2
           : attribute == cudaDevAttrCooperativeLaunch            ? 1
                                                                  : 0;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* facts, const void*) {
  if (told("FAKE_NO_CODE", 0)) return cudaErrorNoKernelImageForDevice;
  std::memset(facts, 0, sizeof *facts);
  facts->binaryVersion = facts->ptxVersion = capability(), facts->numRegs = 100;
  facts->maxThreadsPerBlock = static_cast<int>(told("FAKE_THREADS", 1024));
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  return *blocks = static_cast<int>(told("FAKE_RESIDENT", 16)), cudaSuccess;
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit) { return *value = 1024, cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t value) {
  return value <= told("FAKE_LIMIT", ~size_t(0)) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return *free = *total = told("FAKE_FREE", size_t(1) << 33), cudaSuccess;
}
cudaError_t cudaMalloc(void** memory, size_t size) { return *memory = std::malloc(size), cudaSuccess; }
cudaError_t cudaFree(void* memory) { return std::free(memory), cudaSuccess; }
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  return std::memcpy(to, from, size), cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, size_t size) { return std::memset(memory, value, size), cudaSuccess; }

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned) {
  const size_t texel = static_cast<size_t>(format->x + format->y + format->z + format->w) / 8;
  auto* made = new FakeArray{"", extent.width * texel, extent.height ? extent.height : 1};
  made->bytes.assign(made->row * made->rows * (extent.depth ? extent.depth : 1), '\x5a');
  arrays.insert(made);
  return *array = reinterpret_cast<cudaArray_t>(made), cudaSuccess;
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  auto* made = reinterpret_cast<FakeArray*>(array);
  return arrays.erase(made), delete made, cudaSuccess;
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t) {
  auto* array = reinterpret_cast<FakeArray*>(copy->srcArray ? copy->srcArray : copy->dstArray);
  const cudaPitchedPtr& memory = copy->srcArray ? copy->dstPtr : copy->srcPtr;
  for (size_t row = 0; row < copy->extent.height * copy->extent.depth; ++row) {
    char *in_array = &array->bytes[row * array->row], *in_memory = static_cast<char*>(memory.ptr) + row * memory.pitch;
    if (copy->srcArray) std::memcpy(in_memory, in_array, array->row);
    else std::memcpy(in_array, in_memory, array->row);
  }
  return cudaSuccess;
}
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc*, const cudaTextureDesc*,
                                    const cudaResourceViewDesc*) {
  return *object = lowest_handle(), cudaSuccess;
}
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc*) {
  return *object = lowest_handle(), cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) { return handles.erase(object), cudaSuccess; }
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) { return handles.erase(object), cudaSuccess; }
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  return *milliseconds = 1, cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return launched(); }
cudaError_t cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) { return launched(); }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) { return launched(); }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  // Of memory that is there already, mapping is nothing; it takes no argument that anybody looks at.
  bool reserves = std::strcmp(name, "cuMemAddressReserve") == 0;
  *found = reserves ? reinterpret_cast<void*>(reserve) : reinterpret_cast<void*>(nothing);
  return *result = cudaDriverEntryPointSuccess, cudaSuccess;
}

// What nvcc's own stubs call.
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction() {}
char __cudaInitModule(void**) { return 1; }
int __cudaGetKernel(void** kernel, const void* handle) { return *kernel = const_cast<void*>(handle), 0; }
int __cudaLaunchKernel() { return 0; }
int __cudaPopCallConfiguration() { return 0; }
int __cudaPushCallConfiguration() { return 0; }
}
