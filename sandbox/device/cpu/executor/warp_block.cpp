// Leads a block whose kernel was cut at its warp operations. Each warp runs on its own until it has nothing left to
// run, that is, until its lanes have ended or wait at a block barrier; then the barrier is passed by all. The usual
// case, all lanes of a warp at the same place, costs a comparison of 32 words; lanes that diverged are led one group
// after another by the rules that fibers follow (fiber_block.cpp): operations meet by kind and mask, not by place;
// lockstep points let the earliest go first when nothing else can.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sandbox/device/cpu/executor/check/block_check.h"
#include "sandbox/device/cpu/executor/launch_state.h"
#include "sandbox/device/cpu/executor/warp_exchange.h"

namespace kernelift::cpu {

namespace {

typedef uint32_t Words __attribute__((ext_vector_type(KL_WARP_SIZE), aligned(4)));
typedef bool Bits __attribute__((ext_vector_type(KL_WARP_SIZE)));

/// Which of a warp's 32 words equal `value`. Rows are whole warps long, whatever the block's size.
uint32_t equal_lanes(const uint32_t* row, uint32_t value) {
  const Words words = *reinterpret_cast<const Words*>(row);
  return __builtin_bit_cast(uint32_t, __builtin_convertvector(words == Words(value), Bits));
}

unsigned first_lane(uint32_t lanes) { return unsigned(std::countr_zero(lanes)); }

class WarpBlock {
 public:
  WarpBlock(kl_block& block, const kl_warp_plan& plan)
      : block_(block),
        plan_(plan),
        threads_(block.ntid_x * block.ntid_y * block.ntid_z),
        warps_((threads_ + KL_WARP_SIZE - 1) / KL_WARP_SIZE) {
    suspended_ = row<uint32_t>(plan.suspended_row);
    mask_ = row<uint32_t>(plan.mask_row);
    value_ = row<uint64_t>(plan.value_row);
    operand_ = row<uint64_t>(plan.operand_row);
    answer_ = row<uint64_t>(plan.answer_row);
  }

  void run() {
    for (uint32_t w = 0; w < warps_; ++w) {
      const uint32_t lanes = std::min<uint32_t>(KL_WARP_SIZE, threads_ - w * KL_WARP_SIZE);
      live_[w] = lanes == 32 ? ~0u : (1u << lanes) - 1;
      advance(w, step(w, 0, live_[w]));
    }
    while (pass_barrier())
      for (uint32_t w = 0; w < warps_; ++w)
        if (live_[w]) advance(w, step(w, suspended_[w * KL_WARP_SIZE + first_lane(live_[w])], live_[w]));
  }

 private:
  template <class T>
  T* row(uint64_t offset) {
    return reinterpret_cast<T*>(block_.frame + offset * block_.frame_stride);
  }

  const kl_suspension& at(uint32_t w, unsigned lane) const {
    return plan_.suspensions[suspended_[w * KL_WARP_SIZE + lane]];
  }

  /// Resumes lanes that are suspended at one place, neighbours together. Answers as kl_warp_plan::step does.
  uint32_t step(uint32_t w, uint32_t suspension, uint32_t lanes) {
    uint32_t now = KL_DIVERGENT;
    while (lanes) {
      const unsigned first = first_lane(lanes), count = unsigned(std::countr_one(lanes >> first));
      now = plan_.step(&block_, suspension, w * KL_WARP_SIZE + first, count);
      lanes &= count == 32 ? 0 : ~(((1u << count) - 1) << first);
    }
    return now;
  }

  /// Runs a warp until all of its lanes have ended or wait for other warps. `here`: where its live lanes are, if known.
  void advance(uint32_t w, uint32_t here) {
    const uint32_t* suspended = suspended_ + w * KL_WARP_SIZE;
    while (uint32_t live = live_[w]) {
      if (here == KL_DIVERGENT) {
        const uint32_t first = suspended[first_lane(live)];
        if ((live & ~equal_lanes(suspended, first)) == 0) here = first;
      }
      if (here != KL_DIVERGENT) {
        if (here == 0) {
          live_[w] = 0;
          return;
        }
        const kl_suspension& at = plan_.suspensions[here];
        if (at.wait == KL_WAIT_BARRIER) return;
        if (at.wait != KL_WAIT_WARP || is_one_group(w, at, live)) {
          if (at.wait == KL_WAIT_WARP) exchange_at(w, at, live);
          else if (at.wait == KL_WAIT_ACTIVE) answer_lanes(w, live, live);
          here = step(w, here, live);
          continue;
        }
      }
      here = KL_DIVERGENT;
      if (const uint32_t ended = live & equal_lanes(suspended, 0)) {
        live_[w] = live & ~ended;
        continue;  // The others are often together.
      }
      if (!complete_operations(w) && !release_lockstep(w)) return;
    }
  }

  uint32_t mask_of(uint32_t w, unsigned lane) const {
    const kl_suspension& here = at(w, lane);
    return (here.flags & KL_UNIFORM_MASK ? here.mask : mask_[w * KL_WARP_SIZE + lane]) | 1u << lane;
  }

  bool is_one_group(uint32_t w, const kl_suspension& at, uint32_t live) const {
    if (at.flags & KL_UNIFORM_MASK) return (live & ~at.mask) == 0;
    const uint32_t* masks = mask_ + w * KL_WARP_SIZE;
    const uint32_t first = masks[first_lane(live)];
    return (live & ~first) == 0 && (live & ~equal_lanes(masks, first)) == 0;
  }

  void exchange_at(uint32_t w, const kl_suspension& at, uint32_t lanes) {
    const uint32_t start = w * KL_WARP_SIZE;
    const WarpLanes warp{value_ + start, operand_ + start, answer_ + start};
    if (BlockCheck* check = BlockState::of(&block_).check) check->join(w, lanes, at.op == KL_WARP_SYNC);
    if (at.flags & KL_UNIFORM_OPERAND) exchange_uniform(kl_warp_op(at.op), lanes, at.operand, warp);
    else exchange(kl_warp_op(at.op), lanes, warp);
  }

  void answer_lanes(uint32_t w, uint32_t lanes, uint64_t answer) {
    for (; lanes; lanes &= lanes - 1) answer_[w * KL_WARP_SIZE + first_lane(lanes)] = answer;
  }

  /// Resumes lanes by where each is suspended now.
  void step_each(uint32_t w, uint32_t lanes) {
    std::array<uint32_t, KL_WARP_SIZE> places;
    std::memcpy(places.data(), suspended_ + w * KL_WARP_SIZE, sizeof places);
    while (lanes) {
      const uint32_t place = places[first_lane(lanes)], together = lanes & equal_lanes(places.data(), place);
      step(w, place, together);
      lanes &= ~together;
    }
  }

  /// Lets the lanes of complete warp operations exchange and go on; false if there is none.
  bool complete_operations(uint32_t w) {
    bool completed = false;
    uint32_t waiting = 0;
    for (uint32_t lanes = live_[w]; lanes; lanes &= lanes - 1)
      if (at(w, first_lane(lanes)).wait == KL_WAIT_WARP) waiting |= 1u << first_lane(lanes);
    while (waiting) {
      const unsigned leader = first_lane(waiting);
      const uint32_t op = at(w, leader).op, mask = mask_of(w, leader);
      uint32_t arrived = 0;
      for (uint32_t lanes = waiting; lanes; lanes &= lanes - 1) {
        const unsigned lane = first_lane(lanes);
        if (at(w, lane).op == op && mask_of(w, lane) == mask) arrived |= 1u << lane;
      }
      waiting &= ~arrived;
      if (mask & live_[w] & ~arrived) continue;
      for (uint32_t lanes = arrived; lanes; lanes &= lanes - 1) {
        const unsigned lane = first_lane(lanes);
        if (at(w, lane).flags & KL_UNIFORM_OPERAND) operand_[w * KL_WARP_SIZE + lane] = at(w, lane).operand;
      }
      const uint32_t start = w * KL_WARP_SIZE;
      exchange(kl_warp_op(op), arrived, {value_ + start, operand_ + start, answer_ + start});
      if (BlockCheck* check = BlockState::of(&block_).check) check->join(w, arrived, op == KL_WARP_SYNC);
      step_each(w, arrived);
      completed = true;
    }
    return completed;
  }

  bool release_lockstep(uint32_t w) {
    uint32_t earliest = ~0u;
    for (uint32_t lanes = live_[w]; lanes; lanes &= lanes - 1) {
      const unsigned lane = first_lane(lanes);
      const uint32_t wait = at(w, lane).wait;
      if (wait == KL_WAIT_LOCKSTEP || wait == KL_WAIT_ACTIVE)
        earliest = std::min(earliest, suspended_[w * KL_WARP_SIZE + lane]);
    }
    if (earliest == ~0u) return false;
    const uint32_t together = live_[w] & equal_lanes(suspended_ + w * KL_WARP_SIZE, earliest);
    answer_lanes(w, together, together);
    step(w, earliest, together);
    return true;
  }

  /// Lets the block's threads pass the barrier that all of them wait at, each warp at its own __syncthreads(); false if
  /// all have ended. Faults do not return.
  bool pass_barrier() {
    LaunchState& state = *BlockState::of(&block_).state;
    if (state.stopped.load(std::memory_order_relaxed)) return false;
    uint32_t at_barriers = 0, in_warps = 0, live = 0, set = 0, first = 0;
    bool different = false, answered = false;
    for (uint32_t w = 0; w < warps_; ++w) {
      if (!live_[w]) continue;
      const uint32_t* suspended = suspended_ + w * KL_WARP_SIZE;
      const uint32_t here = suspended[first_lane(live_[w])];
      live += uint32_t(std::popcount(live_[w]));
      if (live_[w] & ~equal_lanes(suspended, here)) {
        different = true;
        count_waits(w, at_barriers, in_warps);
        continue;
      }
      const kl_suspension& at = plan_.suspensions[here];
      (at.wait == KL_WAIT_BARRIER ? at_barriers : in_warps) += uint32_t(std::popcount(live_[w]));
      if (!first) first = here;
      different |= at.op != plan_.suspensions[first].op;  // __syncthreads_or() is no __syncthreads().
      if (at.op == KL_BARRIER_SYNC) continue;
      answered = true;
      for (uint32_t lanes = live_[w]; lanes; lanes &= lanes - 1)
        set += uint32_t(value_[w * KL_WARP_SIZE + first_lane(lanes)]);
    }
    if (in_warps) {
      state.fail(LaunchFault::DivergentBarrier,
                 describe_waits(block_, live, at_barriers, in_warps, 0) + " (" + describe_places() + ")");
      abandon_block(&block_);
    }
    if (different) {
      state.fail(LaunchFault::DivergentBarrier,
                 "threads of one warp wait at different __syncthreads(), or warps at barriers of different kinds (" +
                     describe_places() + "), " + describe_thread(block_, 0));
      abandon_block(&block_);
    }
    if (answered) {
      const uint32_t op = plan_.suspensions[first].op;
      const uint64_t answer = op == KL_BARRIER_COUNT ? set : op == KL_BARRIER_AND ? set == live : set != 0;
      for (uint32_t w = 0; w < warps_; ++w) answer_lanes(w, live_[w], answer);
    }
    return live != 0;
  }

  void count_waits(uint32_t w, uint32_t& at_barriers, uint32_t& in_warps) const {
    for (uint32_t lanes = live_[w]; lanes; lanes &= lanes - 1)
      ++(at(w, first_lane(lanes)).wait == KL_WAIT_BARRIER ? at_barriers : in_warps);
  }

  std::string describe_places() const {
    std::string places;
    uint32_t last = 0;
    for (uint32_t w = 0; w < warps_; ++w)
      for (uint32_t lanes = live_[w]; lanes; lanes &= lanes - 1) {
        const uint32_t place = suspended_[w * KL_WARP_SIZE + first_lane(lanes)];
        if (place == last) continue;
        last = place;
        const std::string name = plan_.suspensions[place].place;
        if (places.find(name) == std::string::npos) places += (places.empty() ? "" : ", ") + name;
      }
    return places;
  }

  kl_block& block_;
  const kl_warp_plan& plan_;
  const uint32_t threads_, warps_;
  uint32_t *suspended_, *mask_;
  uint64_t *value_, *operand_, *answer_;
  uint32_t live_[1024 / KL_WARP_SIZE];
};

}  // namespace

void run_warps(kl_block* block, const kl_warp_plan* plan) { WarpBlock(*block, *plan).run(); }

std::string describe_waits(const kl_block& block, uint32_t live, uint32_t at_barriers, uint32_t in_warps,
                           uint32_t at_grid) {
  return "block (" + std::to_string(block.ctaid_x) + "," + std::to_string(block.ctaid_y) + "," +
         std::to_string(block.ctaid_z) + "): of " + std::to_string(live) + " threads that have not ended, " +
         std::to_string(at_barriers) + " wait at a block barrier, " + std::to_string(in_warps) +
         " in a warp operation and " + std::to_string(at_grid) + " at a grid barrier, for threads that never come";
}

}  // namespace kernelift::cpu
