// Collects the data of the HTML report from a run, its MEP, and the report that `apply` wrote beside the run.
#pragma once
#include <filesystem>

#include "cli/report/report_page.h"
#include "core/base/result.h"

namespace kernelift::cli {

/// An Error means that the run cannot be read. The MEP and the report of apply are optional: without them the page is
/// shorter.
Result<ReportData> gather_report(const std::filesystem::path& run);

}  // namespace kernelift::cli
