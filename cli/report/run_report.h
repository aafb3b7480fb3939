// The page's data, gathered from a run, its MEP, and what `apply` wrote beside the run.
#pragma once
#include <filesystem>

#include "cli/report/report_page.h"
#include "core/base/result.h"

namespace kernelift::cli {

/// An Error means that the run cannot be read. The MEP and what apply wrote may be gone: then the page has less.
Result<ReportData> gather_report(const std::filesystem::path& run);

}  // namespace kernelift::cli
