// Neighbourhoods that are bitwise equal are skipped by memcmp; the others are compared element by element.
#include "sandbox/judge/comparator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace kernelift::sandbox {
namespace {

// Rearranged sums and fused multiply-adds move results by a few last places; a wrong kernel moves them by far more.
constexpr double kStandardUlps = 16;
// Half and bfloat16 results are rounded once from wider arithmetic, so a right result is a near neighbour.
constexpr double kNarrowUlps = 2;
// About a thousandth of a float's value, as when thousands of terms are added in another order; a few hundredths of a
// half's.
constexpr double kRunUlps = 8192, kNarrowRunUlps = 64;

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

FloatTolerance FloatTolerance::given(double relative, double absolute) {
  FloatTolerance tolerance;
  tolerance.relative = relative, tolerance.absolute = absolute;
  tolerance.denormals = true;  // A user who gives a tolerance knows that the memory holds numbers.
  return tolerance;
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
  if (envelope > 0 && std::isfinite(typical)) add(typical, "at most %.1e of its typical magnitude");
  add(absolute, "%.1e absolute");
  add(relative, "%.1e relative");
  add(ulps, "%.0f ULP");
  return words.empty() ? "exact" : words;
}

judging::u64 bits_of(const ElementType& type, const std::byte* element) {
  judging::u64 bits = 0;
  std::memcpy(&bits, element, type.width);
  return bits;
}

judging::Task task_of(const ElementType& type, const FloatTolerance& tolerance) {
  judging::Task task{};
  task.kind = static_cast<judging::u32>(type.kind), task.width = task.stride = type.width;
  task.ulps = tolerance.ulps, task.relative = tolerance.relative, task.absolute = tolerance.absolute;
  task.envelope = tolerance.envelope, task.typical = tolerance.typical, task.denormals = tolerance.denormals;
  task.zero_signs = tolerance.zero_signs;
  return task;
}

judging::Scale scale_of(const ElementType& type, std::span<const std::byte> bytes) {
  const auto kind = static_cast<judging::u32>(type.kind);
  judging::Magnitudes all;
  for (size_t at = 0; at + type.width <= bytes.size(); at += type.width)
    judging::note(kind, type.width, bits_of(type, &bytes[at]), all);
  const judging::Squares sizes(kind, type.width, all);
  if (sizes.count == 0) return {};
  double squares = 0;
  for (size_t at = 0; at + type.width <= bytes.size(); at += type.width) squares += sizes.of(bits_of(type, &bytes[at]));
  return sizes.scale(std::sqrt(squares / static_cast<double>(sizes.count)), all);
}

void Comparator::compare_element(const std::byte* expected, const std::byte* got, uint64_t index, double allowed,
                                 Comparison& into) const {
  judging::Difference found = judging::compare(task_, bits_of(type_, expected), bits_of(type_, got), allowed);
  if (found.measured) {
    into.largest_ulps = std::max(into.largest_ulps, found.distance);
    into.largest_absolute = std::max(into.largest_absolute, found.absolute);
    if (nearer_ && (!found.denormal || task_.denormals) &&
        nearer_->admits(index, type_.real(expected), type_.real(got)))
      return;
    if (by_length_ && by_length_->admits(index, type_.real(expected), type_.real(got))) return;
    if (unsteady_ && unsteady_->admits(index, type_.real(expected), type_.real(got))) return;
  }
  if (!found.mismatch) return;
  ++into.mismatches;
  if (into.worst && found.distance <= into.worst->distance) return;
  Mismatch mismatch{index * type_.width, index, type_.show(expected), type_.show(got), found.distance};
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
    if (task_.envelope > 0) allowed = judging::allowed_by(task_, scale_of(type_, expected.subspan(begin, end - begin)));
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

}  // namespace kernelift::sandbox
