// The folders of Kernelift's installed files. They are found relative to the executable, in a build tree, a bundle and
// an installation, so that nothing depends on the folder in which it was built.
#pragma once
#include <filesystem>
#include <optional>

namespace kernelift {

/// Our own cuda_runtime.h, hip/hip_runtime.h … (core/compiler/headers).
std::filesystem::path lean_headers();
/// clang's own headers (stddef.h, __clang_cuda_builtin_vars.h).
std::filesystem::path clang_resource_folder();
/// The CPU device's libcudart.so and the libraries that it needs, and the recorder.
std::filesystem::path runtime_library_folder();
/// mep-templates.
std::filesystem::path template_folder();
/// The library of patterns that Kernelift comes with (tuner/inherit/shipped).
std::filesystem::path shipped_patterns();
/// The toolkit of CUDA_HOME, CUDA_PATH, the nvcc on PATH, or /usr/local/cuda; nullopt if there is none.
std::optional<std::filesystem::path> cuda_toolkit();
/// The toolkit's headers of thrust, cub and libcu++; nullopt if there are none.
std::optional<std::filesystem::path> cuda_cxx_libraries();

}  // namespace kernelift
