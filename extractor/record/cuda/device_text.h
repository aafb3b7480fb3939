// What a capture calls the GPU it was taken on: "cuda:NVIDIA H200:sm_90:580.159.04", name, architecture and the
// driver's version ("cuda 13.0", the newest CUDA it serves, where its file does not tell).
#pragma once
#include <string>

#include "core/toolchain/cuda_driver.h"

namespace kernelift::record {

std::string device_text(const CudaDriver& driver, int ordinal);

}  // namespace kernelift::record
