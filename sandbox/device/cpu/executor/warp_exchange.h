// What each lane of a warp operation receives, once all of its lanes have arrived: pure computation on 32 lanes.
#pragma once
#include <cstdint>

#include "sandbox/device/cpu/block_context.h"

namespace kernelift::cpu {

struct WarpLanes {
  uint64_t value[KL_WARP_SIZE];
  uint64_t
      operand[KL_WARP_SIZE];  ///< Shuffles: lane or delta in the low word, PTX's clamp and segment mask in the high.
  uint64_t answer[KL_WARP_SIZE];  ///< Bit 32: the predicate of shuffles, match_all and elect.
};

/// `lanes`: those that take part; answers of others are left alone.
void exchange(kl_warp_op op, uint32_t lanes, WarpLanes& warp);

}  // namespace kernelift::cpu
