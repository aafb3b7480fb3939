// See other_constants.h.
#include "tuner/space/other_constants.h"

#include <algorithm>

#include "core/model/kernel_key.h"
#include "core/model/knob/knob_text.h"
#include "core/model/knob/template_arguments.h"
#include "core/model/launch/limits.h"
#include "core/model/launch_values.h"

namespace kernelift::tuner {
namespace {

/// The text with another value; the same text if it does not use the constant; nullopt: it is not spelled as one
/// number.
std::optional<std::string> with_value(std::string text, const std::string& name, int64_t before, int64_t value) {
  if (!mentions_word(text, unqualified_name(name))) return text;
  auto where = find_knob(text, name, before);
  if (!where) return std::nullopt;
  return text.replace(where->begin, where->end - where->begin, std::to_string(value));
}

/// The recorded blocks as the launches that explain them compute them; false: a block has too many threads.
bool follow(Mep& mep, const Bindings& before, const Bindings& after) {
  const auto sites = mep.all_launches();
  for (auto& instance : mep.instances) {
    Dim3& block = instance.geometry.block;
    for (auto* site : sites) {
      Dim3 now = block;
      bool explains = true;
      for (int axis = 0; axis < 3; ++axis) {
        const auto was = constant_block(*site, axis, before), is = constant_block(*site, axis, after);
        explains &= !was || *was == along(block, axis);
        if (was && is) along(now, axis) = static_cast<uint32_t>(*is);
      }
      if (!explains) continue;
      block = now;
      break;
    }
    const int64_t threads = int64_t(block.x) * block.y * block.z;
    if (threads < 1 || threads > kMostThreadsPerBlock) return false;
  }
  return true;
}

}  // namespace

bool shapes_launches(const Mep& mep, const std::string& name) {
  return std::ranges::any_of(mep.all_launches(), [&](auto* site) { return site->uses(name); });
}

OtherConstants other_constants(const Mep& mep, const std::string& original, const Candidate& candidate) {
  OtherConstants others;
  if (candidate.source == original) return others;
  const Bindings constants = mep.named_values();
  for (auto& [name, value] : constants) {
    const auto knob = std::ranges::find(mep.knobs, name, &Knob::name);
    if (knob != mep.knobs.end() && is_template_argument(mep, *knob)) continue;
    if (auto now = candidate.values.find(name); now != candidate.values.end() && now->second != value) continue;
    const bool shapes = shapes_launches(mep, name);
    if (value < 1 || (!shapes && !mentions_word(original, unqualified_name(name)))) continue;
    const std::set<int64_t> asked =
        shapes ? std::set<int64_t>{value / 2, value + value / 2, 2 * value} : std::set<int64_t>{value + 1, 2 * value};
    for (int64_t other : asked) {
      if (other < 1 || other == value) continue;
      OtherConstant made{name, other, mep, original, candidate};
      auto own = with_value(original, name, value, other);
      auto its = with_value(candidate.source, name, value, other);
      if (!own || !its || (*its == candidate.source) != (*own == original)) {
        others.not_made.insert(name);
        break;
      }
      made.original = *own, made.candidate.source = *its;
      for (auto& one : made.mep.knobs)
        if (one.name == name) one.value = other;
      if (auto known = made.mep.constants.find(name); known != made.mep.constants.end()) known->second = other;
      if (auto known = made.candidate.values.find(name); known != made.candidate.values.end()) known->second = other;
      Bindings after = constants;
      after[name] = other;
      if (follow(made.mep, constants, after)) others.values.push_back(std::move(made));
    }
  }
  return others;
}

}  // namespace kernelift::tuner
