// See loop_report.h. Rows are read back for what the page shows.
#include "cli/loop/loop_report.h"

#include <algorithm>

#include "core/base/json_member.h"

namespace kernelift::cli {
namespace {

LoopRow row_from_json(const Json& json) {
  LoopRow row;
  row.kernel = text_member(json, "kernel"), row.id = text_member(json, "id"), row.file = text_member(json, "file");
  row.share = number_member(json, "share"), row.roof = number_member(json, "roof");
  row.roof_name = text_member(json, "roof_name"), row.order = text_member(json, "order");
  row.candidate = static_cast<int64_t>(number_member(json, "candidate"));
  row.kernel_gain = number_member(json, "kernel_gain"), row.predicted = number_member(json, "predicted");
  row.measured = number_member(json, "measured");
  row.together = static_cast<size_t>(std::max(0.0, number_member(json, "together")));
  row.outcome = text_member(json, "outcome"), row.why = text_member(json, "why"), row.run = text_member(json, "run");
  row.branch = text_member(json, "branch"), row.way_back = text_member(json, "way_back");
  return row;
}

}  // namespace

Json to_json(const LoopReport& report) {
  Json kernels = Json::array();
  for (auto& row : report.rows) kernels.push_back(to_json(row));
  return {{"format", "kernelift-optimize"},
          {"version", 1},
          {"kernels", kernels},
          {"run", report.run},
          {"device", report.device},
          {"at", report.at},
          {"measure", report.measure},
          {"measure_text", report.measure_text},
          {"way_back", report.way_back},
          {"whole", whole_gain(report.rows)},
          {"interrupted", report.interrupted},
          {"model", report.model},
          {"seconds", report.seconds}};
}

Result<LoopReport> loop_report_from_json(const Json& document, const std::string& where) {
  if (text_member(document, "format") != "kernelift-optimize")
    return environment_error(where + " is no report of kernelift optimize");
  return reading(where, [&] {
    LoopReport report;
    report.run = document.at("run"), report.device = document.at("device"), report.at = document.at("at");
    report.measure = document.at("measure"), report.measure_text = document.at("measure_text");
    report.way_back = document.at("way_back"), report.interrupted = document.at("interrupted");
    report.seconds = document.at("seconds").get<std::map<std::string, double>>();
    for (auto& row : document.at("kernels")) report.rows.push_back(row_from_json(row));
    return report;
  });
}

std::filesystem::path loop_report_file(const std::filesystem::path& state) { return state / "optimize.json"; }

}  // namespace kernelift::cli
