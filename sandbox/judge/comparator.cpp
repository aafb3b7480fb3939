// Whole blocks that are equal bit by bit are skipped by memcmp; what differs is looked at element by element.
#include "sandbox/judge/comparator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace kernelift {
namespace {

// Rearranged sums and fused multiply-adds move results by a few last places; a wrong kernel moves them by far more.
constexpr double kStandardUlps = 16;
// Half and bfloat16 results are rounded once from wider arithmetic: neighbours, no more.
constexpr double kNarrowUlps = 2;
// The original was seen a few times only: its true spread is larger than the seen one.
constexpr double kSpreadMargin = 2;
// A thousandth of a float, thousands of terms added up in another order; a few hundredths of a half.
constexpr double kRunUlps = 8192, kNarrowRunUlps = 64;
// Below, squares of doubles lose digits, or are zero.
constexpr double kSmallestSquares = 1e-280;

double integer_distance(const ElementType& type, const std::byte* a, const std::byte* b) {
  uint64_t left = 0, right = 0;
  std::memcpy(&left, a, type.width), std::memcpy(&right, b, type.width);
  if (type.kind == ElementType::Kind::Signed) {
    int shift = 64 - 8 * static_cast<int>(type.width);
    return std::fabs(static_cast<double>(static_cast<int64_t>(left << shift) >> shift) -
                     static_cast<double>(static_cast<int64_t>(right << shift) >> shift));
  }
  return left > right ? static_cast<double>(left - right) : static_cast<double>(right - left);
}

}  // namespace

FloatTolerance FloatTolerance::standard(const ElementType& type) {
  FloatTolerance tolerance;
  if (type.is_float()) tolerance.ulps = type.width == 2 ? kNarrowUlps : kStandardUlps;
  return tolerance;
}

FloatTolerance FloatTolerance::between_runs(const ElementType& type) {
  FloatTolerance tolerance;
  if (type.is_float()) tolerance.ulps = type.width == 2 ? kNarrowRunUlps : kRunUlps;
  tolerance.envelope = tolerance.ulps * type.epsilon();
  return tolerance;
}

FloatTolerance FloatTolerance::covering(double ulps_seen, double absolute_seen) const {
  FloatTolerance wider = *this;
  // Where the spread is within the bound anyway it must not buy an absolute tolerance.
  if (ulps_seen > ulps) wider.absolute = std::max(absolute, kSpreadMargin * absolute_seen);
  return wider;
}

std::string FloatTolerance::text(const ElementType& type) const {
  if (!type.is_float()) return "exact";
  std::string words;
  auto add = [&](double value, const char* format) {
    if (value <= 0) return;
    char part[96];
    std::snprintf(part, sizeof part, format, value);
    words += (words.empty() ? "" : ", ") + std::string(part);
  };
  add(envelope, "rounding envelope %.1e of the buffer's scale");
  add(absolute, "%.1e absolute");
  add(relative, "%.1e relative");
  add(ulps, "%.0f ULP");
  return words.empty() ? "exact" : words;
}

double scale_of(const ElementType& type, std::span<const std::byte> bytes) {
  size_t count = 0;
  auto sum_of_squares = [&](double factor) {
    double squares = 0;
    count = 0;
    for (size_t at = 0; at + type.width <= bytes.size(); at += type.width) {
      double value = type.real(&bytes[at]) * factor;
      if (std::isfinite(value)) squares += value * value, ++count;
    }
    return squares;
  };
  double factor = 1, squares = sum_of_squares(1);
  // Squares have half the range that numbers have.
  if (squares < kSmallestSquares) squares = sum_of_squares(factor = 0x1p600);
  else if (std::isinf(squares)) squares = sum_of_squares(factor = 0x1p-600);
  return count > 0 ? std::sqrt(squares / static_cast<double>(count)) / factor : 0;
}

void Comparator::compare_element(const std::byte* expected, const std::byte* got, uint64_t index, double allowed,
                                 Comparison& into) const {
  if (std::memcmp(expected, got, type_.width) == 0) return;
  double distance = 0;
  bool tolerated = false;
  if (!type_.is_float()) {
    distance = integer_distance(type_, expected, got);
  } else {
    double want = type_.real(expected), have = type_.real(got);
    if (std::isnan(want) && std::isnan(have)) return;
    if (std::isfinite(want) && std::isfinite(have)) {
      // Both ordered values fit in 63 bits, but their difference may not.
      distance = std::fabs(static_cast<double>(type_.ordered(expected)) - static_cast<double>(type_.ordered(got)));
      int64_t exact = 0;
      if (!__builtin_sub_overflow(type_.ordered(expected), type_.ordered(got), &exact))
        distance = std::fabs(static_cast<double>(exact));
      double absolute = std::fabs(want - have);
      tolerated = distance <= tolerance_.ulps || absolute <= tolerance_.absolute || absolute <= allowed ||
                  absolute <= tolerance_.relative * std::fabs(want) || (nearer_ && nearer_->admits(index, want, have));
      into.largest_ulps = std::max(into.largest_ulps, distance);
      into.largest_absolute = std::max(into.largest_absolute, absolute);
    } else {
      // Equal infinities have equal bits; what is left is a NaN or an infinity against something else.
      distance = std::numeric_limits<double>::infinity();
    }
  }
  if (tolerated) return;
  ++into.mismatches;
  if (into.worst && distance <= into.worst->distance) return;
  Mismatch mismatch{index * type_.width, index, type_.show(expected), type_.show(got), distance};
  if (!into.first) into.first = mismatch;
  into.worst = std::move(mismatch);
}

Comparison Comparator::compare(std::span<const std::byte> expected, std::span<const std::byte> got) const {
  Comparison result;
  const size_t size = std::min(expected.size(), got.size()), width = type_.width, whole = size / width * width;
  for (size_t begin = 0; begin < whole; begin += kNeighbourhood) {
    size_t end = std::min(whole, begin + kNeighbourhood);
    if (std::memcmp(&expected[begin], &got[begin], end - begin) == 0) continue;
    double allowed = 0;
    if (tolerance_.envelope > 0)
      allowed = tolerance_.envelope * scale_of(type_, expected.subspan(begin, end - begin));
    for (size_t at = begin; at < end; at += width)
      compare_element(&expected[at], &got[at], at / width, allowed, result);
  }
  if (whole < size && std::memcmp(&expected[whole], &got[whole], size - whole) != 0) {
    ++result.mismatches;
    Mismatch tail{whole, whole / width, "the last bytes unchanged", "other bytes", 0};
    if (!result.first) result.first = result.worst = tail;
  }
  return result;
}

}  // namespace kernelift
