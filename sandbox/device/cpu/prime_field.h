// Numbers modulo the prime p = 2^61 - 1, in which field runs do a kernel's floating-point work: exact, and equal for
// two formulas exactly if they are the same rational function, but for a chance of about their degree over p (Schwartz,
// Zippel) where the inputs are drawn at random. Residues are below p. For lowering and for the executor.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

namespace kernelift::cpu::prime_field {

inline constexpr unsigned kBits = 61;
inline constexpr uint64_t kPrime = (uint64_t(1) << kBits) - 1;

/// Any 64-bit number modulo p: 2^61 is 1.
constexpr uint64_t residue(uint64_t number) {
  const uint64_t sum = (number & kPrime) + (number >> kBits);
  return sum >= kPrime ? sum - kPrime : sum;
}
constexpr uint64_t add(uint64_t a, uint64_t b) { return residue(a + b); }
constexpr uint64_t negative(uint64_t a) { return a == 0 ? 0 : kPrime - a; }
constexpr uint64_t multiply(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return add(static_cast<uint64_t>(product) & kPrime, static_cast<uint64_t>(product >> kBits));
}
constexpr uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1) result = multiply(result, base);
  return result;
}
/// a^(p-2); of zero, which has none, zero.
constexpr uint64_t inverse(uint64_t a) { return power(a, kPrime - 2); }
constexpr uint64_t of_integer(int64_t number) {
  return number < 0 ? negative(residue(-static_cast<uint64_t>(number))) : residue(static_cast<uint64_t>(number));
}

/// A residue that looks like a random one, the same for the same two numbers.
constexpr uint64_t drawn(uint64_t key, uint64_t number) {
  auto mixed = [](uint64_t word) {
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
  };
  return residue(mixed(mixed(number + 0x9e3779b97f4a7c15u) + mixed(key ^ 0xd1b54a32d192ed03u) * 3));
}

/// A double is a fraction with a power of two below, and has an exact image. An infinity and a NaN have one of their
/// own, drawn from their bits.
inline uint64_t of_double(double number) {
  if (!std::isfinite(number)) return drawn(0, std::bit_cast<uint64_t>(number));
  int exponent = 0;
  const double fraction = std::frexp(number, &exponent);
  const auto whole = static_cast<int64_t>(std::ldexp(fraction, 53));
  const int turn = ((exponent - 53) % int(kBits) + int(kBits)) % int(kBits);  // 2^61 is 1.
  return multiply(of_integer(whole), uint64_t(1) << turn);
}

/// What a constant stands for that was rounded when it was written or folded.
struct Meant {
  uint64_t image = 0;
  bool surely = false;  ///< Not one of several numbers that it might stand for as well.
};

/// The simplest fraction that rounds to the constant (0.1f and 0.1 are 1/10), if that is simple enough to be no
/// coincidence; else the constant without its last bits. `single`: the constant is a float.
inline Meant meant_by(double number, bool single) {
  constexpr double kSimple = 1 << 17;     // Numerator times denominator: far fewer such fractions than floats.
  constexpr int kSmall = 12, kKept = 20;  // Bits.
  if (!std::isfinite(number) || number == 0) return {of_double(number), true};
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(number), &exponent);
  if (const double bits = std::ldexp(fraction, kSmall); bits == std::floor(bits)) return {of_double(number), true};
  single |= static_cast<double>(static_cast<float>(number)) == number;
  const double error = std::ldexp(0.5, exponent - (single ? 24 : 53));
  // The convergents of its continued fraction.
  double above = 1, below = 0, last_above = 0, last_below = 1, rest = std::fabs(number);
  for (int term = 0; term < 64; ++term) {
    const double whole = std::floor(rest);
    const double next_above = whole * above + last_above, next_below = whole * below + last_below;
    last_above = above, last_below = below, above = next_above, below = next_below;
    if (above * below > kSimple) break;
    if (below > 0 && std::fabs(std::fabs(number) - above / below) <= error) {
      const uint64_t image = multiply(of_integer(int64_t(above)), inverse(of_integer(int64_t(below))));
      return {number < 0 ? negative(image) : image, true};
    }
    if (rest == whole) break;
    rest = 1 / (rest - whole);
  }
  const double kept = std::ldexp(std::nearbyint(std::ldexp(fraction, kKept)), exponent - kKept);
  return {of_double(std::copysign(kept, number)), false};
}

}  // namespace kernelift::cpu::prime_field
