// The runner's own kernels for NVIDIA GPUs (kernels/judging.cu), embedded when Kernelift is built.
#pragma once
#include <string>
#include <string_view>

namespace kernelift::sandbox {

/// PTX text for sm_75 and newer.
std::string_view judging_ptx();
/// The same as machine code for `arch` ("sm_90"); empty if it was not built for that architecture. It exists because
/// translating PTX costs every runner's process a quarter of a second.
std::string_view judging_cubin(const std::string& arch);

}  // namespace kernelift::sandbox
