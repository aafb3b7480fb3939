// Shuffles follow the PTX manual's pseudo-code for shfl.sync to the letter; a source lane that does not take part
// answers with the reader's own value.
#include "sandbox/device/cpu/executor/warp_exchange.h"

#include <algorithm>
#include <bit>

namespace kernelift::cpu {

namespace {

constexpr uint64_t kPredicate = uint64_t(1) << 32;

template <class Visit>
void each_lane(uint32_t lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(unsigned(std::countr_zero(lanes)));
}

[[gnu::always_inline]] inline uint64_t shuffled(kl_warp_op op, uint32_t lanes, uint64_t operand, const uint64_t* value,
                                                unsigned lane) {
  const int index = int(operand & 31), clamp = int(operand >> 32 & 31);
  const int segment = int(operand >> 40 & 31), self = int(lane);
  const int last = (self & segment) | (clamp & ~segment & 31), first = self & segment;
  int source = self;
  bool inside = false;
  switch (op) {
    case KL_WARP_SHFL_UP:
      source = self - index;
      inside = source >= last;
      break;
    case KL_WARP_SHFL_DOWN:
      source = self + index;
      inside = source <= last;
      break;
    case KL_WARP_SHFL_BFLY:
      source = self ^ index;
      inside = source <= last;
      break;
    default:
      source = first | (index & ~segment & 31);
      inside = source <= last;
      break;
  }
  if (!inside || !(lanes >> source & 1)) source = self;
  return (value[source] & 0xffffffffu) | (inside ? kPredicate : 0);
}

template <class Combine>
void reduce(uint32_t lanes, const WarpLanes& warp, Combine combine) {
  uint32_t total = 0;
  bool first = true;
  each_lane(lanes, [&](unsigned lane) {
    const auto value = uint32_t(warp.value[lane]);
    total = first ? value : combine(total, value);
    first = false;
  });
  each_lane(lanes, [&](unsigned lane) { warp.answer[lane] = total; });
}

/// All 32 lanes at once, without branches on the operation.
template <kl_warp_op op>
[[gnu::always_inline]] inline void shuffle_uniform(uint32_t lanes, uint64_t operand, const WarpLanes& warp) {
  uint64_t value[KL_WARP_SIZE];
  std::copy_n(warp.value, KL_WARP_SIZE, value);
#pragma clang loop unroll(disable)
  for (unsigned lane = 0; lane < KL_WARP_SIZE; ++lane) warp.answer[lane] = shuffled(op, lanes, operand, value, lane);
}

uint32_t signed_min(uint32_t a, uint32_t b) { return uint32_t(std::min(int32_t(a), int32_t(b))); }
uint32_t signed_max(uint32_t a, uint32_t b) { return uint32_t(std::max(int32_t(a), int32_t(b))); }

}  // namespace

void exchange(kl_warp_op op, uint32_t lanes, const WarpLanes& warp) {
  auto all_answer = [&](uint64_t answer) { each_lane(lanes, [&](unsigned lane) { warp.answer[lane] = answer; }); };
  uint32_t votes = 0;
  switch (op) {
    case KL_WARP_SYNC: return all_answer(0);
    case KL_WARP_SHFL_IDX:
    case KL_WARP_SHFL_UP:
    case KL_WARP_SHFL_DOWN:
    case KL_WARP_SHFL_BFLY:
      return each_lane(
          lanes, [&](unsigned lane) { warp.answer[lane] = shuffled(op, lanes, warp.operand[lane], warp.value, lane); });
    case KL_WARP_VOTE_ALL:
    case KL_WARP_VOTE_ANY:
    case KL_WARP_VOTE_UNI:
    case KL_WARP_BALLOT:
      each_lane(lanes, [&](unsigned lane) { votes |= uint32_t(warp.value[lane] != 0) << lane; });
      if (op == KL_WARP_BALLOT) return all_answer(votes);
      if (op == KL_WARP_VOTE_ANY) return all_answer(votes != 0);
      return all_answer(votes == lanes || (op == KL_WARP_VOTE_UNI && votes == 0));
    case KL_WARP_MATCH_ANY:
      return each_lane(lanes, [&](unsigned lane) {
        uint32_t same = 0;
        each_lane(lanes, [&](unsigned other) { same |= uint32_t(warp.value[other] == warp.value[lane]) << other; });
        warp.answer[lane] = same;
      });
    case KL_WARP_MATCH_ALL: {
      bool same = true;
      const uint64_t first = warp.value[std::countr_zero(lanes)];
      each_lane(lanes, [&](unsigned lane) { same &= warp.value[lane] == first; });
      return all_answer(same ? lanes | kPredicate : 0);
    }
    case KL_WARP_ADD: return reduce(lanes, warp, [](uint32_t a, uint32_t b) { return a + b; });
    case KL_WARP_AND: return reduce(lanes, warp, [](uint32_t a, uint32_t b) { return a & b; });
    case KL_WARP_OR: return reduce(lanes, warp, [](uint32_t a, uint32_t b) { return a | b; });
    case KL_WARP_XOR: return reduce(lanes, warp, [](uint32_t a, uint32_t b) { return a ^ b; });
    case KL_WARP_MIN: return reduce(lanes, warp, signed_min);
    case KL_WARP_MAX: return reduce(lanes, warp, signed_max);
    case KL_WARP_UMIN: return reduce(lanes, warp, [](uint32_t a, uint32_t b) { return std::min(a, b); });
    case KL_WARP_UMAX: return reduce(lanes, warp, [](uint32_t a, uint32_t b) { return std::max(a, b); });
    case KL_WARP_ELECT: {
      const auto leader = unsigned(std::countr_zero(lanes));
      return each_lane(lanes, [&](unsigned lane) { warp.answer[lane] = leader | (lane == leader ? kPredicate : 0); });
    }
  }
}

__attribute__((target_clones("default", "avx2", "avx512f")))  // Vectors with gathers where there are any.
void exchange_uniform(kl_warp_op op, uint32_t lanes, uint64_t operand, const WarpLanes& warp) {
  switch (op) {
    case KL_WARP_SHFL_IDX: return shuffle_uniform<KL_WARP_SHFL_IDX>(lanes, operand, warp);
    case KL_WARP_SHFL_UP: return shuffle_uniform<KL_WARP_SHFL_UP>(lanes, operand, warp);
    case KL_WARP_SHFL_DOWN: return shuffle_uniform<KL_WARP_SHFL_DOWN>(lanes, operand, warp);
    case KL_WARP_SHFL_BFLY: return shuffle_uniform<KL_WARP_SHFL_BFLY>(lanes, operand, warp);
    default: return exchange(op, lanes, warp);  // The others have no operand.
  }
}

}  // namespace kernelift::cpu
