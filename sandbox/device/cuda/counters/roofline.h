// The ceilings of this very GPU, measured in short runs of our own: what DRAM and L2 deliver, what its arithmetic
// reaches, what an empty launch costs. Datasheets are for other cards; a share of a roof means something only against
// these. Takes some 50 ms and at most 3 GiB of device memory, for its duration.
#pragma once
#include "core/model/kernel_facts.h"
#include "core/toolchain/cuda_driver.h"

namespace kernelift {

/// For the current context. Best of several runs each: a ceiling is what was reached once. A figure that cannot be had
/// (too little free memory) is absent.
Result<MachinePeaks> measure_peaks(const CudaDriver& driver);

}  // namespace kernelift
