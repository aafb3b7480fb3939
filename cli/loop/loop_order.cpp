// What can be won is an estimate from above; measurements decide.
#include "cli/loop/loop_order.h"

#include <algorithm>
#include <cstdio>

#include "core/base/words.h"

namespace kernelift::cli {
namespace {

/// Of a kernel at its roof.
constexpr double kLeastToWin = 0.1;
/// One kernel gets no more of the time while others wait.
constexpr double kMostOfTheTime = 0.7;

}  // namespace

double to_be_won(const LoopRow& row) { return row.share * std::max(kLeastToWin, 1 - std::clamp(row.roof, 0.0, 1.0)); }

size_t tuned_before(const std::vector<LoopRow>& rows, size_t at) {
  return static_cast<size_t>(std::count_if(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(at),
                                           [](auto& row) { return !row.run.empty(); }));
}

std::string beyond_limits(const std::vector<LoopRow>& rows, size_t at, const LoopLimits& limits) {
  if (tuned_before(rows, at) >= limits.kernels) return "beyond the requested number of kernels (--kernels)";
  const auto in_vain = std::count_if(rows.begin(), rows.begin() + static_cast<ptrdiff_t>(at),
                                     [](auto& row) { return row.looked_at && row.run.empty(); });
  if (static_cast<size_t>(in_vain) < limits.in_vain) return {};
  return counted(limits.in_vain, "kernel") + " before it could not be tuned, and no more are looked at";
}

bool share_matters(const LoopRow& row, const std::vector<LoopRow>& rows, const LoopLimits& limits) {
  if (row.share >= std::max(kSmallestShare, limits.smallest_share)) return true;
  if (row.share < limits.smallest_share) return false;
  double small = 0;
  for (auto& other : rows)
    if (other.share < kSmallestShare && other.share >= limits.smallest_share) small += other.share;
  return small >= kSmallestShare;
}

size_t most_promising(const std::vector<LoopRow>& rows, size_t begin) {
  auto best = std::max_element(rows.begin() + static_cast<ptrdiff_t>(begin), rows.end(),
                               [](auto& a, auto& b) { return to_be_won(a) < to_be_won(b); });
  return static_cast<size_t>(best - rows.begin());
}

double time_slice(const std::vector<LoopRow>& rows, size_t at, double left, const LoopLimits& limits) {
  double sum = 0, waiting = 0;
  size_t taken = tuned_before(rows, at);
  for (size_t i = at; i < rows.size() && taken < limits.kernels; ++i) {
    if (!share_matters(rows[i], rows, limits) || (i > at && !rows[i].outcome.empty())) continue;
    sum += to_be_won(rows[i]), waiting += i > at, ++taken;
  }
  double mine = sum > 0 ? left * to_be_won(rows[at]) / sum : 0;
  if (waiting > 0) mine = std::min(mine, kMostOfTheTime * left);
  mine = std::max(mine, kWorthTuning);
  if (waiting > 0 && left >= 2 * kWorthTuning) return std::min(mine, left - kWorthTuning);
  return left - mine < kWorthTuning ? left : mine;
}

std::string order_text(const LoopRow& row, size_t before) {
  const size_t n = before + 1;
  const char* suffix = n % 100 / 10 == 1 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  char text[160];
  std::snprintf(text, sizeof text, "%zu%s: %.1f %% of the time", n, suffix, 100 * row.share);
  std::string order = text;
  if (row.roof > 0) {
    std::snprintf(text, sizeof text, ", at %.0f %% of its ", 100 * row.roof);
    order += text + row.roof_name + " roof";
  }
  return order;
}

}  // namespace kernelift::cli
