// The suite's report as text and JSON; see suite.h.
#include <algorithm>
#include <map>

#include "cli/hostile/suite.h"
#include "core/base/words.h"

namespace kernelift::cli {
namespace {

constexpr Standing kStandings[] = {Standing::Held, Standing::Believed, Standing::Outside, Standing::Otherwise,
                                   Standing::Refused};

bool is_harmless(const SuiteFinding& finding) {
  return finding.standing == Standing::Held || finding.standing == Standing::Otherwise;
}

}  // namespace

size_t SuiteReport::count(Standing standing) const {
  return static_cast<size_t>(
      std::ranges::count_if(findings, [&](auto& finding) { return finding.standing == standing; }));
}

bool SuiteReport::holds() const {
  return notes.empty() && std::ranges::all_of(findings, [](auto& finding) {
           return !finding.trick.gap.empty() || is_harmless(finding);
         });
}

std::string SuiteReport::text() const {
  std::map<std::string, std::map<Standing, size_t>> kinds;
  for (auto& finding : findings) ++kinds[finding.trick.kind][finding.standing];
  char line[160];
  std::string text;
  auto row = [&](const std::string& kind, auto&& of) {
    size_t all = 0;
    for (Standing standing : kStandings) all += of(standing);
    std::snprintf(line, sizeof line, "  %-22s %10zu %6zu %9zu %8zu %10zu %12zu\n", kind.c_str(), all,
                  of(Standing::Held), of(Standing::Believed), of(Standing::Outside), of(Standing::Otherwise),
                  of(Standing::Refused));
    text += line;
  };
  text += "  kind                   candidates   held  believed  outside  otherwise  false alarm\n";
  for (auto& [kind, counts] : kinds)
    row(kind, [&](Standing standing) {
      auto found = counts.find(standing);
      return found == counts.end() ? size_t(0) : found->second;
    });
  row("all", [&](Standing standing) { return count(standing); });
  for (Standing standing : {Standing::Outside, Standing::Believed, Standing::Refused, Standing::Otherwise})
    for (auto& finding : findings) {
      if (finding.standing != standing) continue;
      text += std::string("\n") + name(standing) + ": " + finding.trick.name + " (" + finding.trick.kind +
              "): " + finding.trick.summary + "\n    got:  " + finding.verdict +
              "\n    must: " + finding.trick.must_text() + "\n";
      if (!finding.trick.gap.empty()) text += "    an open gap: " + finding.trick.gap + "\n";
      for (auto& one : finding.reached) text += "    " + one + "\n";
    }
  for (auto& note : notes) text += "\n" + note + "\n";
  // Where it holds, all that is not harmless is a known gap.
  const bool gaps = holds() && !std::ranges::all_of(findings, is_harmless);
  std::snprintf(line, sizeof line, "\n%s on %s in %.0f s: %s%s", counted(findings.size(), "candidate").c_str(),
                device.c_str(), seconds,
                holds() ? "none was believed, none got out, no honest one was refused"
                        : "the sandbox does not hold on this machine",
                gaps ? ", but for known gaps (marked above)" : "");
  text += line;
  if (left_out > 0) text += "\n" + counted(left_out, "further candidate") + " left out for lack of time";
  return text;
}

Json SuiteReport::json() const {
  Json list = Json::array(), counts = Json::object();
  for (Standing standing : kStandings) counts[name(standing)] = count(standing);
  for (auto& finding : findings)
    list.push_back({{"name", finding.trick.name},
                    {"kind", finding.trick.kind},
                    {"kernel", finding.trick.kernel},
                    {"standing", name(finding.standing)},
                    {"verdict", finding.verdict},
                    {"must", finding.trick.must_text()},
                    {"reached", finding.reached},
                    {"terminal", finding.terminal},
                    {"summary", finding.trick.summary},
                    {"gap", finding.trick.gap},
                    {"seconds", finding.seconds}});
  return {{"device", device},   {"holds", holds()}, {"counts", counts},  {"left_out", left_out},
          {"seconds", seconds}, {"notes", notes},   {"candidates", list}};
}

}  // namespace kernelift::cli
