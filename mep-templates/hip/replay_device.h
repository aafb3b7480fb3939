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
inline void need(hipError_t error, const std::string& what) {
  if (error != hipSuccess) die(what + ": " + device_error(error));
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
constexpr u64 kReserveGranule = 2ull << 20;
constexpr u64 kMapGranule = 2ull << 20;

inline void open_driver() { (void)hipInit(0); }
/// Sets the addresses aside; false, with nothing kept, where the driver would give others.
inline bool reserve_range(const Range& range) {
  void *got = nullptr, *wanted = reinterpret_cast<void*>(range.begin);
  size_t size = range.end - range.begin;
  hipError_t result = hipMemAddressReserve(&got, size, 0, wanted, 0);
  if (result == hipSuccess && got == wanted) return true;
  if (result == hipSuccess) (void)hipMemAddressFree(got, size);
  (void)hipGetLastError();
  return false;
}
/// Puts memory there; says why not.
inline std::string map_range(const Range& range) {
  hipMemAllocationProp property = {};
  property.type = hipMemAllocationTypePinned;
  property.location.type = hipMemLocationTypeDevice;
  hipMemAccessDesc access = {};
  access.location = property.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  hipMemGenericAllocationHandle_t memory;
  size_t size = range.end - range.begin;
  void* at = reinterpret_cast<void*>(range.begin);
  if (hipMemCreate(&memory, size, &property, 0) != hipSuccess) return grouped(size) + " bytes are not to be had";
  bool mapped = hipMemMap(at, size, 0, memory, 0) == hipSuccess;
  (void)hipMemRelease(memory);  // The mapping keeps it.
  if (!mapped) return "the driver refused, although it had granted the address";
  return hipMemSetAccess(at, size, &access, 1) == hipSuccess ? "" : "the driver refused access to it";
}
inline void unmap_range(const Range& range) {
  (void)hipMemUnmap(reinterpret_cast<void*>(range.begin), range.end - range.begin);
}
inline u64 free_bytes() {
  size_t free = 0, total = 0;
  return hipMemGetInfo(&free, &total) == hipSuccess ? free : 0;
}
#endif

inline void* allocate(u64 size) {
  void* memory = nullptr;
  need(hipMalloc(&memory, size ? size : 1), "the device has no " + grouped(size) + " bytes of memory left");
  return memory;
}
inline void release(void* memory) { (void)hipFree(memory); }
#ifdef KERNELIFT_CPU_DEVICE
inline void copy(void* to, const void* from, u64 size) { std::memcpy(to, from, size); }
#else
inline void copy(void* to, const void* from, u64 size) {
  need(hipMemcpy(to, from, size, hipMemcpyDefault), "copying memory");
}
#endif
inline void put_back(void* to, const void* from, u64 size) { copy(to, from, size); }
inline void fill(void* memory, int value, u64 size) { need(hipMemset(memory, value, size), "filling memory"); }
/// Waits for all that was started; says what went wrong with it.
inline std::string finish() { return device_error(hipDeviceSynchronize()); }

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

}  // namespace kl_replay
