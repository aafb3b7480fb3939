// JSON of the structures that scan.json and mep.json share: source ranges, parameters, launch sites, knobs. The readers
// throw nlohmann's exceptions on a missing key or a wrong type: call them inside reading() (core/base/json.h).
#pragma once
#include "core/base/json.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

Json to_json(const SourceRange& range);
Json to_json(const ScannedParameter& parameter);
Json to_json(const LaunchSite& site);
Json to_json(const Knob& knob);

SourceRange range_from_json(const Json& from);
ScannedParameter scanned_parameter_from_json(const Json& from);
LaunchSite launch_from_json(const Json& from);
Knob knob_from_json(const Json& from);

/// A JSON array of elements that have a to_json().
template <class T>
Json list_to_json(const std::vector<T>& all) {
  Json list = Json::array();
  for (auto& one : all) list.push_back(to_json(one));
  return list;
}

/// Malformed if a block's size along an axis is negative with the knobs' values: no program launches that.
void check_blocks(const std::vector<LaunchSite>& launches, const std::vector<Knob>& knobs);

}  // namespace kernelift
