// How a run came to a candidate: its ancestors as a graph, each with the step that was added and that step's own gain.
#pragma once
#include <string>

#include "cli/report/report_page.h"

namespace kernelift::cli {

/// Inline SVG, from the original on the left to candidate `number` on the right, and a table of the same. Empty if the
/// candidate is not in `data` or stems from the original in one step.
std::string lineage_html(const ReportData& data, int number);

}  // namespace kernelift::cli
