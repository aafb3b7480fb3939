// Where Kernelift's own installed pieces are: relative to the executable in a build tree, a bundle or an installation
// alike, so that nothing depends on where it was built.
#pragma once
#include <filesystem>
#include <optional>

namespace kernelift {

std::filesystem::path lean_headers();  ///< cuda_runtime.h, hip/hip_runtime.h … of our own (core/compiler/headers).
std::filesystem::path clang_resource_folder();   ///< clang's own headers (stddef.h, __clang_cuda_builtin_vars.h).
std::filesystem::path runtime_library_folder();  ///< libcudart.so and friends of the CPU device; the recorder.
std::filesystem::path template_folder();         ///< mep-templates and LLM prompt texts.
std::optional<std::filesystem::path>
cuda_toolkit();  ///< CUDA_HOME, CUDA_PATH, PATH's nvcc, /usr/local/cuda; nullopt if none.
std::optional<std::filesystem::path>
cuda_cxx_libraries();  ///< thrust, cub and libcu++: the toolkit's, which are headers.

}  // namespace kernelift
