// What a driver was told about a launch beyond its geometry: launch attributes, the kernel's own attributes and the
// context's limits. The recorder writes them down, a MEP carries them, replay sets them. Everything has a value that
// means "not set, or not known", so that captures of other devices simply leave them out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/geometry.h"

namespace kernelift {

struct LaunchSettings {
  std::optional<Dim3> cluster;            ///< Blocks of one cluster.
  std::string cluster_scheduling;         ///< "spread" | "load-balancing"
  bool non_portable_cluster = false;      ///< More blocks in a cluster than every GPU of the architecture allows.
  bool programmatic = false;              ///< Programmatic stream serialisation: may start before its predecessor ends.
  int priority = 0;                       ///< Of the launch or its stream.
  int shared_carveout = -1;               ///< Percent of the L1 that is wanted as shared memory.
  std::string cache_config;               ///< "shared" | "l1" | "equal": cuFuncSetCacheConfig, cuCtxSetCacheConfig.
  uint32_t max_dynamic_shared = 0;        ///< What the kernel was allowed to ask for (above 48 KiB it must be).
  uint64_t stack_bytes = 0, heap_bytes = 0, printf_bytes = 0;  ///< Limits of the context.
  uint64_t persisting_l2_bytes = 0;       ///< L2 set aside for persisting accesses when the launch ran.
  std::vector<std::string> not_replayed;  ///< Attributes that mean nothing alone (events, domains), by name.

  bool operator==(const LaunchSettings&) const = default;
};

/// Only what is set; {} for a plain launch. The reader throws nlohmann's exceptions: call it inside reading().
Json to_json(const LaunchSettings&);
LaunchSettings launch_settings_from_json(const Json&);

}  // namespace kernelift
