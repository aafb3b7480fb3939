// A launch's geometry: how many blocks of how many threads, in CUDA's words.
#pragma once
#include <compare>
#include <cstdint>
#include <string>

namespace kernelift {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  auto operator<=>(const Dim3&) const = default;
  uint64_t count() const { return uint64_t(x) * y * z; }
  std::string text() const { return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")"; }
};

/// The component of `dim` along `axis`, for reading or writing: axis 0 is x. For any type with members x, y and z.
template <class Dim>
constexpr auto& along(Dim& dim, int axis) {
  return axis == 0 ? dim.x : axis == 1 ? dim.y : dim.z;
}

struct Geometry {
  Dim3 grid, block;
  uint32_t shared_bytes = 0;  ///< Dynamic shared memory of one block.
  bool cooperative = false;   ///< Launched by cudaLaunchCooperativeKernel: grid-wide barriers are allowed.
  auto operator<=>(const Geometry&) const = default;
  uint64_t threads() const { return grid.count() * block.count(); }
  std::string text() const { return "<<<" + grid.text() + ", " + block.text() + ">>>"; }
};

}  // namespace kernelift
