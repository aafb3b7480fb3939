// The page's data, gathered from a run and from what `apply` wrote beside it. Of the MEP only its replays are read.
#pragma once
#include <filesystem>

#include "cli/report/report_page.h"
#include "core/base/result.h"

namespace kernelift::cli {

/// An Error means that the run cannot be read. The MEP may be gone: then the page does not have its fidelity, and of a
/// run of format 1 not its launches either.
Result<ReportData> gather_report(const std::filesystem::path& run);

}  // namespace kernelift::cli
