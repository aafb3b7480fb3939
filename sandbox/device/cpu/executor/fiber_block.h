// One resident block whose threads are fibers. run() lets them run until all have ended or none can go on; a fiber that
// waits picks the next runnable one and switches to it directly.
#pragma once
#include <boost/context/detail/fcontext.hpp>
#include <vector>

#include "sandbox/device/cpu/executor/check/block_check.h"
#include "sandbox/device/cpu/executor/field/block_numbers.h"
#include "sandbox/device/cpu/executor/launch_state.h"
#include "sandbox/device/cpu/executor/stack_pool.h"
#include "sandbox/device/cpu/executor/warp_exchange.h"

namespace kernelift::cpu {

struct Fiber {
  kl_thread thread;  ///< First: services get a pointer to it.
  boost::context::detail::fcontext_t context;
  uint32_t warp, lane;
  uint32_t site;    ///< Where it waits in lockstep.
  uint32_t answer;  ///< What its barrier or active mask answered.
};

class FiberBlock {
 public:
  enum class Status { Finished, Spinning, WaitingForGrid, Stuck, Abandoned };

  /// To be begun by that worker alone.
  FiberBlock(LaunchState& state, uint32_t worker);
  ~FiberBlock();
  FiberBlock(const FiberBlock&) = delete;
  FiberBlock& operator=(const FiberBlock&) = delete;

  /// False if there is no memory for it.
  bool allocate();
  void begin(uint64_t block_index, uint32_t processor);
  Status run();
  BlockState& block() { return block_; }
  /// Where threads wait, for a person.
  std::string describe_waits() const;

  // What lowered code calls, on a fiber.
  uint32_t barrier(Fiber& self, uint32_t id, uint32_t count, uint32_t op, bool predicate, uint32_t site);
  void arrive(Fiber& self, uint32_t id, uint32_t count);
  uint64_t warp_operation(Fiber& self, uint32_t op, uint32_t mask, uint64_t value, uint64_t operand);
  uint32_t lockstep(Fiber& self, uint32_t site);
  void yield(Fiber& self);
  void grid_sync(Fiber& self);
  [[noreturn]] void exit(Fiber& self);
  [[noreturn]] void abandon();

  static Fiber& fiber_of(kl_thread* thread) { return *reinterpret_cast<Fiber*>(thread); }
  static FiberBlock& of(kl_thread* thread) { return *BlockState::of(thread->block).fibers; }

 private:
  struct Barrier {
    uint32_t arrived = 0, expected = 0, set = 0, op = 0;
    std::vector<uint32_t> waiting, site;  ///< Per warp: lanes, and at which statement.
  };
  struct Group {  ///< Lanes that meet in one warp operation.
    uint32_t op, mask, arrived;
  };
  struct Warp {
    uint32_t runnable = 0, yielded = 0, locked = 0, live = 0;
    std::vector<Group> groups;
    uint64_t value[KL_WARP_SIZE], operand[KL_WARP_SIZE], answer[KL_WARP_SIZE];
  };

  static void entry(boost::context::detail::transfer_t from);
  Fiber* pick();
  void switch_away(Fiber& self);
  void release_lockstep(uint32_t warp);
  void finish_barrier(Barrier& barrier);
  bool finish_group(Warp& warp, size_t group);
  void recheck_after_exit(Warp& warp);
  void release_grid();
  bool anything(uint32_t Warp::* mask) const;

  LaunchState& state_;
  BlockState block_;
  std::unique_ptr<StackSlab> stacks_;
  std::unique_ptr<char[]> shared_;
  std::unique_ptr<BlockCheck> check_;
  std::unique_ptr<BlockNumbers> field_;
  std::vector<Fiber> fibers_;
  std::vector<Warp> warps_;
  Barrier barriers_[KL_NAMED_BARRIERS];
  boost::context::detail::fcontext_t scheduler_ = nullptr;
  uint32_t cursor_ = 0, live_ = 0, at_grid_ = 0;
  uint64_t grid_generation_ = 0;
  bool waits_for_grid_ = false, abandoned_ = false;
};

}  // namespace kernelift::cpu
