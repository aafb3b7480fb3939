// Scheduling inside a block. Who may run is one 32-bit mask per warp, so finding the next fiber is a bit scan; a
// barrier costs each thread one context switch and a few instructions.
//
// Spin loops yield: the fiber leaves the runnable set until the round is over, so that a round always ends and the
// worker can run its other blocks. Lockstep (volatile shared memory, __activemask) releases lanes only when their whole
// warp has nothing else to run, and then only those at the earliest site.
#include "sandbox/device/cpu/executor/fiber_block.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace kernelift::cpu {

namespace context = boost::context::detail;

namespace {

constexpr size_t kRecursiveStack = 256 << 10;  // Bytes where the compiler could not bound a thread's stack.
constexpr size_t kStackMargin = 24 << 10;      // For what runs on top of device code: libm, printf, the executor.

/// The block whose fibers this thread runs: a fresh fiber finds itself through it.
thread_local FiberBlock* running_block = nullptr;

}  // namespace

FiberBlock::FiberBlock(LaunchState& state, uint32_t worker) : state_(state) {
  fibers_.resize(state.threads);
  warps_.resize((state.threads + KL_WARP_SIZE - 1) / KL_WARP_SIZE);
  for (Barrier& barrier : barriers_) barrier.waiting.resize(warps_.size()), barrier.site.resize(warps_.size());
  block_.state = &state;
  block_.fibers = this;
  if (state.check) check_ = std::make_unique<BlockCheck>(*state.check, state), block_.check = check_.get();
  if (!state.field.empty())
    field_ = std::make_unique<BlockNumbers>(*state.field[worker], state), block_.field = field_.get();
}

FiberBlock::~FiberBlock() {
  if (stacks_) StackSlab::give_back(std::move(stacks_));
}

bool FiberBlock::allocate() {
  const size_t bytes = state_.kernel.stack_bytes ? state_.kernel.stack_bytes + kStackMargin : kRecursiveStack;
  stacks_ = StackSlab::take(state_.threads, bytes);
  shared_.reset(new (std::nothrow) char[kSharedSpacing + KL_SHARED_ALIGN]);
  return stacks_ && shared_;
}

void FiberBlock::begin(uint64_t block_index, uint32_t processor) {
  set_block_id(block_, block_index);
  kl_block& block = block_.block;
  block.processor = processor;
  block.shared = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared_.get()) + KL_SHARED_ALIGN - 1) /
                                         KL_SHARED_ALIGN * KL_SHARED_ALIGN);
  block.dynamic_shared =
      block.shared + (state_.kernel.static_shared_bytes + KL_SHARED_ALIGN - 1) / KL_SHARED_ALIGN * KL_SHARED_ALIGN;
  if (check_) check_->begin(block, block_index);
  if (field_) field_->begin(block);
  uint32_t linear = 0;
  for (uint32_t z = 0; z < block.ntid_z; ++z)
    for (uint32_t y = 0; y < block.ntid_y; ++y)
      for (uint32_t x = 0; x < block.ntid_x; ++x, ++linear) {
        Fiber& fiber = fibers_[linear];
        fiber.thread = {&block, x, y, z, linear};
        fiber.warp = linear / KL_WARP_SIZE;
        fiber.lane = linear % KL_WARP_SIZE;
        fiber.context = context::make_fcontext(stacks_->top(linear), stacks_->bytes() - 4096, &FiberBlock::entry);
      }
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    const uint32_t lanes = std::min<uint32_t>(KL_WARP_SIZE, state_.threads - w * KL_WARP_SIZE);
    Warp& warp = warps_[w];
    warp.live = warp.runnable = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.yielded = warp.locked = 0;
    warp.groups.clear();
  }
  for (Barrier& barrier : barriers_) {
    barrier.arrived = barrier.set = barrier.expected = 0;
    std::fill(barrier.waiting.begin(), barrier.waiting.end(), 0);
  }
  live_ = state_.threads;
  at_grid_ = 0;
  cursor_ = 0;
  waits_for_grid_ = abandoned_ = false;
}

void FiberBlock::entry(context::transfer_t from) {
  *static_cast<context::fcontext_t*>(from.data) = from.fctx;
  FiberBlock& self = *running_block;
  kl_block& block = self.block_.block;
  Fiber& fiber = fiber_of(block.current);
  self.state_.kernel.run(&block);
  self.exit(fiber);
}

bool FiberBlock::anything(uint32_t Warp::* mask) const {
  for (const Warp& warp : warps_)
    if (warp.*mask) return true;
  return false;
}

/// The next runnable fiber in ring order from the cursor, nullptr if there is none.
Fiber* FiberBlock::pick() {
  const auto count = uint32_t(warps_.size());
  uint32_t w = cursor_ / KL_WARP_SIZE;
  if (w >= count) w = cursor_ = 0;
  uint32_t candidates = warps_[w].runnable & (~0u << cursor_ % KL_WARP_SIZE);
  for (uint32_t tried = 0; tried <= count; ++tried) {
    if (!candidates && !warps_[w].runnable && warps_[w].locked) {
      release_lockstep(w);
      candidates = warps_[w].runnable;
    }
    if (candidates) {
      const auto lane = uint32_t(std::countr_zero(candidates));
      cursor_ = w * KL_WARP_SIZE + lane + 1;
      // The stacks of a thousand fibers do not fit the first-level cache: that of the next one but one is asked for
      // now.
      if (const uint32_t later = candidates & (candidates - 1)) {
        const auto* stack =
            static_cast<const char*>(fibers_[w * KL_WARP_SIZE + uint32_t(std::countr_zero(later))].context);
        for (int line = 0; line < 4; ++line) __builtin_prefetch(stack + 64 * line);
      }
      return &fibers_[w * KL_WARP_SIZE + lane];
    }
    w = w + 1 == count ? 0 : w + 1;
    candidates = warps_[w].runnable;
  }
  return nullptr;
}

void FiberBlock::switch_away(Fiber& self) {
  Fiber* next = state_.stopped.load(std::memory_order_relaxed) ? nullptr : pick();
  if (next == &self) return;
  block_.block.current = next ? &next->thread : nullptr;
  const context::transfer_t from = context::jump_fcontext(next ? next->context : scheduler_, &self.context);
  *static_cast<context::fcontext_t*>(from.data) = from.fctx;
}

FiberBlock::Status FiberBlock::run() {
  if (waits_for_grid_) {
    if (state_.grid_generation.load(std::memory_order_acquire) == grid_generation_) return Status::WaitingForGrid;
    release_grid();
  }
  for (Warp& warp : warps_) {
    warp.runnable |= warp.yielded;
    warp.yielded = 0;
  }
  if (Fiber* first = pick()) {
    block_.block.current = &first->thread;
    running_block = this;
    const context::transfer_t from = context::jump_fcontext(first->context, &scheduler_);
    if (from.data) *static_cast<context::fcontext_t*>(from.data) = from.fctx;
  }
  if (abandoned_ || state_.stopped.load(std::memory_order_relaxed)) return Status::Abandoned;
  if (live_ == 0) return Status::Finished;
  if (waits_for_grid_) return Status::WaitingForGrid;
  return anything(&Warp::yielded) ? Status::Spinning : Status::Stuck;
}

uint32_t FiberBlock::barrier(Fiber& self, uint32_t id, uint32_t count, uint32_t op, bool predicate, uint32_t site) {
  Barrier& barrier = barriers_[id % KL_NAMED_BARRIERS];
  // Warps may wait at different __syncthreads(), as on a GPU, which counts them; the lanes of one may not.
  uint32_t& warps_site = barrier.site[self.warp];
  if ((barrier.waiting[self.warp] && site != warps_site) || (barrier.arrived && op != barrier.op)) {
    state_.fail(LaunchFault::DivergentBarrier,
                "threads of one warp wait at different __syncthreads(), or warps at barriers of different kinds: " +
                    describe_thread(block_.block, self.thread.linear) + " and others");
    abandon();
  }
  warps_site = site;
  barrier.op = op;
  barrier.expected = count;
  barrier.set += predicate;
  ++barrier.arrived;
  Warp& warp = warps_[self.warp];
  const uint32_t bit = 1u << self.lane;
  barrier.waiting[self.warp] |= bit;
  if (barrier.arrived >= (count ? count : live_)) {
    finish_barrier(barrier);
    return self.answer;
  }
  warp.runnable &= ~bit;
  switch_away(self);
  return self.answer;
}

void FiberBlock::arrive(Fiber& self, uint32_t id, uint32_t count) {
  Barrier& barrier = barriers_[id % KL_NAMED_BARRIERS];
  barrier.expected = count;
  barrier.op = KL_BARRIER_SYNC;
  if (++barrier.arrived >= (count ? count : live_)) finish_barrier(barrier);
}

void FiberBlock::finish_barrier(Barrier& barrier) {
  const uint32_t answer = barrier.op == KL_BARRIER_COUNT ? barrier.set
                          : barrier.op == KL_BARRIER_AND ? uint32_t(barrier.set == barrier.arrived)
                                                         : uint32_t(barrier.set != 0);
  for (uint32_t w = 0; w < warps_.size(); ++w) {
    if (barrier.op != KL_BARRIER_SYNC)
      for (uint32_t lanes = barrier.waiting[w]; lanes; lanes &= lanes - 1)
        fibers_[w * KL_WARP_SIZE + uint32_t(std::countr_zero(lanes))].answer = answer;
    warps_[w].runnable |= barrier.waiting[w];
    barrier.waiting[w] = 0;
  }
  barrier.arrived = barrier.set = 0;
  state_.progress.fetch_add(1, std::memory_order_relaxed);
}

uint64_t FiberBlock::warp_operation(Fiber& self, uint32_t op, uint32_t mask, uint64_t value, uint64_t operand) {
  Warp& warp = warps_[self.warp];
  const uint32_t bit = 1u << self.lane;
  mask |= bit;
  warp.value[self.lane] = value;
  warp.operand[self.lane] = operand;
  size_t index = 0;
  while (index < warp.groups.size() && (warp.groups[index].op != op || warp.groups[index].mask != mask)) ++index;
  if (index == warp.groups.size()) warp.groups.push_back({op, mask, 0});
  warp.groups[index].arrived |= bit;
  warp.runnable &= ~bit;
  if (!finish_group(warp, index)) switch_away(self);
  return warp.answer[self.lane];
}

bool FiberBlock::finish_group(Warp& warp, size_t index) {
  const Group group = warp.groups[index];
  if (group.mask & warp.live & ~group.arrived) return false;
  exchange(kl_warp_op(group.op), group.arrived, {warp.value, warp.operand, warp.answer});
  if (check_) check_->join(uint32_t(&warp - warps_.data()), group.arrived, group.op == KL_WARP_SYNC);
  warp.runnable |= group.arrived;
  warp.groups.erase(warp.groups.begin() + long(index));
  return true;
}

uint32_t FiberBlock::lockstep(Fiber& self, uint32_t site) {
  Warp& warp = warps_[self.warp];
  const uint32_t bit = 1u << self.lane;
  self.site = site;
  warp.locked |= bit;
  warp.runnable &= ~bit;
  switch_away(self);
  return self.answer;
}

void FiberBlock::release_lockstep(uint32_t w) {
  Warp& warp = warps_[w];
  uint32_t lowest = ~0u, together = 0;
  for (uint32_t lanes = warp.locked; lanes; lanes &= lanes - 1) {
    const auto lane = uint32_t(std::countr_zero(lanes));
    const uint32_t site = fibers_[w * KL_WARP_SIZE + lane].site;
    if (site < lowest) lowest = site, together = 0;
    if (site == lowest) together |= 1u << lane;
  }
  for (uint32_t lanes = together; lanes; lanes &= lanes - 1)
    fibers_[w * KL_WARP_SIZE + uint32_t(std::countr_zero(lanes))].answer = together;
  warp.locked &= ~together;
  warp.runnable |= together;
}

void FiberBlock::yield(Fiber& self) {
  Warp& warp = warps_[self.warp];
  warp.runnable &= ~(1u << self.lane);
  warp.yielded |= 1u << self.lane;
  switch_away(self);
}

void FiberBlock::grid_sync(Fiber& self) {
  warps_[self.warp].runnable &= ~(1u << self.lane);
  if (++at_grid_ == live_) {
    grid_generation_ = state_.grid_generation.load(std::memory_order_acquire);
    waits_for_grid_ = true;
    state_.progress.fetch_add(1, std::memory_order_relaxed);
    if (state_.grid_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == state_.blocks) {
      state_.grid_arrived.store(0, std::memory_order_relaxed);
      if (state_.check) state_.check->forget_accesses();
      state_.grid_generation.fetch_add(1, std::memory_order_release);
    }
  }
  switch_away(self);
}

void FiberBlock::release_grid() {
  waits_for_grid_ = false;
  at_grid_ = 0;
  for (Warp& warp : warps_) warp.runnable = warp.live;
}

void FiberBlock::recheck_after_exit(Warp& warp) {
  for (size_t i = 0; i < warp.groups.size();)
    if (!finish_group(warp, i)) ++i;
  for (Barrier& barrier : barriers_)
    if (barrier.arrived && !barrier.expected && barrier.arrived >= live_) finish_barrier(barrier);
}

void FiberBlock::exit(Fiber& self) {
  Warp& warp = warps_[self.warp];
  const uint32_t bit = 1u << self.lane;
  warp.live &= ~bit;
  warp.runnable &= ~bit;
  --live_;
  if (live_) recheck_after_exit(warp);
  switch_away(self);
  std::abort();  // A dead fiber is never picked again.
}

void FiberBlock::abandon() {
  abandoned_ = true;
  context::jump_fcontext(scheduler_, nullptr);
  std::abort();
}

std::string FiberBlock::describe_waits() const {
  uint32_t at_barrier = 0, in_warp = 0;
  for (const Barrier& barrier : barriers_)
    for (uint32_t lanes : barrier.waiting) at_barrier += uint32_t(std::popcount(lanes));
  for (const Warp& warp : warps_)
    for (const Group& group : warp.groups) in_warp += uint32_t(std::popcount(group.arrived));
  return kernelift::cpu::describe_waits(block_.block, live_, at_barrier, in_warp, at_grid_);
}

}  // namespace kernelift::cpu
