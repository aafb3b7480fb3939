// See hot_list.h.
#include "extractor/record/hot_list.h"

#include <cstdio>

namespace kernelift {
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

std::string hot_list(const std::vector<KernelProfile>& profile, size_t most) {
  double total = total_of(profile);
  char line[160];
  std::snprintf(line, sizeof line, "%7s %10s %9s %10s %10s %10s  %s\n", "Share", "Total", "Calls", "Median", "Min",
                "Max", "Kernel");
  std::string text = line;
  for (size_t i = 0; i < profile.size() && i < most; ++i) {
    auto& kernel = profile[i];
    if (kernel.total_us == 0) {  // Launched, but not timed: no kernel that was asked for had been launched yet.
      std::snprintf(line, sizeof line, "%7s %10s %9llu %10s %10s %10s  ", "-", "-",
                    static_cast<unsigned long long>(kernel.count), "-", "-", "-");
      text += line + kernel.key + "\n";
      continue;
    }
    std::snprintf(line, sizeof line, "%6.1f%% %10s %9llu %10s %10s %10s  ", 100 * kernel.total_us / total,
                  duration_text(kernel.total_us).c_str(), static_cast<unsigned long long>(kernel.count),
                  duration_text(kernel.median_us).c_str(), duration_text(kernel.min_us).c_str(),
                  duration_text(kernel.max_us).c_str());
    text += line + kernel.key + "\n";
  }
  if (profile.size() > most) {
    double rest = 0;
    for (size_t i = most; i < profile.size(); ++i) rest += profile[i].total_us;
    std::snprintf(line, sizeof line, "%6.1f%% %10s  in %zu more kernels\n", 100 * rest / total,
                  duration_text(rest).c_str(), profile.size() - most);
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

}  // namespace kernelift
