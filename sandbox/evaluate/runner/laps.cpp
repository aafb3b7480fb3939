// See laps.h.
#include "sandbox/evaluate/runner/laps.h"

#include <algorithm>
#include <cstdio>

namespace kernelift::sandbox {

void Laps::add(const std::string& what, double seconds) {
  auto known = std::ranges::find(seconds_, what, &std::pair<std::string, double>::first);
  if (known == seconds_.end()) seconds_.emplace_back(what, seconds);
  else known->second += seconds;
}

void Laps::end(const std::string& what) {
  const auto now = Deadline::clock::now();
  add(what, std::chrono::duration<double>(now - std::exchange(last_, now)).count() - std::exchange(apart_, 0));
}

void Laps::within(const std::string& what, double seconds) { add(what, seconds), apart_ += seconds; }

void Laps::end_with(const Laps& parts, const std::string& rest) {
  for (auto& [what, seconds] : parts.seconds_) within(what, seconds);
  end(rest);
}

std::string Laps::text() const {
  constexpr double kWorthTelling = 0.1;
  std::string text;
  for (auto& [what, seconds] : seconds_) {
    if (seconds < kWorthTelling) continue;
    char figure[32];
    (void)std::snprintf(figure, sizeof figure, " %.1f s", seconds);
    text += (text.empty() ? "" : ", ") + what + figure;
  }
  return text;
}

double Laps::seconds() const {
  double all = 0;
  for (auto& [what, seconds] : seconds_) all += seconds;
  return all;
}

void Laps::put(WireWriter& writer) const {
  std::vector<std::string> names;
  std::vector<double> values;
  for (auto& [what, seconds] : seconds_) names.push_back(what), values.push_back(seconds);
  writer.texts(names).reals(values);
}

Laps Laps::taken(WireReader& reader) {
  const auto names = reader.texts();
  const auto values = reader.reals();
  Laps laps;
  for (size_t i = 0; i < std::min(names.size(), values.size()); ++i) laps.add(names[i], values[i]);
  return laps;
}

}  // namespace kernelift::sandbox
