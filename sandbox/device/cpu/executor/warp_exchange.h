// What each lane of a warp operation receives, once all of its lanes have arrived: pure computation on 32 lanes.
#pragma once
#include <cstdint>

#include "sandbox/device/cpu/block_context.h"

namespace kernelift::cpu {

/// One entry per lane.
struct WarpLanes {
  const uint64_t* value;
  const uint64_t* operand;  ///< Shuffles: lane or delta in the low word, PTX's clamp and segment mask in the high.
  uint64_t* answer;         ///< Bit 32: the predicate of shuffles, match_all and elect.
};

/// `lanes`: those that take part; answers of others are left alone.
void exchange(kl_warp_op op, uint32_t lanes, const WarpLanes& warp);
/// The same where all lanes have one operand, which is not read from `warp`. Answers of others are undefined.
void exchange_uniform(kl_warp_op op, uint32_t lanes, uint64_t operand, const WarpLanes& warp);

}  // namespace kernelift::cpu
