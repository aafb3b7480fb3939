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
inline void need(cudaError_t error, const char* what) {
  if (error != cudaSuccess) die(std::string(what) + ": " + device_error(error));
}

inline std::string open_device() {
  int count = 0;
  need(cudaGetDeviceCount(&count), "no CUDA device can be used");
  if (count == 0) die("this machine has no CUDA device");
  need(cudaSetDevice(0), "cannot use CUDA device 0");
  need(cudaFree(nullptr), "cannot open CUDA device 0");
  cudaDeviceProp properties;
  need(cudaGetDeviceProperties(&properties, 0), "cannot ask CUDA device 0 for its properties");
  return properties.name;
}

struct Range {
  u64 begin, end;
};

#ifdef KERNELIFT_CPU_DEVICE
constexpr u64 kReserveGranule = 4096;
constexpr u64 kMapGranule = 4096;
inline bool place_ranges(const std::vector<Range>& reserve, const std::vector<Range>&) {
  // The CPU device's runtime keeps a range of addresses for device memory that nothing has used in this process.
  const u64 arena = 0x200000000000ull, arena_end = arena + (2ull << 40);
  for (const Range& range : reserve) {
    bool ours = range.begin >= arena && range.end <= arena_end;
    void* wanted = reinterpret_cast<void*>(range.begin);
    void* got = mmap(wanted, range.end - range.begin, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | (ours ? MAP_FIXED : MAP_FIXED_NOREPLACE), -1, 0);
    if (got != wanted) return false;
  }
  return true;
}
#else
constexpr u64 kReserveGranule = 32ull << 20;
constexpr u64 kMapGranule = 2ull << 20;

template <class Function>
bool driver(const char* name, Function& into) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
  cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  into = reinterpret_cast<Function>(found);
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess && found;
}

/// Maps device memory at `map` inside address ranges `reserve`. False if any address is refused; nothing is kept then.
inline bool place_ranges(const std::vector<Range>& reserve, const std::vector<Range>& map) {
  CUresult (*address_reserve)(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long) = nullptr;
  CUresult (*address_free)(CUdeviceptr, size_t) = nullptr;
  CUresult (*create)(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long) = nullptr;
  CUresult (*mem_map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long) = nullptr;
  CUresult (*set_access)(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) = nullptr;
  if (!driver("cuMemAddressReserve", address_reserve) || !driver("cuMemAddressFree", address_free) ||
      !driver("cuMemCreate", create) || !driver("cuMemMap", mem_map) || !driver("cuMemSetAccess", set_access))
    return false;
  for (size_t i = 0; i < reserve.size(); ++i) {
    CUdeviceptr got = 0;
    size_t size = reserve[i].end - reserve[i].begin;
    CUresult result = address_reserve(&got, size, 0, reserve[i].begin, 0);
    if (result == CUDA_SUCCESS && got == reserve[i].begin) continue;
    if (result == CUDA_SUCCESS) address_free(got, size);
    while (i-- > 0) address_free(reserve[i].begin, reserve[i].end - reserve[i].begin);
    return false;
  }
  for (const Range& range : map) {
    CUmemAllocationProp property = {};
    property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    property.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access = {};
    access.location = property.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle memory;
    size_t size = range.end - range.begin;
    if (create(&memory, size, &property, 0) != CUDA_SUCCESS) die("the device has too little memory for this instance");
    if (mem_map(range.begin, size, 0, memory, 0) != CUDA_SUCCESS ||
        set_access(range.begin, size, &access, 1) != CUDA_SUCCESS)
      die("the driver refused to map memory at an address it had reserved");
  }
  return true;
}
#endif

inline void* allocate(u64 size) {
  void* memory = nullptr;
  need(cudaMalloc(&memory, size ? size : 1), "the device has too little memory");
  return memory;
}
#ifdef KERNELIFT_CPU_DEVICE
inline void copy(void* to, const void* from, u64 size) { std::memcpy(to, from, size); }
#else
inline void copy(void* to, const void* from, u64 size) {
  need(cudaMemcpy(to, from, size, cudaMemcpyDefault), "copying memory");
}
#endif
inline void fill(void* memory, int value, u64 size) { need(cudaMemset(memory, value, size), "filling memory"); }
inline void finish() { need(cudaDeviceSynchronize(), "the kernel failed"); }

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

/// Allows as much dynamic shared memory as the launch wants (more than 48 KiB must be asked for).
inline void prepare_kernel(const void* kernel, unsigned shared) {
  if (shared > 0) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  cudaGetLastError();
}
inline std::string launch(const void* kernel, const Instance& i, void** arguments) {
  dim3 grid(i.grid[0], i.grid[1], i.grid[2]), block(i.block[0], i.block[1], i.block[2]);
  cudaError_t error = i.cooperative ? cudaLaunchCooperativeKernel(kernel, grid, block, arguments, i.shared, 0)
                                    : cudaLaunchKernel(kernel, grid, block, arguments, i.shared, 0);
  return device_error(error);
}

}  // namespace kl_replay
