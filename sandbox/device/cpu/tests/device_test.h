// The tests' kit: CUDA text in, a loaded image out, and buffers that kernels can be launched on. The prelude below is
// the little of CUDA's headers that most of the tests need.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "sandbox/device/cpu/cpu_device.h"

namespace kernelift::cpu {

/// Compiles with clang after the prelude (places count from the snippet) and lowers, or gives the error of either.
Result<LoweredImage> lower_text(const std::string& source, const LowerOptions& options = {},
                                const std::vector<std::string>& flags = {});

struct TestImage {
  LoweredImage lowered;
  std::shared_ptr<LoadedImage> loaded;

  /// The only kernel whose mangled name contains `name`.
  const kl_kernel& kernel(const std::string& name) const;
  std::string mode(const std::string& name) const;
  std::string reason(const std::string& name) const;

  template <class... Arguments>
  LaunchOutcome run(const std::string& name, Geometry geometry, Arguments... arguments) const {
    return run_with({}, name, geometry, arguments...);
  }
  template <class... Arguments>
  LaunchOutcome run_with(const LaunchOptions& options, const std::string& name, Geometry geometry,
                         Arguments... arguments) const {
    const kl_kernel& k = kernel(name);
    std::vector<char> packed(k.parameter_bytes + 1);
    uint32_t index = 0;
    auto pack = [&]<class T>(const T& value) {
      EXPECT_EQ(sizeof(T), k.parameters[index].size) << "parameter " << index;
      std::memcpy(packed.data() + k.parameters[index].offset, &value, sizeof(T));
      ++index;
    };
    (pack(arguments), ...);
    EXPECT_EQ(index, k.parameter_count);
    return launch(k, geometry, packed.data(), options);
  }
};

/// Fails the test if any stage does.
TestImage build(const std::string& source, const LowerOptions& options = {},
                const std::vector<std::string>& flags = {});

/// As build(), with the project's own CUDA headers (core/compiler/headers) in the prelude's place.
TestImage build_with_headers(const std::string& source, const LowerOptions& options = {});

inline Geometry grid(uint32_t blocks, uint32_t threads, uint32_t shared = 0) {
  return {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .shared_bytes = shared};
}

}  // namespace kernelift::cpu
