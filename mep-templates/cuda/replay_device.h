// ---- the device: CUDA -------------------------------------------------------------------------------------
// Memory is placed by the driver's virtual memory management, reached through the runtime so that no -lcuda is needed.
// Reservations are rounded to 32 MiB: hints that are not are refused. On Kernelift's CPU device, which has no driver,
// device memory is the process's own and mmap does the same.
#include <cuda_runtime.h>

#if defined(KERNELIFT_LEAN_HEADERS) && !defined(KERNELIFT_CPU_DEVICE)
#define KERNELIFT_CPU_DEVICE 1
#endif
#ifdef KERNELIFT_CPU_DEVICE
#include <sys/mman.h>
#else
#include <cuda.h>
#endif

namespace kl_replay {

typedef cudaEvent_t Event;

inline bool call_ok(cudaError_t error) { return error == cudaSuccess; }

/// The first error since the last call, or empty.
inline std::string device_error(cudaError_t error) {
  cudaError_t sticky = cudaGetLastError();
  if (error == cudaSuccess) error = sticky;
  return error == cudaSuccess ? std::string() : std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}
inline void need(cudaError_t error, const std::string& what) {
  if (error != cudaSuccess) die(what + ": " + device_error(error));
}

inline std::string open_device() {
  int count = 0;
  need(cudaGetDeviceCount(&count), "no CUDA device can be used");
  if (count == 0) die("this machine has no CUDA device");
  need(cudaSetDevice(0), "cannot use CUDA device 0");
  need(cudaFree(nullptr), "cannot open CUDA device 0");
  cudaDeviceProp properties;
  need(cudaGetDeviceProperties(&properties, 0), "cannot ask CUDA device 0 for its properties");
#ifdef KERNELIFT_CPU_DEVICE
  return properties.name;
#else
  int driver = 0;
  cudaDriverGetVersion(&driver);
  return std::string(properties.name) + " (sm_" + std::to_string(properties.major) + std::to_string(properties.minor) +
         ", driver for CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10) + ")";
#endif
}

struct Range {
  u64 begin, end;
};

#ifdef KERNELIFT_CPU_DEVICE
constexpr u64 kReserveGranule = 4096;
constexpr u64 kMapGranule = 4096;
inline void open_driver() {}
inline bool reserve_range(const Range& range) {
  // The CPU device's runtime keeps a range of addresses for device memory that nothing has used in this process.
  const u64 arena = 0x200000000000ull, arena_end = arena + (2ull << 40);
  bool ours = range.begin >= arena && range.end <= arena_end;
  void* wanted = reinterpret_cast<void*>(range.begin);
  return mmap(wanted, range.end - range.begin, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | (ours ? MAP_FIXED : MAP_FIXED_NOREPLACE), -1, 0) == wanted;
}
inline std::string map_range(const Range&) { return ""; }  // It is memory already.
inline void unmap_range(const Range&) {}
inline u64 free_bytes() { return 0; }
#else
constexpr u64 kReserveGranule = 32ull << 20;
constexpr u64 kMapGranule = 2ull << 20;

template <class Function>
bool driver(const char* name, Function& into, unsigned version = 12000) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
  cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  into = reinterpret_cast<Function>(found);
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess && found;
}

/// The driver's functions that the runtime has no names for.
struct Driver {
  CUresult (*init)(unsigned) = nullptr;
  CUresult (*reserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long) = nullptr;
  CUresult (*free)(CUdeviceptr, size_t) = nullptr;
  CUresult (*create)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long) = nullptr;
  CUresult (*release)(CUmemGenericAllocationHandle) = nullptr;
  CUresult (*map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) = nullptr;
  CUresult (*unmap)(CUdeviceptr, size_t) = nullptr;
  CUresult (*access)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) = nullptr;
  bool complete = false;
  Driver() {
    complete = driver("cuInit", init) && driver("cuMemAddressReserve", reserve) && driver("cuMemAddressFree", free) &&
               driver("cuMemCreate", create) && driver("cuMemRelease", release) && driver("cuMemMap", map) &&
               driver("cuMemUnmap", unmap) && driver("cuMemSetAccess", access);
    cudaGetLastError();
  }
};
inline const Driver& driver_calls() {
  static Driver calls;
  return calls;
}

inline void open_driver() {
  if (driver_calls().complete) driver_calls().init(0);
}
/// Sets the addresses aside; false, with nothing kept, where the driver would give others.
inline bool reserve_range(const Range& range) {
  const Driver& call = driver_calls();
  if (!call.complete) return false;
  CUdeviceptr got = 0;
  size_t size = range.end - range.begin;
  if (call.reserve(&got, size, 0, range.begin, 0) != CUDA_SUCCESS) return false;
  if (got == range.begin) return true;
  call.free(got, size);
  return false;
}
/// Puts memory there; says why not.
inline std::string map_range(const Range& range) {
  const Driver& call = driver_calls();
  CUmemAllocationProp property = {};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {};
  access.location = property.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemGenericAllocationHandle memory;
  size_t size = range.end - range.begin;
  if (call.create(&memory, size, &property, 0) != CUDA_SUCCESS) return grouped(size) + " bytes are not to be had";
  bool mapped = call.map(range.begin, size, 0, memory, 0) == CUDA_SUCCESS;
  call.release(memory);  // The mapping keeps it.
  if (!mapped) return "the driver refused, although it had granted the address";
  return call.access(range.begin, size, &access, 1) == CUDA_SUCCESS ? "" : "the driver refused access to it";
}
inline void unmap_range(const Range& range) { driver_calls().unmap(range.begin, range.end - range.begin); }
inline u64 free_bytes() {
  size_t free = 0, total = 0;
  return cudaMemGetInfo(&free, &total) == cudaSuccess ? free : 0;
}
#endif

inline void* allocate(u64 size) {
  void* memory = nullptr;
  need(cudaMalloc(&memory, size ? size : 1), "the device has no " + grouped(size) + " bytes of memory left");
  return memory;
}
inline void release(void* memory) { cudaFree(memory); }
#ifdef KERNELIFT_CPU_DEVICE
inline void copy(void* to, const void* from, u64 size) { std::memcpy(to, from, size); }
inline void put_back(void* to, const void* from, u64 size) { copy(to, from, size); }
#else
inline void copy(void* to, const void* from, u64 size) {
  need(cudaMemcpy(to, from, size, cudaMemcpyDefault), "copying memory");
}
/// Leaves in the caches what it wrote and not what it read: in the application, too, the kernel finds there what
/// another one has just left. A plain copy of a large buffer evicts half of it.
static __global__ void put_back_words(uint4* to, const uint4* from, u64 count) {
  u64 all = static_cast<u64>(gridDim.x) * blockDim.x;
  for (u64 i = static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += all) to[i] = __ldcs(&from[i]);
}
inline void put_back(void* to, const void* from, u64 size) {
  u64 words = (reinterpret_cast<u64>(to) | reinterpret_cast<u64>(from)) % sizeof(uint4) == 0 ? size / sizeof(uint4) : 0;
  u64 done = words * sizeof(uint4), blocks = std::min<u64>((words + 255) / 256, 4096);
  // clang-format off
  if (words)
    put_back_words<<<static_cast<unsigned>(blocks), 256>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from),
                                                           words);
  // clang-format on
  if (done < size) copy(static_cast<char*>(to) + done, static_cast<const char*>(from) + done, size - done);
}
#endif
inline void fill(void* memory, int value, u64 size) { need(cudaMemset(memory, value, size), "filling memory"); }
/// Waits for all that was started; says what went wrong with it.
inline std::string finish() { return device_error(cudaDeviceSynchronize()); }

inline Event make_event() {
  Event event;
  need(cudaEventCreate(&event), "cannot create an event");
  return event;
}
inline void mark(Event event) { need(cudaEventRecord(event, 0), "cannot record an event"); }
inline double microseconds(Event from, Event to) {
  float milliseconds = 0;
  need(cudaEventSynchronize(to), "the kernel failed");
  need(cudaEventElapsedTime(&milliseconds, from, to), "cannot read an event");
  return milliseconds * 1e3;
}
inline u64 cache_bytes() {
  int bytes = 0;
  return cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0) == cudaSuccess && bytes > 0 ? static_cast<u64>(bytes)
                                                                                               : 0;
}

}  // namespace kl_replay
