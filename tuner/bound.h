// The resource that bounds a kernel. Every tier first tries the changes that usually help such a kernel; the bound only
// orders attempts, and measurements decide.
#pragma once
#include "core/model/kernel_facts.h"

namespace kernelift::tuner {

enum class Bound { Unknown, Memory, Latency, Compute };
const char* name(Bound bound);

/// The nearest roof of the roofline; for a kernel far below every roof, by the stall reasons of its warps.
Bound bound_by(const KernelFacts& facts);

}  // namespace kernelift::tuner
