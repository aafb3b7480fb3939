// ---- the device: HIP --------------------------------------------------------------------------------------
// Memory is placed by HIP's virtual memory management at the recorded addresses, rounded to 2 MiB. On Kernelift's CPU
// device, which has no driver, device memory is the process's own and mmap does the same.
#include <hip/hip_runtime.h>

#if defined(KERNELIFT_LEAN_HEADERS) && !defined(KERNELIFT_CPU_DEVICE)
#define KERNELIFT_CPU_DEVICE 1
#endif
#ifdef KERNELIFT_CPU_DEVICE
#include <sys/mman.h>
#endif

namespace kl_replay {

typedef hipEvent_t Event;

inline bool call_ok(hipError_t error) { return error == hipSuccess; }

/// The first error since the last call, or empty.
inline std::string device_error(hipError_t error) {
  hipError_t sticky = hipGetLastError();
  if (error == hipSuccess) error = sticky;
  return error == hipSuccess ? std::string() : std::string(hipGetErrorName(error)) + ": " + hipGetErrorString(error);
}
inline void need(hipError_t error, const char* what) {
  if (error != hipSuccess) die(std::string(what) + ": " + device_error(error));
}

inline std::string open_device() {
  int count = 0;
  need(hipGetDeviceCount(&count), "no HIP device can be used");
  if (count == 0) die("this machine has no HIP device");
  need(hipSetDevice(0), "cannot use HIP device 0");
  hipDeviceProp_t properties;
  need(hipGetDeviceProperties(&properties, 0), "cannot ask HIP device 0 for its properties");
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
constexpr u64 kReserveGranule = 2ull << 20;
constexpr u64 kMapGranule = 2ull << 20;

/// Maps device memory at `map` inside address ranges `reserve`. False if any address is refused; nothing is kept then.
inline bool place_ranges(const std::vector<Range>& reserve, const std::vector<Range>& map) {
  for (size_t i = 0; i < reserve.size(); ++i) {
    void *got = nullptr, *wanted = reinterpret_cast<void*>(reserve[i].begin);
    size_t size = reserve[i].end - reserve[i].begin;
    hipError_t result = hipMemAddressReserve(&got, size, 0, wanted, 0);
    if (result == hipSuccess && got == wanted) continue;
    if (result == hipSuccess) (void)hipMemAddressFree(got, size);
    while (i-- > 0)
      (void)hipMemAddressFree(reinterpret_cast<void*>(reserve[i].begin), reserve[i].end - reserve[i].begin);
    (void)hipGetLastError();
    return false;
  }
  for (const Range& range : map) {
    hipMemAllocationProp property = {};
    property.type = hipMemAllocationTypePinned;
    property.location.type = hipMemLocationTypeDevice;
    hipMemAccessDesc access = {};
    access.location = property.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    hipMemGenericAllocationHandle_t memory;
    size_t size = range.end - range.begin;
    void* at = reinterpret_cast<void*>(range.begin);
    need(hipMemCreate(&memory, size, &property, 0), "the device has too little memory for this instance");
    need(hipMemMap(at, size, 0, memory, 0), "mapping memory at a reserved address");
    need(hipMemSetAccess(at, size, &access, 1), "making memory accessible");
  }
  return true;
}
#endif

inline void* allocate(u64 size) {
  void* memory = nullptr;
  need(hipMalloc(&memory, size ? size : 1), "the device has too little memory");
  return memory;
}
#ifdef KERNELIFT_CPU_DEVICE
inline void copy(void* to, const void* from, u64 size) { std::memcpy(to, from, size); }
#else
inline void copy(void* to, const void* from, u64 size) {
  need(hipMemcpy(to, from, size, hipMemcpyDefault), "copying memory");
}
#endif
inline void fill(void* memory, int value, u64 size) { need(hipMemset(memory, value, size), "filling memory"); }
inline void finish() { need(hipDeviceSynchronize(), "the kernel failed"); }

inline Event make_event() {
  Event event;
  need(hipEventCreate(&event), "cannot create an event");
  return event;
}
inline void mark(Event event) { need(hipEventRecord(event, 0), "cannot record an event"); }
inline double microseconds(Event from, Event to) {
  float milliseconds = 0;
  need(hipEventSynchronize(to), "the kernel failed");
  need(hipEventElapsedTime(&milliseconds, from, to), "cannot read an event");
  return milliseconds * 1e3;
}
inline u64 cache_bytes() {
  int bytes = 0;
  return hipDeviceGetAttribute(&bytes, hipDeviceAttributeL2CacheSize, 0) == hipSuccess && bytes > 0
             ? static_cast<u64>(bytes)
             : 0;
}

/// Allows as much dynamic shared memory as the launch wants.
inline void prepare_kernel(const void* kernel, unsigned shared) {
  if (shared > 0)
    (void)hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  (void)hipGetLastError();
}
inline std::string launch(const void* kernel, const Instance& i, void** arguments) {
  dim3 grid(i.grid[0], i.grid[1], i.grid[2]), block(i.block[0], i.block[1], i.block[2]);
  hipError_t error = i.cooperative ? hipLaunchCooperativeKernel(kernel, grid, block, arguments, i.shared, 0)
                                   : hipLaunchKernel(kernel, grid, block, arguments, i.shared, 0);
  return device_error(error);
}

}  // namespace kl_replay
