// See facts.h.
#include "cli/mcp/facts.h"

#include <cstring>
#include <ranges>

#include "core/base/within.h"
#include "core/model/fidelity.h"
#include "tuner/rule_outcomes.h"
#include "tuner/tuner.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kMostRuns = 4;  ///< Whose trials are looked at: one may have a hundred thousand.

/// The recorded value of a scalar parameter; null for pointers, structures, and what is not recorded.
Json scalar_value(const Mep& mep, const MepInstance& instance, size_t parameter) {
  if (auto whole = mep.integer_argument(instance, parameter)) return *whole;
  if (parameter >= instance.parameters.size()) return nullptr;
  const Parameter& place = instance.parameters[parameter];
  const std::string& type = mep.parameters[parameter].scalar;
  if (place.offset + place.size > instance.arguments.size()) return nullptr;
  const std::byte* at = instance.arguments.data() + place.offset;
  if (type == "float" && place.size == sizeof(float)) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  if (type == "double" && place.size == sizeof(double)) {
    double value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  return nullptr;
}

Json launch_of(const Mep& mep, const MepInstance& instance) {
  Json values = Json::object(), buffers = Json::array();
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (Json value = scalar_value(mep, instance, p); !value.is_null()) values[mep.parameters[p].name] = value;
  for (auto& region : instance.regions) {
    const bool known = region.parameter >= 0 && static_cast<size_t>(region.parameter) < mep.parameters.size();
    buffers.push_back({{"parameter", known ? mep.parameters[static_cast<size_t>(region.parameter)].name : ""},
                       {"element", region.element},
                       {"bytes", region.size},
                       {"changed", region.before != region.after}});
  }
  const Geometry& geometry = instance.geometry;
  return {{"id", instance.id},
          {"grid", geometry.grid.text()},
          {"block", geometry.block.text()},
          {"shared_bytes", geometry.shared_bytes},
          {"microseconds", instance.microseconds},
          {"share_of_kernel", instance.weight},
          {"values", values},
          {"buffers", buffers}};
}

Json site_of(const LaunchSite& site, const std::string& root) {
  auto spelled = [](const std::optional<Expression>* axes) {
    Json list = Json::array();
    for (int axis = 0; axis < 3; ++axis) list.push_back(axes[axis] ? axes[axis]->text() : "?");
    return list;
  };
  return {{"place", relative_to(site.range.file, root) + ":" + std::to_string(site.range.line)},
          {"grid", spelled(site.grid)},
          {"block", spelled(site.block)},
          {"arguments", site.argument_text}};
}

}  // namespace

Json facts_of(const Mep& mep, const std::filesystem::path& folder, const std::string& source) {
  Json parameters = Json::array(), launches = Json::array(), sites = Json::array(), knobs = Json::array();
  for (auto& parameter : mep.parameters) parameters.push_back(parameter.type + " " + parameter.name);
  // Held-out launches are for verification: who proposes a change does not know them.
  size_t held_out = 0;
  for (auto& instance : mep.instances)
    if (instance.held_out) ++held_out;
    else launches.push_back(launch_of(mep, instance));
  for (auto& site : mep.launches) sites.push_back(site_of(site, mep.app_root));
  for (auto& knob : mep.knobs)
    knobs.push_back(
        {{"name", knob.name}, {"value", knob.value}, {"in_kernel", knob.in_kernel}, {"in_geometry", knob.in_geometry}});
  Json fidelity = Json::array();
  if (auto replays = read_fidelity(folder); replays.ok())
    for (auto& replay : *replays) {
      for (auto& instance : mep.instances)
        if (instance.held_out) replay.instances.erase(instance.id);
      fidelity.push_back(replay.text());
    }
  return {{"kernel", mep.kernel_name},
          {"mep", folder.filename().string()},
          {"place", mep.place(source)},
          {"language", mep.language},
          {"proven_equal_to_original", mep.proven},
          {"parameters", parameters},
          {"launches", launches},
          {"held_out_launches", held_out},
          {"source", source},
          {"launch_sites", sites},
          {"knobs", knobs},
          {"captured_on", mep.captured_on},
          {"replays", fidelity}};
}

Json tried_in_runs(const std::filesystem::path& state, const std::filesystem::path& folder, const Mep& mep,
                   bool on_cpu) {
  auto hash = tuner::hash_mep(folder, mep);
  if (!hash.ok()) return Json::array();
  std::vector<tuner::Run> runs;
  const std::string name = folder.filename().string();
  for (auto& of : {name, name + "-judged"})
    for (auto& file : tuner::Run::paths(state, of)) {
      if (runs.size() >= kMostRuns) break;
      auto run = tuner::Run::open(file);
      if (run.ok() && run->meta().mep_hash == *hash && (run->meta().device == "cpu") == on_cpu)
        runs.push_back(*std::move(run));
    }
  std::vector<tuner::RunTrial> trials;
  for (auto& run : std::views::reverse(runs))  // The oldest first.
    if (auto history = run.history(); history.ok())
      for (auto& trial : *history) trials.push_back(std::move(trial));
  std::vector<const tuner::RunTrial*> all;
  for (auto& trial : trials) all.push_back(&trial);
  Json lines = Json::array();
  const auto outcomes = tuner::rule_outcomes(all);
  for (const bool gained : {true, false})
    for (auto& outcome : outcomes)
      if (outcome.gained() == gained) lines.push_back(outcome.text());
  return lines;
}

}  // namespace kernelift::cli::mcp
