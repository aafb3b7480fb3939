// Doubles in 61 bits, as the numbers of runs that are not in a prime field (NumberKind::Precise, ErrorBounds): the last
// three bits of the mantissa are rounded away. For lowering and for the executor.
#pragma once
#include <bit>
#include <cstdint>

namespace kernelift::cpu::real_number {

inline constexpr unsigned kDropped = 3;
inline constexpr uint64_t kHalf = uint64_t(1) << (kDropped - 1);

constexpr uint64_t packed(double number) { return (std::bit_cast<uint64_t>(number) + kHalf) >> kDropped; }
constexpr double unpacked(uint64_t number) { return std::bit_cast<double>(number << kDropped); }

}  // namespace kernelift::cpu::real_number
