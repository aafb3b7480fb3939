// See launch_settings.h. Absent keys are the defaults, so that old artefacts read and plain launches stay short.
#include "core/model/launch_settings.h"


namespace kernelift {

Json to_json(const LaunchSettings& settings) {
  const LaunchSettings plain;
  Json json = Json::object();
  auto set = [&](const char* key, const auto& value, const auto& unset) {
    if (value != unset) json[key] = value;
  };
  if (settings.cluster) json["cluster"] = {settings.cluster->x, settings.cluster->y, settings.cluster->z};
  set("cluster_scheduling", settings.cluster_scheduling, plain.cluster_scheduling);
  set("non_portable_cluster", settings.non_portable_cluster, false);
  set("programmatic", settings.programmatic, false);
  set("priority", settings.priority, plain.priority);
  set("shared_carveout", settings.shared_carveout, plain.shared_carveout);
  set("cache_config", settings.cache_config, plain.cache_config);
  set("max_dynamic_shared", settings.max_dynamic_shared, plain.max_dynamic_shared);
  set("stack_bytes", settings.stack_bytes, plain.stack_bytes);
  set("heap_bytes", settings.heap_bytes, plain.heap_bytes);
  set("printf_bytes", settings.printf_bytes, plain.printf_bytes);
  set("persisting_l2_bytes", settings.persisting_l2_bytes, plain.persisting_l2_bytes);
  set("not_replayed", settings.not_replayed, plain.not_replayed);
  return json;
}

LaunchSettings launch_settings_from_json(const Json& json) {
  LaunchSettings settings;
  auto get = [&](const char* key, auto& into) {
    if (auto found = json.find(key); found != json.end()) found->get_to(into);
  };
  if (auto found = json.find("cluster"); found != json.end())
    settings.cluster = Dim3{found->at(0).get<uint32_t>(), found->at(1).get<uint32_t>(), found->at(2).get<uint32_t>()};
  get("cluster_scheduling", settings.cluster_scheduling);
  get("non_portable_cluster", settings.non_portable_cluster);
  get("programmatic", settings.programmatic);
  get("priority", settings.priority);
  get("shared_carveout", settings.shared_carveout);
  get("cache_config", settings.cache_config);
  get("max_dynamic_shared", settings.max_dynamic_shared);
  get("stack_bytes", settings.stack_bytes);
  get("heap_bytes", settings.heap_bytes);
  get("printf_bytes", settings.printf_bytes);
  get("persisting_l2_bytes", settings.persisting_l2_bytes);
  get("not_replayed", settings.not_replayed);
  return settings;
}

}  // namespace kernelift
