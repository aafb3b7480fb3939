// In which order `optimize` takes the kernels, and how much of its time each gets.
#pragma once
#include <cstddef>
#include <vector>

#include "cli/loop/loop_table.h"

namespace kernelift::cli {

/// Seconds that a kernel gets at least, if they are left, because the original must be built and measured first.
inline constexpr double kWorthTuning = 10;

/// Which kernels are tuned at all.
struct LoopLimits {
  size_t kernels = 32;            ///< At most so many.
  size_t in_vain = 32;            ///< Looked at and then not tuned: at most so many, too, so that there is an end.
  double smallest_share = 0.005;  ///< Kernels of a smaller share are left out.
};

/// The part of the application's time that tuning the kernel could save: its share, less what its memory traffic or
/// arithmetic takes at the machine's peak, where that is known. Even a kernel at its roof can do with less traffic, so
/// that something is always left.
double to_be_won(const LoopRow& row);

/// How many of the kernels before `at` were tuned: their search began.
size_t tuned_before(const std::vector<LoopRow>& rows, size_t at);

/// Why no more kernels are tuned from `at` on; empty if the limits leave room. A kernel that was refused before its
/// search, as a library's, uses up nothing of the number that the user gives.
std::string beyond_limits(const std::vector<LoopRow>& rows, size_t at, const LoopLimits& limits);

/// True if the kernel's share can matter: alone, or, for a small one, together with other small ones.
bool share_matters(const LoopRow& row, const std::vector<LoopRow>& rows, const LoopLimits& limits);

/// Index of the kernel of which most can be won, from `begin` on; of equals the first. EXPECTS: begin < rows.size().
size_t most_promising(const std::vector<LoopRow>& rows, size_t begin);

/// Seconds for the kernel at `at`, of `left`: in proportion to what can be won of it and of those that wait, but not so
/// much that nothing is left for them; all of it if the rest would be too short for another one.
double time_slice(const std::vector<LoopRow>& rows, size_t at, double left, const LoopLimits& limits);

/// "3rd: 12.0 % of the time, at 82 % of its DRAM roof": why a kernel came when it did, after `before` others.
std::string order_text(const LoopRow& row, size_t before);

}  // namespace kernelift::cli
