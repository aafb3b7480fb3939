// The services behind kl_services: thin adapters from the C table to the launch and to fibers.
#include <time.h>

#include <bit>
#include <cstdlib>

#include "sandbox/device/cpu/executor/check/block_check.h"
#include "sandbox/device/cpu/executor/device_printf.h"
#include "sandbox/device/cpu/executor/fiber_block.h"
#include "sandbox/device/cpu/executor/field/block_numbers.h"

namespace kernelift::cpu {

std::string describe_thread(const kl_block& block, uint32_t linear) {
  auto triple = [](uint32_t x, uint32_t y, uint32_t z) {
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
  };
  const uint32_t x = linear % block.ntid_x, y = linear / block.ntid_x % block.ntid_y,
                 z = linear / block.ntid_x / block.ntid_y;
  return "block " + triple(block.ctaid_x, block.ctaid_y, block.ctaid_z) + " thread " + triple(x, y, z);
}

namespace {

LaunchState& launch_of(kl_block* block) { return *BlockState::of(block).state; }

int32_t print(kl_block* block, const char* format, const void* arguments) {
  LaunchState& state = launch_of(block);
  const FormattedText text = format_device_printf(format, arguments);
  std::lock_guard lock(state.print_mutex);
  if (state.options.print) state.options.print(text.text);
  else fwrite(text.text.data(), 1, text.text.size(), stdout);
  return text.arguments;
}

void assert_fail(kl_block* block, uint32_t linear, const char* message, const char* file, uint32_t line,
                 const char* function) {
  auto text = [](const char* string) { return std::string(string ? string : "?"); };
  launch_of(block).fail(LaunchFault::Assert, text(file) + ":" + std::to_string(line) + ": " + text(function) + ": " +
                                                 describe_thread(*block, linear) + " Assertion `" + text(message) +
                                                 "` failed.");
  abandon_block(block);
}

void trap(kl_block* block, uint32_t linear) {
  launch_of(block).fail(LaunchFault::Trap, "trap in " + describe_thread(*block, linear));
  abandon_block(block);
}

void divergent(kl_block* block, const char* sites) {
  launch_of(block).fail(LaunchFault::DivergentBarrier,
                        std::string("threads of one block wait at different __syncthreads() (") + sites + "), " +
                            describe_thread(*block, 0));
  abandon_block(block);
}

void* allocate(uint64_t bytes) { return malloc(bytes); }
void release(void* memory) { free(memory); }

uint64_t global_timer() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

FiberBlock* fibers_of(kl_thread* thread) { return BlockState::of(thread->block).fibers; }

/// In a loop over threads there is nobody to wait for; time passes all the same.
void nanosleep(kl_thread* thread, uint32_t) {
  if (FiberBlock* fibers = fibers_of(thread)) fibers->yield(FiberBlock::fiber_of(thread));
}
uint32_t barrier(kl_thread* thread, uint32_t id, uint32_t count, uint32_t op, uint32_t predicate, uint32_t site) {
  return FiberBlock::of(thread).barrier(FiberBlock::fiber_of(thread), id, count, op, predicate != 0, site);
}
void arrive(kl_thread* thread, uint32_t id, uint32_t count) {
  FiberBlock::of(thread).arrive(FiberBlock::fiber_of(thread), id, count);
}
uint64_t warp(kl_thread* thread, uint32_t op, uint32_t mask, uint64_t value, uint64_t operand) {
  return FiberBlock::of(thread).warp_operation(FiberBlock::fiber_of(thread), op, mask, value, operand);
}
uint32_t active_mask(kl_thread* thread, uint32_t site) {
  return FiberBlock::of(thread).lockstep(FiberBlock::fiber_of(thread), site);
}
void lockstep(kl_thread* thread, uint32_t site) { FiberBlock::of(thread).lockstep(FiberBlock::fiber_of(thread), site); }
/// A loop that may spin can sit in a function that a barrier-free kernel also calls; there it has nobody to yield to.
void yield(kl_thread* thread) {
  if (FiberBlock* fibers = fibers_of(thread)) fibers->yield(FiberBlock::fiber_of(thread));
}
uint32_t grid_valid(kl_block* block) { return launch_of(block).cooperative; }
/// A kernel that asks first may be launched otherwise, too; one that does not is refused then.
void grid_sync(kl_thread* thread) {
  if (!grid_valid(thread->block)) {
    launch_of(thread->block)
        .fail(LaunchFault::Trap, "the whole grid is to wait in a launch that is not cooperative, " +
                                     describe_thread(*thread->block, thread->linear));
    abandon_block(thread->block);
  }
  FiberBlock::of(thread).grid_sync(FiberBlock::fiber_of(thread));
}
void exit_thread(kl_thread* thread) { FiberBlock::of(thread).exit(FiberBlock::fiber_of(thread)); }

void check_access(kl_thread* thread, const void* pointer, uint64_t bytes, kl_site* site, uint64_t low, uint64_t high) {
  if (BlockCheck* check = BlockState::of(thread->block).check) check->access(*thread, pointer, bytes, *site, low, high);
}
void check_barrier(kl_thread* thread, kl_site* site) {
  if (BlockCheck* check = BlockState::of(thread->block).check) check->barrier(*thread, *site);
}

// Field runs. Code that was lowered for them runs without one, too, and then nothing is asked of the answers.
BlockNumbers* field_of(kl_thread* thread) { return BlockState::of(thread->block).field; }

uint64_t field_load(kl_thread* thread, const void* pointer, uint32_t bytes, kl_field_site* site) {
  BlockNumbers* field = field_of(thread);
  return field ? field->load(pointer, bytes, *site) : 0;
}
void field_store(kl_thread* thread, const void* pointer, uint32_t bytes, uint64_t number, kl_field_site* site) {
  if (BlockNumbers* field = field_of(thread)) field->store(pointer, bytes, number, *site);
}
uint64_t field_load_word(kl_thread* thread, const void* pointer, kl_field_site* site) {
  BlockNumbers* field = field_of(thread);
  return field ? field->load_word(pointer, *site) : 0;
}
void field_store_word(kl_thread* thread, const void* pointer, uint64_t state, kl_field_site* site) {
  if (BlockNumbers* field = field_of(thread)) field->store_word(pointer, state, *site);
}
void field_touch(kl_thread* thread, const void* pointer, uint64_t bytes, uint32_t wrote, kl_field_site* site) {
  if (BlockNumbers* field = field_of(thread)) field->touch(pointer, bytes, wrote != 0, *site);
}
void field_copy(kl_thread* thread, const void* to, const void* from, uint64_t bytes, kl_field_site* site) {
  if (BlockNumbers* field = field_of(thread)) field->copy(to, from, bytes, *site);
}
uint64_t field_parameter(kl_thread* thread, uint64_t offset, uint32_t bytes, kl_field_site* site) {
  BlockNumbers* field = field_of(thread);
  const auto* arguments = static_cast<const char*>(thread->block->launch->arguments);
  return field ? field->load(arguments + offset, bytes, *site) : 0;
}
uint64_t field_of_bits(uint64_t bits, uint32_t bytes) {
  return prime_field::of_double(bytes == 4 ? std::bit_cast<float>(uint32_t(bits)) : std::bit_cast<double>(bits));
}
uint64_t field_divide(kl_thread* thread, uint64_t a, uint64_t b) {
  BlockNumbers* field = field_of(thread);
  return field ? field->memory().divide(a, b) : 0;
}
uint64_t field_apply(kl_thread* thread, uint64_t function, uint64_t a, uint64_t b, kl_field_site* site) {
  BlockNumbers* field = field_of(thread);
  return field ? field->memory().apply(function, a, b, *site) : 0;
}
void field_decide(kl_thread* thread, kl_field_site* site) {
  if (BlockNumbers* field = field_of(thread)) field->memory().note_float(), field->memory().decide(*site);
}
uint32_t field_constants_meant(kl_thread* thread, const uint64_t* constants, uint64_t count) {
  BlockNumbers* field = field_of(thread);
  return field && field->memory().constants_meant({constants, count});
}

}  // namespace

const kl_services& services() {
  static const kl_services kTable = {print,
                                     assert_fail,
                                     trap,
                                     divergent,
                                     allocate,
                                     release,
                                     global_timer,
                                     nanosleep,
                                     barrier,
                                     arrive,
                                     warp,
                                     active_mask,
                                     lockstep,
                                     yield,
                                     grid_sync,
                                     exit_thread,
                                     run_warps,
                                     grid_valid,
                                     check_access,
                                     check_barrier,
                                     field_load,
                                     field_store,
                                     field_load_word,
                                     field_store_word,
                                     field_touch,
                                     field_copy,
                                     field_parameter,
                                     field_of_bits,
                                     field_divide,
                                     field_apply,
                                     field_decide,
                                     field_constants_meant};
  return kTable;
}

}  // namespace kernelift::cpu
