// Parses and prints durations.
#include "cli/duration.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace kernelift::cli {

Result<double> parse_duration(const std::string& text) {
  double total = 0;
  const char* at = text.c_str();
  bool any = false;
  while (*at) {
    char* end = nullptr;
    double value = std::strtod(at, &end);
    double unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : *end == 's' || *end == 0 ? 1 : 0;
    if (end == at || unit == 0 || !std::isfinite(value) || value < 0) {
      any = false;
      break;
    }
    total += value * unit;
    any = true;
    at = *end ? end + 1 : end;
  }
  if (!any || total <= 0) return usage_error("'" + text + "' is not a duration; write 90, 90s, 10m or 1h30m");
  return total;
}

std::string duration_words(double seconds) {
  char text[48];
  long whole = std::lround(seconds);
  if (whole >= 3600) std::snprintf(text, sizeof text, "%ldh %02ldm", whole / 3600, whole % 3600 / 60);
  else if (whole >= 60) std::snprintf(text, sizeof text, "%ldm %02lds", whole / 60, whole % 60);
  else std::snprintf(text, sizeof text, "%ld s", whole);
  return text;
}

}  // namespace kernelift::cli
