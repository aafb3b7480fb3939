// Amdahl's law over several kernels, and the sentences about kernels that share a knob.
#include "reintegrate/patch/constants/shared_knobs.h"

#include <algorithm>

namespace kernelift::reintegrate {
namespace {

constexpr size_t kNamed = 3;

/// "a", "a and b", "a, b and c"
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

}  // namespace

bool is_used_by(const Knob& knob, const ScannedKernel& kernel) {
  return std::find(knob.kernels.begin(), knob.kernels.end(), kernel.id) != knob.kernels.end();
}

SharedKnobs shared_knobs(const Mep& mep, const ScanIndex& scan, const Bindings& values) {
  SharedKnobs reach;
  for (auto& knob : mep.knobs) {
    auto value = values.find(knob.name);
    if (value == values.end() || value->second == knob.value) continue;
    for (auto& kernel : scan.kernels) {
      if (!is_used_by(knob, kernel) || kernel.key == mep.kernel_key) continue;
      reach.knobs[knob.name] = value->second;
      bool known =
          std::any_of(reach.others.begin(), reach.others.end(), [&](auto* other) { return other->key == kernel.key; });
      if (!known) reach.others.push_back(&kernel);
    }
  }
  return reach;
}

std::string text_of(const SharedKnobs& reach) {
  std::vector<std::string> knobs, names;
  for (auto& [name, value] : reach.knobs) knobs.push_back(name);
  for (size_t i = 0; i < reach.others.size() && i < kNamed; ++i) names.push_back(reach.others[i]->name);
  if (size_t more = reach.others.size() - names.size())
    names.push_back(std::to_string(more) + " more kernel" + (more == 1 ? "" : "s"));
  return listed(knobs) + (knobs.size() == 1 ? " is" : " are") + " also used by " + listed(names);
}

double equivalent_gain(double gain, double share, const std::vector<OtherKernel>& others) {
  double time = share / gain;
  for (auto& other : others)
    if (other.speedup > 0) time += other.share * (1 / other.speedup - 1);
  // Other kernels may gain more time than this kernel takes altogether.
  constexpr double kMost = 1e9;
  return share / std::max(time, share / kMost);
}

std::string text_of(const std::vector<OtherKernel>& others) {
  std::string text;
  for (auto& other : others) {
    if (other.speedup <= 0) continue;
    char figures[64];
    std::snprintf(figures, sizeof figures, " (%.1f %% of the run) %.2fx", 100 * other.share, other.speedup);
    text += (text.empty() ? "" : ", ") + other.name + figures;
  }
  return text;
}

}  // namespace kernelift::reintegrate
