// The expressions are those of <regex.h>: matching needs no stack for each character, and an output may be one line of
// megabytes.
#include "reintegrate/metric.h"

#include <regex.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <vector>

#include "core/base/shown/outside_text.h"

namespace kernelift::reintegrate {
namespace {

struct Free {
  void operator()(regex_t* expression) const { regfree(expression), delete expression; }
};
using RegularExpression = std::unique_ptr<regex_t, Free>;

Result<RegularExpression> compile(const std::string& pattern) {
  auto expression = std::make_unique<regex_t>();
  const int failed = regcomp(expression.get(), pattern.c_str(), REG_EXTENDED | REG_NEWLINE);
  if (failed == 0) return RegularExpression(expression.release());
  char why[160];
  regerror(failed, expression.get(), why, sizeof why);
  return usage_error("--metric '" + pattern + "' is no extended regular expression: " + why);
}

constexpr size_t kShown = 3;  ///< Matches that a message shows.

}  // namespace

Result<Metric> Metric::parse(const std::string& pattern, const std::string& better) {
  if (better != "higher" && better != "lower") return usage_error("--metric-better is higher or lower, not " + better);
  KERNELIFT_ASSIGN(RegularExpression expression, compile(pattern));
  if (expression->re_nsub == 0)
    return usage_error("--metric '" + pattern + "' has no group ( ) around the number, as 'FOM *= *([0-9.eE+-]+)' has");
  return Metric(pattern, better == "higher" ? Better::Higher : Better::Lower);
}

Metric Metric::kernel_span(const std::string& region) {
  return {"\"span_seconds\": *([^,} ]+)", Better::Lower,
          "seconds from the first kernel to the last" + (region.empty() ? "" : " in the NVTX range '" + region + "'")};
}

std::string Metric::title() const {
  return title_.empty() ? "'" + pattern_ + "', " + better_text() + " is better" : title_;
}

Result<double> Metric::read(const std::string& output) const {
  KERNELIFT_ASSIGN(RegularExpression expression, compile(pattern_));
  const std::string asked = "the figure " + (title_.empty() ? "'" + pattern_ + "' (--metric)" : "'" + title_ + "'");
  std::vector<std::string> lines, numbers;
  for (size_t at = 0; at <= output.size();) {
    regmatch_t match[2];
    match[0].rm_so = 0, match[0].rm_eo = static_cast<regoff_t>(output.size() - at);
    const int flags = REG_STARTEND | (at > 0 && output[at - 1] != '\n' ? REG_NOTBOL : 0);
    if (regexec(expression.get(), output.c_str() + at, 2, match, flags) != 0) break;
    auto text = [&](const regmatch_t& one) {
      return one.rm_so < 0 ? "" : output.substr(at + size_t(one.rm_so), size_t(one.rm_eo - one.rm_so));
    };
    lines.push_back(text(match[0])), numbers.push_back(text(match[1]));
    at += static_cast<size_t>(std::max<regoff_t>(match[0].rm_eo, 1));
  }
  if (lines.empty()) return answer_is_no(asked + " is not in the run's output");
  if (lines.size() > 1) {
    std::string shown;
    for (size_t i = 0; i < lines.size() && i < kShown; ++i) shown += (i ? ", '" : "'") + shown_line(lines[i]) + "'";
    return answer_is_no(asked + " is " + std::to_string(lines.size()) + " times in the run's output (" + shown +
                        (lines.size() > kShown ? ", …" : "") + "): give a pattern that matches once");
  }
  const std::string& number = numbers[0];
  const char *begin = number.data() + (number.starts_with('+') ? 1 : 0), *end = number.data() + number.size();
  double value = 0;
  auto [stopped, code] = std::from_chars(begin, end, value);
  if (number.empty() || code != std::errc() || stopped != end || !std::isfinite(value) || value <= 0)
    return answer_is_no(asked + " is '" + shown_line(number) + "' in the run's output, which is no number above zero");
  return value;
}

}  // namespace kernelift::reintegrate
