// The runner's own kernels for NVIDIA GPUs (kernels/judging.cu), embedded when Kernelift is built.
#pragma once
#include <string>
#include <string_view>

namespace kernelift {

/// PTX text for sm_75 and newer.
std::string_view judging_ptx();
/// The same as machine code of `arch` ("sm_90"); empty where it was not built for it. Translating PTX costs every
/// runner's process a quarter of a second.
std::string_view judging_cubin(const std::string& arch);

}  // namespace kernelift
