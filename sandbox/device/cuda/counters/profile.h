// All that can be measured of one launch on an NVIDIA GPU beyond its duration: hardware counters, and the ceilings of
// this very GPU. Exists without NVIDIA's headers too, where it says so; what cannot be had stays absent in the facts.
#pragma once
#include <functional>

#include "core/model/kernel_facts.h"

namespace kernelift {

/// Fills facts.peaks and the counters, or facts.counters_missing. For the current context of device `ordinal`;
/// `prepare` puts memory back, `launch` launches once, both return when the device is done. An Error means that one of
/// these failed.
Status profile_launch(int ordinal, const std::function<Status()>& prepare, const std::function<Status()>& launch,
                      KernelFacts& facts);

}  // namespace kernelift
