// The one device: its properties as an sm_90 GPU would list them where programs compute with them (limits, warp size),
// and as the machine has them where programs print them (name, memory, clocks, caches). Also limits, flags and peers.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

constexpr int kRegistersPerProcessor = 65536;
constexpr int kConstantBytes = 64 << 10;
constexpr int kReservedShared = 1024;
constexpr int kDefaultClock = 2000000, kMemoryClock = 1600000;  ///< kHz; the memory's is plausible, not measured.
constexpr int kMemoryBusBits = 128;
/// Where CUDA 13 reserves space, our lean headers keep the fields that it dropped and many programs still print.
enum {
  kReservedClock,
  kReservedMemoryClock,
  kReservedComputeMode,
  kReservedOverlap,
  kReservedTimeout,
  kReservedArchitecture
};

std::string cpu_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key))
      if (size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "";
}

cudaDeviceProp measure_device() {
  const kernelift::cpu::DeviceLimits limits = kernelift::cpu::device_limits();
  cudaDeviceProp p = {};
  std::snprintf(p.name, sizeof p.name, "Kernelift CPU device (%u x %s)", configured_workers(),
                cpu_info("model name").c_str());
  std::memcpy(p.uuid, "kernelift-cpu-0", sizeof p.uuid);
  p.totalGlobalMem = state().arena.capacity();
  p.sharedMemPerBlock = limits.shared_per_block;
  p.regsPerBlock = p.regsPerMultiprocessor = kRegistersPerProcessor;
  p.warpSize = int(limits.warp_size);
  p.memPitch = 0x7fffffff;
  p.maxThreadsPerBlock = int(limits.max_threads_per_block);
  p.maxThreadsDim[0] = p.maxThreadsDim[1] = int(limits.max_threads_per_block);
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 0x7fffffff;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = kConstantBytes;
  p.major = 9;
  p.textureAlignment = p.surfaceAlignment = 512;
  p.texturePitchAlignment = 32;
  // As an sm_90 GPU; no mipmaps, no cubemaps.
  p.maxTexture1D = p.maxTexture2D[0] = p.maxTexture2DLinear[0] = p.maxSurface2D[0] = 131072;
  p.maxTexture2D[1] = p.maxSurface2D[1] = 65536;
  p.maxTexture2DLinear[1] = 65000, p.maxTexture2DLinear[2] = 2097120;
  p.maxTexture2DGather[0] = p.maxTexture2DGather[1] = p.maxTexture1DLayered[0] = p.maxSurface1D =
      p.maxSurface1DLayered[0] = 32768;
  p.maxTexture1DLayered[1] = p.maxTexture2DLayered[2] = p.maxSurface1DLayered[1] = p.maxSurface2DLayered[2] = 2048;
  for (int i = 0; i < 2; ++i) p.maxTexture2DLayered[i] = p.maxSurface2DLayered[i] = 32768;
  for (int i = 0; i < 3; ++i) p.maxTexture3D[i] = p.maxSurface3D[i] = 16384;
  p.multiProcessorCount = int(configured_workers());
  p.integrated = 1;
  p.canMapHostMemory = 1;
  p.concurrentKernels = 1;
  p.pciDomainID = p.pciBusID = p.pciDeviceID = 0;
  p.asyncEngineCount = 1;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = kMemoryBusBits;
  p.l2CacheSize = int(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
  p.maxThreadsPerMultiProcessor = int(kThreadsPerProcessor);
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = limits.shared_per_block_optin + kReservedShared;
  p.managedMemory = 1;
  p.hostNativeAtomicSupported = 1;
  p.concurrentManagedAccess = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = limits.shared_per_block_optin;
  p.directManagedMemAccessFromHost = 1;
  p.maxBlocksPerMultiProcessor = int(kBlocksPerProcessor);
  p.reservedSharedMemPerBlock = kReservedShared;
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.hostNumaId = -1;
  double megahertz = std::strtod(cpu_info("cpu MHz").c_str(), nullptr);
  p.reserved[kReservedClock] = megahertz > 0 ? int(megahertz * 1000) : kDefaultClock;
  p.reserved[kReservedMemoryClock] = kMemoryClock;
  p.reserved[kReservedOverlap] = 1;
  std::memcpy(&p.reserved[kReservedArchitecture], "cpu", sizeof "cpu");
  return p;
}

const cudaDeviceProp& properties() {
  static const cudaDeviceProp known = measure_device();
  return known;
}

struct DeviceAttribute {
  int number;
  int (*value)(const cudaDeviceProp&);
};
#define KL_FIELD(number, field) {number, [](const cudaDeviceProp& p) { return int(p.field); }}
#define KL_VALUE(number, value) {number, [](const cudaDeviceProp&) { return int(value); }}
/// cudaDeviceAttr's numbers. What is not listed (interoperation, NUMA) is answered with 0: not there.
constexpr DeviceAttribute kAttributes[] = {
    KL_FIELD(1, maxThreadsPerBlock),
    KL_FIELD(2, maxThreadsDim[0]),
    KL_FIELD(3, maxThreadsDim[1]),
    KL_FIELD(4, maxThreadsDim[2]),
    KL_FIELD(5, maxGridSize[0]),
    KL_FIELD(6, maxGridSize[1]),
    KL_FIELD(7, maxGridSize[2]),
    KL_FIELD(8, sharedMemPerBlock),
    KL_FIELD(9, totalConstMem),
    KL_FIELD(10, warpSize),
    KL_FIELD(11, memPitch),
    KL_FIELD(12, regsPerBlock),
    KL_FIELD(13, reserved[kReservedClock]),
    KL_FIELD(14, textureAlignment),
    KL_FIELD(15, reserved[kReservedOverlap]),
    KL_FIELD(16, multiProcessorCount),
    KL_FIELD(18, integrated),
    KL_FIELD(19, canMapHostMemory),
    KL_FIELD(21, maxTexture1D),
    KL_FIELD(22, maxTexture2D[0]),
    KL_FIELD(23, maxTexture2D[1]),
    KL_FIELD(24, maxTexture3D[0]),
    KL_FIELD(25, maxTexture3D[1]),
    KL_FIELD(26, maxTexture3D[2]),
    KL_FIELD(27, maxTexture2DLayered[0]),
    KL_FIELD(28, maxTexture2DLayered[1]),
    KL_FIELD(29, maxTexture2DLayered[2]),
    KL_FIELD(30, surfaceAlignment),
    KL_FIELD(31, concurrentKernels),
    KL_FIELD(36, reserved[kReservedMemoryClock]),
    KL_FIELD(37, memoryBusWidth),
    KL_FIELD(38, l2CacheSize),
    KL_FIELD(39, maxThreadsPerMultiProcessor),
    KL_FIELD(40, asyncEngineCount),
    KL_FIELD(41, unifiedAddressing),
    KL_FIELD(51, texturePitchAlignment),
    KL_FIELD(75, major),
    KL_FIELD(76, minor),
    KL_FIELD(78, streamPrioritiesSupported),
    KL_FIELD(79, globalL1CacheSupported),
    KL_FIELD(80, localL1CacheSupported),
    KL_FIELD(81, sharedMemPerMultiprocessor),
    KL_FIELD(82, regsPerMultiprocessor),
    KL_FIELD(83, managedMemory),
    KL_FIELD(86, hostNativeAtomicSupported),
    KL_VALUE(87, 2),
    KL_FIELD(88, pageableMemoryAccess),
    KL_FIELD(89, concurrentManagedAccess),
    KL_FIELD(90, computePreemptionSupported),
    KL_FIELD(91, canUseHostPointerForRegisteredMem),
    KL_FIELD(95, cooperativeLaunch),
    KL_FIELD(97, sharedMemPerBlockOptin),
    KL_FIELD(99, hostRegisterSupported),
    KL_FIELD(101, directManagedMemAccessFromHost),
    KL_FIELD(106, maxBlocksPerMultiProcessor),
    KL_FIELD(111, reservedSharedMemPerBlock),
    KL_FIELD(115, memoryPoolsSupported),
    KL_VALUE(134, -1),
};
constexpr int kLastAttribute = 147;

cudaError_t check_device_number(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

}  // namespace

KL_API cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return leave(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}
KL_API cudaError_t cudaGetDevice(int* device) {
  if (!device) return leave(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
KL_API cudaError_t cudaSetDevice(int device) {
  KL_ENTER();
  return leave(check_device_number(device));
}
KL_API cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
KL_API cudaError_t cudaSetValidDevices(int* devices, int count) {
  for (int i = 0; i < count; ++i)
    if (!devices || devices[i] != 0) return leave(cudaErrorInvalidDevice);
  return cudaSuccess;
}
KL_API cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return wanted ? cudaGetDevice(device) : leave(cudaErrorInvalidValue);
}

KL_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* wanted, int device) {
  if (!wanted) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = check_device_number(device)) return leave(error);
  *wanted = properties();
  return cudaSuccess;
}
KL_ALIAS(cudaGetDeviceProperties_v2, cudaGetDeviceProperties);

KL_API cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (!value || attribute < 1 || attribute > kLastAttribute) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = check_device_number(device)) return leave(error);
  *value = 0;
  for (const DeviceAttribute& known : kAttributes)
    if (known.number == attribute) *value = known.value(properties());
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceSynchronize() {
  KL_ENTER();
  if (on_callback_thread()) return leave(cudaErrorNotPermitted);
  if (open_captures.load() > 0 && check_no_capture(find_stream(nullptr)) != cudaSuccess)
    return leave(cudaErrorStreamCaptureUnsupported);
  wait_for_callbacks(nullptr);
  return leave(device_fault());
}
KL_ALIAS(cudaThreadSynchronize, cudaDeviceSynchronize);

/// Back to a fresh device: nothing allocated, variables at their initial values, no fault.
KL_API cudaError_t cudaDeviceReset() {
  start_runtime();
  forget_streams_and_events();
  StateLock lock;
  state().arena.release_all();
  state().registry.unload();
  forget_pools();
  forget_textures();
  state().limits = kInitialLimits;
  clear_device_fault();
  return cudaSuccess;
}
KL_ALIAS(cudaThreadExit, cudaDeviceReset);

KL_API cudaError_t cudaSetDeviceFlags(unsigned flags) {
  constexpr unsigned kKnown = 0xff;
  if (flags & ~kKnown) return leave(cudaErrorInvalidValue);
  StateLock lock;
  state().device_flags = flags;
  return cudaSuccess;
}
KL_API cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  constexpr unsigned kMapHost = 0x08;
  if (!flags) return leave(cudaErrorInvalidValue);
  StateLock lock;
  *flags = state().device_flags | kMapHost;
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceSetLimit(unsigned limit, size_t value) {
  KL_ENTER();
  StateLock lock;
  if (limit >= state().limits.size()) return leave(cudaErrorUnsupportedLimit);
  state().limits[limit] = value;
  return cudaSuccess;
}
KL_API cudaError_t cudaDeviceGetLimit(size_t* value, unsigned limit) {
  KL_ENTER();
  StateLock lock;
  if (!value) return leave(cudaErrorInvalidValue);
  if (limit >= state().limits.size()) return leave(cudaErrorUnsupportedLimit);
  *value = state().limits[limit];
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceSetCacheConfig(int config) {
  KL_ENTER();
  StateLock lock;
  state().cache_config = config;
  return cudaSuccess;
}
KL_API cudaError_t cudaDeviceGetCacheConfig(int* config) {
  KL_ENTER();
  StateLock lock;
  if (!config) return leave(cudaErrorInvalidValue);
  *config = state().cache_config;
  return cudaSuccess;
}
KL_API cudaError_t cudaDeviceSetSharedMemConfig(int) {
  KL_ENTER();
  return cudaSuccess;
}
KL_API cudaError_t cudaDeviceGetSharedMemConfig(int* config) {
  KL_ENTER();
  constexpr int kFourByteBanks = 1;
  if (!config) return leave(cudaErrorInvalidValue);
  *config = kFourByteBanks;
  return cudaSuccess;
}
KL_API cudaError_t cudaCtxResetPersistingL2Cache() {
  KL_ENTER();
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  KL_ENTER();
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  constexpr char kBusId[] = "0000:00:00.0";
  if (!text || length < int(sizeof kBusId)) return leave(cudaErrorInvalidValue);
  if (cudaError_t error = check_device_number(device)) return leave(error);
  std::memcpy(text, kBusId, sizeof kBusId);
  return cudaSuccess;
}
KL_API cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  unsigned domain = 1, bus = 1, slot = 1;
  if (!device || !text) return leave(cudaErrorInvalidValue);
  bool known = std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) == 3 && domain == 0 && bus == 0 && slot == 0;
  if (!known) return leave(cudaErrorInvalidDevice);
  *device = 0;
  return cudaSuccess;
}

KL_API cudaError_t cudaDeviceCanAccessPeer(int* answer, int device, int peer) {
  if (!answer) return leave(cudaErrorInvalidValue);
  if (device != 0 || peer != 0) return leave(cudaErrorInvalidDevice);
  *answer = 0;
  return cudaSuccess;
}
KL_API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return leave(cudaErrorInvalidDevice); }
KL_API cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return leave(peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}
KL_API cudaError_t cudaDeviceGetP2PAttribute(int*, int, int, int) { return leave(cudaErrorInvalidDevice); }
