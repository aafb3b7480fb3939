// See hot_list.h.
#include "extractor/record/hot_list.h"

#include <algorithm>
#include <cstdio>

#include "core/base/shown/outside_text.h"
#include "core/model/kernel_key.h"

namespace kernelift::record {
namespace {

double total_of(const std::vector<KernelProfile>& profile) {
  double total = 0;
  for (auto& kernel : profile) total += kernel.total_us;
  return total > 0 ? total : 1;
}

}  // namespace

std::string duration_text(double microseconds) {
  char text[32];
  if (microseconds < 1) std::snprintf(text, sizeof text, "%.0f ns", microseconds * 1e3);
  else if (microseconds < 1e3) std::snprintf(text, sizeof text, "%.1f us", microseconds);
  else if (microseconds < 1e6) std::snprintf(text, sizeof text, "%.2f ms", microseconds / 1e3);
  else std::snprintf(text, sizeof text, "%.2f s", microseconds / 1e6);
  return text;
}

std::string size_text(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

DistinctNames names_in(const std::vector<KernelProfile>& profile) {
  std::vector<std::string> keys;
  for (auto& kernel : profile) keys.push_back(kernel.key);
  return DistinctNames(keys);
}

std::string hot_list(const std::vector<KernelProfile>& profile, size_t most) {
  constexpr double kNegligible = 0.001;  // Of the kernels' time.
  const DistinctNames names = names_in(profile);
  double total = total_of(profile), rest = 0;
  size_t shown = 0;
  char line[160];
  std::snprintf(line, sizeof line, "%10s %9s %8s %9s %9s %9s  %s\n", "Of kernels", "Total", "Calls", "Median", "Min",
                "Max", "Kernel");
  std::string text = line;
  for (auto& kernel : profile) {
    bool timed = kernel.total_us > 0;  // Else no kernel that was asked for had been launched yet.
    if (shown >= most || (timed && kernel.total_us < kNegligible * total)) {
      rest += kernel.total_us;
      continue;
    }
    ++shown;
    auto calls = static_cast<unsigned long long>(kernel.count);
    if (timed)
      std::snprintf(line, sizeof line, "%9.1f%% %9s %8llu %9s %9s %9s  ", 100 * kernel.total_us / total,
                    duration_text(kernel.total_us).c_str(), calls, duration_text(kernel.median_us).c_str(),
                    duration_text(kernel.min_us).c_str(), duration_text(kernel.max_us).c_str());
    else std::snprintf(line, sizeof line, "%10s %9s %8llu %9s %9s %9s  ", "-", "-", calls, "-", "-", "-");
    text += line + shown_line(names.of(kernel.key), kLongestName) + "\n";
  }
  if (shown < profile.size()) {
    std::snprintf(line, sizeof line, "%9.1f%% %9s  in %zu more kernel%s\n", 100 * rest / total,
                  duration_text(rest).c_str(), profile.size() - shown, profile.size() - shown > 1 ? "s" : "");
    text += line;
  }
  return text;
}

Json hot_list_json(const std::vector<KernelProfile>& profile) {
  double total = total_of(profile);
  Json list = Json::array();
  for (auto& kernel : profile) {
    Json shapes = Json::array();
    for (auto& shape : kernel.shapes)
      shapes.push_back({{"geometry", to_json(shape.geometry)}, {"count", shape.count}, {"total_us", shape.total_us}});
    list.push_back({{"kernel", kernel.key},
                    {"name", shown_name(kernel.key)},
                    {"share", kernel.total_us / total},
                    {"total_us", kernel.total_us},
                    {"count", kernel.count},
                    {"median_us", kernel.median_us},
                    {"min_us", kernel.min_us},
                    {"max_us", kernel.max_us},
                    {"shapes", shapes}});
  }
  return list;
}

}  // namespace kernelift::record
