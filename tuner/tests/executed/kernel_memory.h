// The arguments and the memory of a kernel that is executed for a test: every pointer that it is given leads to an
// array of its own with drawn values, and between the arrays lie canaries. All of it is compared afterwards.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/model/launch/access_finding.h"
#include "core/model/launch/expression.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "tuner/source/rules/kernel_source.h"

namespace kernelift::tuner {

/// Integers in memory are drawn from [0, 32), or they are 0, 1, 2 … in a drawn order.
enum class Drawn { Small, Permutation };

class KernelMemory {
 public:
  static constexpr uint64_t kMostElements = 1 << 18;  ///< Of four bytes, in an array.
  /// `drawn` by a pointer parameter's name; Small where it is not named.
  KernelMemory(const KernelSource& source, const std::string& kernel, const std::map<std::string, Drawn>& drawn);
  ~KernelMemory();

  /// The model's variables of the integers among the arguments: "arg.a3", "arg.a0.o8".
  const std::vector<std::string>& sizes() const { return sizes_; }
  /// Packed as `kernel` wants it, with these values of the sizes.
  std::vector<std::byte> arguments(const kl_kernel& kernel, const Bindings& sizes) const;
  /// What check mode may access.
  CheckedExtents extents(const kl_image& image) const;
  /// The drawn values, in the arrays and in the image's constants; its other variables are zeros, but those named in
  /// `kept`, which are left as they are.
  void restore(const kl_image& image, const std::set<std::string>& kept = {});

  /// All arrays and canaries, and the variables of the image.
  struct Contents {
    std::vector<std::byte> arrays;
    std::map<std::string, std::vector<std::byte>> variables;
  };
  Contents contents(const kl_image& image) const;
  /// The first difference, "out[5]: 2 in place of 1"; empty: there is none. Floats may differ by `relative`, of a
  /// number below 1 by as much of 1.
  std::string difference(const Contents& expected, const Contents& got, double relative) const;

 private:
  struct Scalar;
  struct Array;
  std::vector<Scalar> scalars_;  ///< Of the arguments.
  std::vector<size_t> starts_;   ///< First scalar of each parameter.
  std::vector<Array> arrays_;
  std::map<std::string, std::vector<Scalar>> variables_;  ///< Of one element, by the variable's name.
  std::map<std::string, size_t> variable_elements_;       ///< Bytes of one element.
  std::vector<std::string> sizes_;
  std::vector<std::byte> drawn_, live_;
  friend struct Layouts;
};

}  // namespace kernelift::tuner
