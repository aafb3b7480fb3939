// launch(): checks the geometry as a CUDA device would, then lets oneTBB's workers take blocks from a shared counter. A
// launch too small to pay for waking anybody runs on the caller.
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "core/toolchain/image_abi.h"
#include "sandbox/device/cpu/executor/check/checked_memory.h"
#include "sandbox/device/cpu/executor/field/field_memory.h"
#include "sandbox/device/cpu/executor/worker.h"

namespace kernelift::cpu {

namespace {

constexpr uint32_t kMaxGrid[3] = {0x7fffffffu, 65535, 65535};
constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
constexpr uint64_t kSmallLaunch = 512;  // Threads; waking a worker costs about what these take.
constexpr size_t kArgumentAlign = 64;

uint32_t cores() {
  static const uint32_t kCores = std::max(1u, std::thread::hardware_concurrency());
  return kCores;
}

std::string check_geometry(const kl_kernel& kernel, const Geometry& geometry) {
  const DeviceLimits limits = device_limits();
  const uint32_t grid[3] = {geometry.grid.x, geometry.grid.y, geometry.grid.z};
  const uint32_t block[3] = {geometry.block.x, geometry.block.y, geometry.block.z};
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] == 0 || block[axis] == 0) return "a grid or block dimension is zero";
    if (grid[axis] > kMaxGrid[axis])
      return "the grid is larger than " + std::to_string(kMaxGrid[axis]) + " along one axis";
    if (block[axis] > kMaxBlock[axis])
      return "the block is larger than " + std::to_string(kMaxBlock[axis]) + " along one axis";
  }
  if (geometry.block.count() > limits.max_threads_per_block)
    return std::to_string(geometry.block.count()) + " threads in a block; the limit is " +
           std::to_string(limits.max_threads_per_block);
  if (kernel.max_threads && geometry.block.count() > kernel.max_threads)
    return std::to_string(geometry.block.count()) + " threads in a block; the kernel's __launch_bounds__ allow " +
           std::to_string(kernel.max_threads);
  const uint64_t shared = uint64_t(kernel.static_shared_bytes) + geometry.shared_bytes;
  if (shared > limits.shared_per_block_optin)
    return std::to_string(shared) + " bytes of shared memory; the limit is " +
           std::to_string(limits.shared_per_block_optin);
  if ((kernel.flags & KL_USES_GRID_SYNC) && !geometry.cooperative)
    return "the kernel synchronises its whole grid and needs a cooperative launch";
  return "";
}

/// To nearest, with denormals, without traps: as on a GPU, whatever the host has asked for itself, and has again after.
class DeviceArithmetic {
 public:
  DeviceArithmetic() { _mm_setcsr(kDefault); }
  ~DeviceArithmetic() { _mm_setcsr(host_); }
  DeviceArithmetic(const DeviceArithmetic&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1f80;
  const unsigned host_ = _mm_getcsr();
};

}  // namespace

DeviceLimits device_limits() {
  DeviceLimits limits;
  limits.processors = cores();
  return limits;
}

void set_block_id(BlockState& state, uint64_t index) {
  const kl_launch& launch = state.state->launch;
  kl_block& block = state.block;
  block.launch = &launch;
  block.ctaid_x = uint32_t(index % launch.grid.x);
  block.ctaid_y = uint32_t(index / launch.grid.x % launch.grid.y);
  block.ctaid_z = uint32_t(index / launch.grid.x / launch.grid.y);
  block.ntid_x = launch.block.x, block.ntid_y = launch.block.y, block.ntid_z = launch.block.z;
  block.nctaid_x = launch.grid.x, block.nctaid_y = launch.grid.y, block.nctaid_z = launch.grid.z;
}

LaunchOutcome launch(const kl_kernel& kernel, const Geometry& geometry, const void* arguments,
                     const LaunchOptions& options) {
  LaunchOutcome outcome;
  outcome.detail = check_geometry(kernel, geometry);
  if (!outcome.detail.empty()) {
    outcome.fault = LaunchFault::InvalidConfiguration;
    return outcome;
  }
  if (kernel.mode == KL_MODE_REFUSED) {
    outcome.fault = LaunchFault::Unsupported;
    outcome.detail = kernel.mode_reason;
    return outcome;
  }
  // The caller's bytes may lie anywhere; kernels read parameters with their natural alignment.
  std::unique_ptr<char[]> room(new char[kernel.parameter_bytes + kArgumentAlign]);
  char* packed = room.get() + (kArgumentAlign - reinterpret_cast<uintptr_t>(room.get()) % kArgumentAlign);
  if (kernel.parameter_bytes) std::memcpy(packed, arguments, kernel.parameter_bytes);

  LaunchState state(kernel, options);
  state.launch.grid = {geometry.grid.x, geometry.grid.y, geometry.grid.z};
  state.launch.block = {geometry.block.x, geometry.block.y, geometry.block.z};
  state.launch.dynamic_shared_bytes = geometry.shared_bytes;
  state.launch.arguments = packed;
  state.launch.services = &services();
  state.launch.executor = &state;
  state.blocks = geometry.grid.count();
  state.threads = uint32_t(geometry.block.count());
  state.cooperative = geometry.cooperative;

  if (options.check && options.check->memory().begin_launch(state.blocks)) state.check = &options.check->memory();

  const auto start = std::chrono::steady_clock::now();
  auto run = [&state,
              how = kernel.mode == KL_MODE_FIBER ? run_blocks_on_fibers : run_blocks_as_loops](uint32_t worker) {
    DeviceArithmetic arithmetic;
    how(state, worker);
  };
  auto workers = uint32_t(std::min<uint64_t>(options.workers ? options.workers : cores(), state.blocks));
  const bool ordered = options.field && (kernel.flags & (KL_ORDERS_BLOCKS | KL_USES_GRID_SYNC | KL_MAY_SPIN));
  if (workers == 0 || state.check || ordered || state.blocks * state.threads <= kSmallLaunch) workers = 1;
  std::deque<FieldMemory> beside;  // Of the second worker and those behind it.
  if (options.field) {
    FieldMemory& first = options.field->memory();
    first.begin_launch(packed, kernel.parameter_bytes);
    state.field.push_back(&first);
    while (state.field.size() < workers) state.field.push_back(&beside.emplace_back(first.for_worker()));
  }
  if (workers == 1) {
    run(0);
  } else {
    auto spread = [&] { tbb::parallel_for(uint32_t(0), workers, run, tbb::static_partitioner()); };
    // An arena of its own costs tens of microseconds: only for a launch held to fewer cores than there are.
    if (options.workers && options.workers < cores()) tbb::task_arena(int(workers)).execute(spread);
    else spread();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (auto& worker : beside) options.field->memory().add(worker);
  if (state.check) state.check->end_launch();
  outcome.fault = state.fault();
  outcome.detail = state.detail();
  return outcome;
}

}  // namespace kernelift::cpu
