// The kernels of a recording, as rows of the table of `optimize`.
#pragma once
#include <string>
#include <vector>

#include "cli/loop/loop_table.h"
#include "core/model/capture.h"
#include "core/model/scan/scan_index.h"
#include "reintegrate/apply_request.h"

namespace kernelift::cli {

/// In the order of the shares. A kernel of which several files have recorded definitions has a row for each.
std::vector<LoopRow> rows_of(const Capture& capture, const ScanIndex& scanned,
                             const std::vector<reintegrate::KernelShare>& shares);

/// Whether the kernel is what a kept patch has put beside the other one, `smooth_tuned`.
bool is_tuned_copy(const std::string& kernel, const std::string& of);

/// The shortest name that identifies this kernel on the command line.
std::string shortest_name(const LoopRow& wanted, const ScanIndex& scanned, const std::vector<LoopRow>& rows);

}  // namespace kernelift::cli
