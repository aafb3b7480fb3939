// Two ways to run blocks. Loops: one arena per worker, blocks taken in chunks so that tiny blocks cost little. Fibers:
// a set of resident blocks taken in order; while all of them only spin, another block is made resident, since the
// thread they wait for may be in it; when there is none left to add and nothing moves for long, the launch is called
// hung.
#include "sandbox/device/cpu/executor/worker.h"

#include <sched.h>
#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "sandbox/device/cpu/executor/check/block_check.h"
#include "sandbox/device/cpu/executor/fiber_block.h"
#include "sandbox/device/cpu/executor/field/block_numbers.h"

namespace kernelift::cpu {

namespace {

constexpr uint64_t kChunkThreads = 16384;    // A chunk of about this many threads amortises the shared counter.
constexpr uint64_t kResidentFibers = 16384;  // Per worker, when blocks wait for each other.
constexpr auto kNoProgress = std::chrono::seconds(10);

class Arena {
 public:
  bool reserve(size_t frame_bytes) {
    shared_.reset(new (std::align_val_t(KL_SHARED_ALIGN), std::nothrow) char[kSharedSpacing]);
    frame_.reset(new (std::align_val_t(KL_SHARED_ALIGN), std::nothrow) char[frame_bytes + KL_SHARED_ALIGN]);
    return shared_ && frame_;
  }
  char* shared() { return shared_.get(); }
  char* frame() { return frame_.get(); }

 private:
  struct Free {
    void operator()(char* memory) const { operator delete[](memory, std::align_val_t(KL_SHARED_ALIGN)); }
  };
  std::unique_ptr<char[], Free> shared_, frame_;
};

void run_chunk(const kl_kernel& kernel, BlockState& block, LaunchState& state, uint64_t first, uint64_t last) {
  std::jmp_buf leave;
  block.jump = &leave;
  if (_setjmp(leave)) return;  // A fault: abandon_block() came back here, and the launch is stopped.
  for (uint64_t i = first; i < last && !state.stopped.load(std::memory_order_relaxed); ++i) {
    set_block_id(block, i);
    if (block.check) block.check->begin(block.block, i);
    if (block.field) block.field->begin(block.block);
    kernel.run(&block.block);
  }
}

}  // namespace

void run_blocks_as_loops(LaunchState& state, uint32_t worker) {
  const kl_kernel& kernel = state.kernel;
  const uint64_t stride = (uint64_t(state.threads) + KL_FRAME_ROUND - 1) / KL_FRAME_ROUND * KL_FRAME_ROUND;
  BlockState block;
  Arena arena;
  if (!arena.reserve(stride * kernel.frame_bytes))
    return state.fail(LaunchFault::OutOfResources,
                      "no memory for a block's frame of " + std::to_string(stride * kernel.frame_bytes) + " bytes");
  block.state = &state;
  block.block.processor = worker;
  block.block.shared = arena.shared();
  block.block.dynamic_shared =
      arena.shared() + (kernel.static_shared_bytes + KL_SHARED_ALIGN - 1) / KL_SHARED_ALIGN * KL_SHARED_ALIGN;
  block.block.frame = arena.frame();
  block.block.frame_stride = stride;
  std::unique_ptr<BlockCheck> check;
  if (state.check) check = std::make_unique<BlockCheck>(*state.check, state), block.check = check.get();
  std::unique_ptr<BlockNumbers> field;
  if (!state.field.empty())
    field = std::make_unique<BlockNumbers>(*state.field[worker], state), block.field = field.get();
  const uint64_t chunk = std::max<uint64_t>(1, std::min(kChunkThreads / state.threads, state.blocks / 16));
  while (!state.stopped.load(std::memory_order_relaxed)) {
    const uint64_t first = state.next_block.fetch_add(chunk, std::memory_order_relaxed);
    if (first >= state.blocks) return;
    run_chunk(kernel, block, state, first, std::min(first + chunk, state.blocks));
  }
}

namespace {

class ResidentBlocks {
 public:
  ResidentBlocks(LaunchState& state, uint32_t worker) : state_(state), worker_(worker) {}

  void run() {
    open();
    while (!blocks_.empty() && !state_.stopped.load(std::memory_order_relaxed)) {
      const bool moved = run_round();
      if (blocks_.empty()) open();
      else if (!moved && !open()) wait();
    }
  }

 private:
  bool open() {
    const uint64_t limit = std::max<uint64_t>(1, kResidentFibers / state_.threads);
    if (full_ || blocks_.size() >= limit) {
      if (state_.cooperative && state_.next_block.load() < state_.blocks)
        state_.fail(LaunchFault::OutOfResources, "a cooperative launch of more blocks than can be resident at once");
      return false;
    }
    const uint64_t index = state_.next_block.fetch_add(1, std::memory_order_relaxed);
    if (index >= state_.blocks) return false;
    std::unique_ptr<FiberBlock> block;
    if (!spare_.empty()) {
      block = std::move(spare_.back());
      spare_.pop_back();
    } else {
      block = std::make_unique<FiberBlock>(state_, worker_);
      if (!block->allocate()) {
        // As on a GPU, what cannot be resident waits for what is; only with nothing resident is there no way on.
        full_ = true;
        if (!blocks_.empty() && !state_.cooperative) return false;
        state_.fail(LaunchFault::OutOfResources,
                    "no memory for the stacks of " + std::to_string(state_.threads) + " threads");
        return false;
      }
    }
    block->begin(index, worker_);
    blocks_.push_back(std::move(block));
    return true;
  }

  /// True if some thread got further.
  bool run_round() {
    const uint64_t before = state_.progress.load(std::memory_order_relaxed);
    bool moved = false;
    for (size_t i = 0; i < blocks_.size();) {
      switch (blocks_[i]->run()) {
        case FiberBlock::Status::Abandoned: return true;
        case FiberBlock::Status::Stuck:
          state_.fail(LaunchFault::DivergentBarrier, blocks_[i]->describe_waits());
          return true;
        case FiberBlock::Status::Finished:
          spare_.push_back(std::move(blocks_[i]));
          blocks_.erase(blocks_.begin() + long(i));
          state_.progress.fetch_add(1, std::memory_order_relaxed);
          moved = true;
          break;
        default: ++i;
      }
    }
    return moved || state_.progress.load(std::memory_order_relaxed) != before;
  }

  void wait() {
    const auto now = std::chrono::steady_clock::now();
    const uint64_t progress = state_.progress.load(std::memory_order_relaxed);
    if (progress != last_progress_ || !since_) {
      last_progress_ = progress;
      since_ = now;
    }
    const auto limit = state_.options.no_progress_timeout.value_or(kNoProgress);
    if (now - *since_ > limit)
      state_.fail(LaunchFault::TimedOut, "no thread made progress for " + std::to_string(limit.count()) + " ms; " +
                                             blocks_.front()->describe_waits());
    sched_yield();
  }

  LaunchState& state_;
  const uint32_t worker_;
  std::vector<std::unique_ptr<FiberBlock>> blocks_, spare_;
  bool full_ = false;  ///< Memory for no further block's stacks.
  uint64_t last_progress_ = 0;
  std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace

void run_blocks_on_fibers(LaunchState& state, uint32_t worker) { ResidentBlocks(state, worker).run(); }

void abandon_block(kl_block* block) {
  BlockState& state = BlockState::of(block);
  if (state.fibers) state.fibers->abandon();
  _longjmp(*static_cast<std::jmp_buf*>(state.jump), 1);
}

}  // namespace kernelift::cpu
