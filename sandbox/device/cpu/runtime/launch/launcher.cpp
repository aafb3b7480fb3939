// The order of checks is CUDA's, as far as it can be observed: unknown function, then geometry, then shared memory,
// then resources. Device faults are explained in one line on stderr, because the number alone ("unspecified launch
// failure") sends people to a debugger.
#include "sandbox/device/cpu/runtime/launch/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/guard.h"
#include "sandbox/device/cpu/runtime/launch/recorder.h"
#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {
namespace {

constexpr size_t kArgumentAlignment = 64;
/// Threads that only spin get this long; a GPU's display watchdog gives five seconds.
constexpr std::chrono::milliseconds kNoProgress{10000};

std::mutex& launch_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

thread_local bool in_launch = false;

/// $KERNELIFT_CPU_WORKERS; 0: the executor's default, all cores.
unsigned wanted_workers() {
  static const unsigned workers = [] {
    const char* text = std::getenv("KERNELIFT_CPU_WORKERS");
    constexpr unsigned long kMost = 1024;
    return unsigned(std::min(text ? std::strtoul(text, nullptr, 10) : 0, kMost));
  }();
  return workers;
}

bool valid_geometry(dim3 grid, dim3 block) {
  const cpu::DeviceLimits limits = cpu::device_limits();
  constexpr uint32_t kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kMaxBlockZ = 64;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) return false;
  if (grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) return false;
  if (block.x > limits.max_threads_per_block || block.y > limits.max_threads_per_block || block.z > kMaxBlockZ)
    return false;
  return uint64_t(block.x) * block.y * block.z <= limits.max_threads_per_block;
}

std::shared_ptr<char[]> pack(const kl_kernel& kernel, void** arguments) {
  size_t bytes = (std::max<size_t>(kernel.parameter_bytes, 1) + kArgumentAlignment - 1) & ~(kArgumentAlignment - 1);
  std::shared_ptr<char[]> packed(static_cast<char*>(std::aligned_alloc(kArgumentAlignment, bytes)),
                                 [](char* memory) { std::free(memory); });
  for (uint32_t i = 0; i < kernel.parameter_count; ++i)
    std::memcpy(packed.get() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].size);
  return packed;
}

cudaError_t error_of(cpu::LaunchFault fault) {
  switch (fault) {
    case cpu::LaunchFault::None: return cudaSuccess;
    case cpu::LaunchFault::InvalidConfiguration: return cudaErrorInvalidConfiguration;
    case cpu::LaunchFault::Assert: return cudaErrorAssert;
    case cpu::LaunchFault::Trap: return cudaErrorLaunchFailure;
    case cpu::LaunchFault::DivergentBarrier: return cudaErrorLaunchFailure;
    case cpu::LaunchFault::TimedOut: return cudaErrorLaunchTimeout;
    case cpu::LaunchFault::OutOfResources: return cudaErrorLaunchOutOfResources;
    case cpu::LaunchFault::Unsupported: return cudaErrorNotSupported;
  }
  return cudaErrorUnknown;
}

bool poisons_device(cudaError_t error) {
  return error == cudaErrorAssert || error == cudaErrorLaunchFailure || error == cudaErrorLaunchTimeout ||
         error == cudaErrorIllegalAddress || error == cudaErrorIllegalInstruction;
}

}  // namespace

unsigned configured_workers() {
  return wanted_workers() ? wanted_workers() : std::max(1u, std::thread::hardware_concurrency());
}

cudaError_t find_function(const void* host_function, Function** function) {
  StateLock lock;
  Function* found = state().registry.function(host_function);
  if (!found) return cudaErrorInvalidDeviceFunction;
  if (!found->kernel) {
    explain("cannot launch %s: %s", demangled(found->name).c_str(), found->problem.c_str());
    return cudaErrorNoKernelImageForDevice;
  }
  *function = found;
  return cudaSuccess;
}

uint32_t dynamic_shared_limit(const Function& function) {
  const uint32_t standard = cpu::device_limits().shared_per_block;
  uint32_t own = function.kernel->static_shared_bytes;
  return std::max(function.max_dynamic_shared, own < standard ? standard - own : 0);
}

int resident_blocks(const Function& function, uint32_t threads, size_t dynamic_shared) {
  const cpu::DeviceLimits limits = cpu::device_limits();
  if (threads == 0 || threads > limits.max_threads_per_block) return 0;
  if (function.kernel->max_threads && threads > function.kernel->max_threads) return 0;
  if (dynamic_shared > dynamic_shared_limit(function)) return 0;
  uint32_t whole_warps = (threads + limits.warp_size - 1) / limits.warp_size * limits.warp_size;
  uint64_t blocks = std::min(kBlocksPerProcessor, kThreadsPerProcessor / whole_warps);
  uint64_t shared = function.kernel->static_shared_bytes + dynamic_shared;
  if (shared > 0) blocks = std::min<uint64_t>(blocks, limits.shared_per_block_optin / shared);
  return int(blocks);
}

cudaError_t prepare_launch(const void* host_function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                           bool cooperative, uint64_t stream, Launch& launch) {
  Function* function = nullptr;
  if (cudaError_t error = find_function(host_function, &function)) return error;
  if (!valid_geometry(grid, block)) return cudaErrorInvalidConfiguration;
  if (shared_bytes > dynamic_shared_limit(*function)) return cudaErrorInvalidValue;
  const kl_kernel& kernel = *function->kernel;
  uint32_t threads = block.x * block.y * block.z;
  if (kernel.max_threads && threads > kernel.max_threads) return cudaErrorLaunchOutOfResources;
  if (cooperative) {
    uint64_t capacity = uint64_t(resident_blocks(*function, threads, shared_bytes)) * configured_workers();
    if (uint64_t(grid.x) * grid.y * grid.z > capacity) return cudaErrorCooperativeLaunchTooLarge;
  }
  if (kernel.parameter_count > 0 && !arguments) return cudaErrorInvalidValue;
  launch.host_function = host_function;
  launch.function = function;
  launch.geometry = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, uint32_t(shared_bytes), cooperative};
  launch.stream = stream;
  launch.arguments = pack(kernel, arguments);
  return cudaSuccess;
}

cudaError_t run_launch(const Launch& launch) {
  if (cudaError_t fault = device_fault()) return fault;
  std::lock_guard lock(launch_mutex());
  in_launch = true;
  const kl_kernel& kernel = *launch.function->kernel;
  const Geometry& geometry = launch.geometry;
  kl_record_launch record = {};
  const kl_recorder* listener = recorder;
  if (listener) {
    record = {&kernel,
              launch.function->image,
              launch.function->binary->blob,
              {geometry.grid.x, geometry.grid.y, geometry.grid.z},
              {geometry.block.x, geometry.block.y, geometry.block.z},
              geometry.shared_bytes,
              geometry.cooperative,
              launch.arguments.get(),
              launch.stream};
    listener->launch_begin(&record);
  }
  cpu::LaunchOptions options;
  options.workers = wanted_workers();
  options.no_progress_timeout = kNoProgress;
  GuardedOutcome outcome = launch_guarded(kernel, geometry, launch.arguments.get(), options);
  cudaError_t error = outcome.fault_signal ? outcome.error : error_of(outcome.launch.fault);
  if (listener) listener->launch_end(&record, error == cudaSuccess ? outcome.launch.seconds : -1);
  in_launch = false;

  if (error == cudaSuccess) return cudaSuccess;
  if (kernel.mode == KL_MODE_REFUSED && std::exchange(launch.function->refusal_explained, true)) return error;
  explain("kernel %s %s: %s", demangled(kernel.name).c_str(), geometry.text().c_str(),
          outcome.fault_signal ? outcome.detail.c_str() : outcome.launch.detail.c_str());
  if (!poisons_device(error)) return error;
  set_device_fault(error);
  return cudaSuccess;
}

std::unique_lock<std::mutex> lock_out_launches() {
  if (!recorder || in_launch) return {};
  return std::unique_lock(launch_mutex());
}

void wait_for_launches() {
  if (!in_launch) std::lock_guard lock(launch_mutex());  // The recorder's hooks may call from inside one.
}

}  // namespace kernelift::cudart
