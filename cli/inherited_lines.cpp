// See inherited_lines.h.
#include "cli/inherited_lines.h"

#include <cstdio>

#include "core/base/words.h"

namespace kernelift::cli {
namespace {

std::string close_text(const Json& from, double within) {
  const auto evaluations = from.at("evaluations").get<size_t>();
  if (evaluations == 0) return "found no gain";
  char text[120];
  std::snprintf(text, sizeof text, "was within %.0f %% of its best (%.3fx) after %s and %.1f s", 100 * within,
                from.at("best_speedup").get<double>(), counted(evaluations, "candidate").c_str(),
                from.at("seconds").get<double>());
  return text;
}

}  // namespace

std::vector<std::string> inherited_lines(const Json& inherited) {
  std::vector<std::string> lines;
  auto read = reading("inherited", [&] {
    const double within = inherited.at("within");
    for (auto& run : inherited.at("runs"))
      lines.push_back("Inherited: " + counted(run.at("trials").get<size_t>(), "candidate") + " of " +
                      run.at("run").get<std::string>() + " on " + run.at("device").get<std::string>() + ", which " +
                      close_text(run, within));
    lines.push_back("This run " + close_text(inherited.at("this"), within));
    return true;
  });
  if (!read.ok()) lines.clear();
  return lines;
}

}  // namespace kernelift::cli
