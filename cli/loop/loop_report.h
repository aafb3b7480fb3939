// What a whole `optimize` came to: its JSON document, which is also kept in the state folder for the HTML report.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/loop/loop_table.h"
#include "core/base/result.h"

namespace kernelift::cli {

struct LoopReport {
  std::string run, device, at;            ///< The command that was to become faster; "cpu" or "cuda…"; when it ended.
  std::string measure;                    ///< run, span, region or metric.
  std::string measure_text;               ///< In a sentence, with what the shares are of.
  std::string way_back;                   ///< To the state before the first patch; empty: nothing was kept.
  std::vector<LoopRow> rows;              ///< In the order in which they were tuned, then those that were not.
  std::map<std::string, double> seconds;  ///< By step.
  Json model = Json::object();            ///< What a language model cost: "calls", "tokens", "seconds".
  bool interrupted = false;
};

Json to_json(const LoopReport& report);
Result<LoopReport> loop_report_from_json(const Json& document, const std::string& where);

/// The file in the state folder.
std::filesystem::path loop_report_file(const std::filesystem::path& state);

}  // namespace kernelift::cli
