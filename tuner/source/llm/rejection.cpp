// See rejection.h.
#include "tuner/source/llm/rejection.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/base/shown/outside_text.h"
#include "core/model/element.h"
#include "core/model/launch_values.h"
#include "tuner/source/llm/prompt.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kShownDiagnostics = 3000;
constexpr double kClose = 1e-3;  ///< Relative difference that rounding alone can make.

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() || *end ? std::nullopt : std::optional(value);
}

/// What the two values let suspect; empty: nothing.
std::string suspicion_of_values(const std::string& expected, const std::string& got) {
  auto right = number(expected), wrong = number(got);
  if (!right || !wrong || *right == *wrong) return {};
  if (!std::isfinite(*wrong) && std::isfinite(*right))
    return "What came is no finite number: memory that was not written is read, or it overflows or divides by zero.";
  if (*wrong == 0) return "What came is 0: the element is not computed, or its sum lacks all of its terms.";
  if (*right == 0) return "It should be 0: something is written or added here that the original does not.";
  const double ratio = *wrong / *right, nearest = std::round(ratio), inverse = std::round(1 / ratio);
  if (std::abs(ratio - 1) < kClose)
    return "The two are close: only the rounding differs. Keep the precision and, in sums, the order of the original.";
  if (std::abs(ratio + 1) < kClose) return "Only the sign differs.";
  char text[96];
  if (nearest >= 2 && std::abs(ratio - nearest) < kClose * nearest)
    std::snprintf(text, sizeof text, "What came is %.0f times the expected: work is done or added %.0f times.", nearest,
                  nearest);
  else if (inverse >= 2 && std::abs(1 / ratio - inverse) < kClose * inverse)
    std::snprintf(text, sizeof text, "What came is one part in %.0f of the expected: part of the work is missing.",
                  inverse);
  else return {};
  return text;
}

/// Elements of the buffer on that instance; 0: not known.
uint64_t elements_of(const Verdict& verdict, const Mep& mep) {
  for (auto& instance : mep.instances) {
    if (instance.id != verdict.instance) continue;
    for (auto& region : instance.regions)
      if (region.parameter >= 0 && static_cast<size_t>(region.parameter) < mep.parameters.size() &&
          mep.parameters[region.parameter].name == verdict.buffer)
        return region.size / std::max(1u, ElementType::parse(region.element).width);
  }
  return 0;
}

/// What the place of the first difference lets suspect. All elements before it are right.
std::string suspicion_of_place(const Verdict& verdict, const Mep& mep, uint64_t block) {
  const uint64_t at = verdict.index, count = elements_of(verdict, mep);
  if (at == 0) return "It is the buffer's first element, so all of them may be wrong.";
  std::string text = "The " + std::to_string(at) + " elements before it are right";
  if (count > at) text += ", of " + std::to_string(count);
  text += ".";
  if (block > 1 && at % block == 0)
    text += " It is a multiple of the block's " + std::to_string(block) +
            " threads: the work of whole blocks is missing or misplaced (is the grid right?).";
  else if (block > 1 && count > at && at >= count / block * block)
    text += " It lies in the last block, which is not full: look at the bounds.";
  return text;
}

}  // namespace

int repairs_allowed(const Verdict& verdict, int most) {
  switch (verdict.outcome) {
    case Outcome::CompileFailed:
    case Outcome::Refused:
    case Outcome::OverResources: return most;
    case Outcome::Wrong:
    case Outcome::WroteOutside:
    case Outcome::LaunchFailed:
    case Outcome::Crashed:
    case Outcome::TimedOut: return std::min(most, 1);
    default: return 0;
  }
}

uint64_t threads_along_x(const Candidate& candidate, const Verdict& verdict, const Mep& mep) {
  uint64_t threads = 0;
  for (auto& instance : mep.instances) {
    if (instance.id != verdict.instance) continue;
    threads = instance.geometry.block.x;
    if (candidate.launches.empty()) continue;
    auto made = candidate.launches[0].evaluate(instance.geometry, with_arguments(mep, instance, candidate.values));
    if (made.ok()) threads = made->block.x;
  }
  return threads;
}

std::string rejection(const Verdict& verdict, const Mep& mep, uint64_t block) {
  std::string text = "The edits applied, but the result was rejected: " + std::string(name(verdict.outcome)) + " at " +
                     name(verdict.stage) + ".\n";
  if (verdict.held_out) return text + "It is so on a launch that is held back, of another size or with other values.\n";
  if (verdict.outcome == Outcome::Wrong && !verdict.buffer.empty()) {
    text += "First differing element: " + verdict.buffer + "[" + std::to_string(verdict.index) + "]: expected " +
            verdict.expected + ", got " + verdict.got + ".\n";
    for (auto& suspicion :
         {suspicion_of_place(verdict, mep, block), suspicion_of_values(verdict.expected, verdict.got)})
      if (!suspicion.empty()) text += suspicion + "\n";
  }
  if (!verdict.detail.empty()) text += as_data(std::string(whole_characters(verdict.detail, kShownDiagnostics)));
  return text;
}

}  // namespace kernelift::tuner
