// The peak rates of this GPU, measured by short benchmarks: bandwidths of DRAM and L2, rates of arithmetic, and the
// duration of an empty launch. A datasheet's figures may be for another card, so shares of a peak refer to these. Takes
// some 50 ms, and at most 3 GiB of device memory for that time.
#pragma once
#include "core/model/kernel_facts.h"
#include "core/toolchain/cuda_driver.h"

namespace kernelift::sandbox {

/// For the current context. Each figure is the best of several runs. A figure that cannot be measured (too little free
/// memory) is absent.
Result<MachinePeaks> measure_peaks(const CudaDriver& driver);

}  // namespace kernelift::sandbox
