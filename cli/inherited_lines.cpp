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
  std::snprintf(text, sizeof text, "was within %.0f %% of the best of its search (at least %.3fx) after %s and %.1f s",
                100 * within, from.at("best_speedup").get<double>(), counted(evaluations, "candidate").c_str(),
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

std::vector<std::string> pattern_lines(const Json& patterns, bool saved) {
  std::vector<std::string> lines;
  auto read = reading("patterns", [&] {
    for (auto& one : patterns.at("tried")) {
      char text[160];
      const bool ok = one.at("outcome") == "ok";
      std::snprintf(text, sizeof text, ": %.3fx there, %s", one.at("gain_there").get<double>(),
                    ok ? "" : one.at("outcome").get<std::string>().c_str());
      std::string here = text;
      if (ok) {
        const double gain = one.at("gain_here").get<double>();
        std::snprintf(text, sizeof text, "at least %.3fx", gain);
        here += gain > 0 ? text : "right and not timed";
      }
      std::snprintf(text, sizeof text, " (%s, %.0f %% alike)", one.at("architecture").get<std::string>().c_str(),
                    100 * one.at("similarity").get<double>());
      lines.push_back("Pattern of '" + one.at("kernel").get<std::string>() + "'" + text + ", " +
                      one.at("chain").get<std::string>() + here + " here, candidate #" +
                      std::to_string(one.at("candidate").get<int64_t>()) +
                      (one.at("whole").get<bool>() ? "" : "; only a part of it applied"));
    }
    if (const auto after = patterns.at("evaluations").get<size_t>(); saved && after > 0) {
      char text[96];
      std::snprintf(text, sizeof text, " of the best of its search (at least %.3fx) after ",
                    patterns.at("best").get<double>());
      lines.push_back("This run was within " +
                      std::to_string(static_cast<int>(100 * patterns.at("within").get<double>())) + " %" + text +
                      counted(after, "candidate"));
    }
    return true;
  });
  if (!read.ok()) lines.clear();
  return lines;
}

}  // namespace kernelift::cli
