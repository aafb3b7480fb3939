// What a buffer's bytes mean: the element type by which it is compared and shown. Types come as text from the kernel's
// parameter list ("float", "const double4", "unsigned int", "struct Cell"); what is not known by name is plain bytes,
// which are compared exactly, so that ignorance can only make the judge stricter.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kernelift {

struct ElementType {
  enum class Kind { Bytes, Signed, Unsigned, Bool, Half, Bfloat16, Float, Double };
  Kind kind = Kind::Bytes;
  uint32_t width = 1;  ///< Bytes of one scalar; vectors are runs of scalars.

  static ElementType parse(std::string_view text);
  bool is_float() const { return kind >= Kind::Half; }
  /// The scalar at `bytes`, widened. Only for floating-point kinds.
  double real(const std::byte* bytes) const;
  /// The nearest scalar to `value`. Only for floating-point kinds.
  void set_real(std::byte* bytes, double value) const;
  /// Bits mapped so that neighbouring floats differ by one and order is kept; -0 and +0 both map to 0.
  int64_t ordered(const std::byte* bytes) const;
  /// Smallest spacing at 1.0: 2^-23 for float.
  double epsilon() const;
  /// For a person: "-1.5", "42", "0x0f".
  std::string show(const std::byte* bytes) const;
  bool operator==(const ElementType&) const = default;
};

}  // namespace kernelift
