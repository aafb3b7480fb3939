// See sanitizer_log.h.
#include "sandbox/evaluate/cuda/sanitizer_log.h"

#include "core/base/words.h"

namespace kernelift::sandbox {
namespace {

constexpr std::string_view kPrefix = "=========";

/// What was done, by both of a race, without where: functions are inlined, and addresses move.
std::string kind_of(const SanitizerReport& report) {
  std::string kind = report.what.substr(0, report.what.find(" at "));
  if (report.where.starts_with("and ")) kind += " " + report.where.substr(0, report.where.find(" at "));
  for (std::string_view word : {"out of bounds", "misaligned"})
    if (report.where.find(word) != report.where.npos) kind += " " + std::string(word);
  return kind;
}

}  // namespace

bool SanitizerReport::is_like(const SanitizerReport& one) const { return kind_of(*this) == kind_of(one); }

std::string SanitizerReport::text() const { return where.empty() ? what : what + ", " + where; }

SanitizerLog read_sanitizer_log(std::string_view log) {
  SanitizerLog found;
  bool in_report = false;
  while (!log.empty()) {
    const size_t end = log.find('\n');
    std::string_view line = log.substr(0, end);
    log.remove_prefix(end == log.npos ? log.size() : end + 1);
    if (!line.starts_with(kPrefix)) continue;
    line.remove_prefix(kPrefix.size());
    const std::string text = without_outer_blanks(line);
    if (text.empty() || text == "COMPUTE-SANITIZER") {
      in_report = false;
    } else if (text.find(" SUMMARY: ") != text.npos) {
      in_report = false, found.complete = true;
    } else if (line.starts_with("  ")) {
      if (!in_report) continue;
      std::string& where = found.reports.back().where;
      where += (where.empty() ? "" : ", ") + text;
    } else {
      found.reports.push_back({text, ""}), in_report = true;
    }
  }
  return found;
}

}  // namespace kernelift::sandbox
