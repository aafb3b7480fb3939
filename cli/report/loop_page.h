// Writes the HTML report of a whole `optimize`: all kernels in the order in which they were tuned, why in that order,
// what became of each, and a section for each run.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/loop/loop_report.h"
#include "cli/report/report_page.h"

namespace kernelift::cli {

/// `runs`: by the rows' run, as far as they can be read.
std::string loop_page(const LoopReport& report, const std::map<std::string, ReportData>& runs);

}  // namespace kernelift::cli
