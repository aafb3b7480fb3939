// What all workers of one launch share: the launch itself, the next block to run, the first fault, and signs of life.
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::cpu {

/// Arenas of shared memory are this long, so that "is this address shared?" is one compare.
inline constexpr size_t kSharedSpacing = 256 << 10;

struct LaunchState {
  const kl_kernel& kernel;
  const LaunchOptions& options;
  kl_launch launch{};
  uint64_t blocks = 0;
  uint32_t threads = 0;  ///< Per block.
  bool cooperative = false;
  class CheckedMemory* check = nullptr;   ///< Check mode only.
  std::vector<class FieldMemory*> field;  ///< Field runs only: of each worker.
  std::atomic<uint64_t> next_block{0};
  std::atomic<bool> stopped{false};   ///< A fault was recorded; everyone leaves.
  std::atomic<uint64_t> progress{0};  ///< Grows whenever a thread got further than a spin loop.
  std::atomic<uint64_t> grid_arrived{0}, grid_generation{0};
  std::mutex print_mutex;

  LaunchState(const kl_kernel& k, const LaunchOptions& o) : kernel(k), options(o) {}

  /// The first fault wins.
  void fail(LaunchFault fault, std::string detail) {
    std::lock_guard lock(fault_mutex_);
    if (fault_ == LaunchFault::None) {
      fault_ = fault;
      detail_ = std::move(detail);
    }
    stopped.store(true, std::memory_order_relaxed);
  }
  LaunchFault fault() const { return fault_; }
  const std::string& detail() const { return detail_; }

 private:
  std::mutex fault_mutex_;
  LaunchFault fault_ = LaunchFault::None;
  std::string detail_;
};

/// What the executor keeps behind a kl_block. The block is its first member, so services find it from there.
struct BlockState {
  kl_block block{};
  LaunchState* state = nullptr;
  void* jump = nullptr;                 ///< LOOP and CUT: the worker's jmp_buf, to leave a block from inside it.
  class FiberBlock* fibers = nullptr;   ///< FIBER only.
  class BlockCheck* check = nullptr;    ///< Check mode only.
  class BlockNumbers* field = nullptr;  ///< Field runs only.

  static BlockState& of(kl_block* block) { return *reinterpret_cast<BlockState*>(block); }
};

/// Fills the parts of a block that say which one it is.
void set_block_id(BlockState& block, uint64_t index);
/// "block (1,0,0) thread (3,0,0)"
std::string describe_thread(const kl_block& block, uint32_t linear);
/// Where threads wait that wait for ever.
std::string describe_waits(const kl_block& block, uint32_t live, uint32_t at_barriers, uint32_t in_warps,
                           uint32_t at_grid);
/// kl_services::run_warps (warp_block.cpp).
void run_warps(kl_block* block, const kl_warp_plan* plan);
/// Leaves the block for good, whatever it runs on.
[[noreturn]] void abandon_block(kl_block* block);

const kl_services& services();

}  // namespace kernelift::cpu
