// Measurements of one launch on an NVIDIA GPU besides its duration: hardware counters, and the GPU's measured peak
// rates. Figures that cannot be measured stay absent; without NVIDIA's headers at build time all do, and the facts say
// why.
#pragma once
#include <functional>

#include "core/model/kernel_facts.h"

namespace kernelift::sandbox {

/// Fills in facts.peaks, and the counters or facts.counters_missing. For the current context of device `ordinal`;
/// `prepare` restores memory, `launch` launches once, and both return when the device is idle. An Error is a failure of
/// one of these two.
Status profile_launch(int ordinal, const std::function<Status()>& prepare, const std::function<Status()>& launch,
                      KernelFacts& facts);

}  // namespace kernelift::sandbox
