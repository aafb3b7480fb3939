// Collects the data of the HTML report from a run and from the report that `apply` wrote beside it. Of the MEP only the
// record of its replays is read.
#pragma once
#include <filesystem>

#include "cli/report/report_page.h"
#include "core/base/result.h"

namespace kernelift::cli {

/// An Error means that the run cannot be read. The MEP and the report of apply are optional: without the MEP the page
/// lacks its fidelity, and for a run of format 1 its launches.
Result<ReportData> gather_report(const std::filesystem::path& run);

}  // namespace kernelift::cli
