// What holds a kernel back, in one word, so that every tier tries first what usually helps such a kernel. It only
// orders attempts: what helps is what was measured.
#pragma once
#include "core/model/kernel_facts.h"

namespace kernelift {

enum class Bound { Unknown, Memory, Latency, Compute };
const char* name(Bound bound);

/// By the highest roof of the roofline, or, far from every roof, by what warps wait for.
Bound bound_by(const KernelFacts& facts);

}  // namespace kernelift
