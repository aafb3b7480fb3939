// The table of kernels that `kernelift record` prints: most time first, in the columns that nsys users know.
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/capture.h"
#include "core/model/kernel/distinct_names.h"

namespace kernelift::record {

/// Aligned text, one line per kernel; those after `most`, or of no weight, are summed up in a last line.
std::string hot_list(const std::vector<KernelProfile>& profile, size_t most = 20);
/// What a profile's kernels are called: each by the least that tells it from the others.
DistinctNames names_in(const std::vector<KernelProfile>& profile);
Json hot_list_json(const std::vector<KernelProfile>& profile);

/// "812 ns", "12.3 us", "4.56 ms", "1.23 s"
std::string duration_text(double microseconds);
/// "512 B", "3.1 KiB", "1.2 GiB"
std::string size_text(uint64_t bytes);

}  // namespace kernelift::record
