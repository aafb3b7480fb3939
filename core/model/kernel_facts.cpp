// See kernel_facts.h. One table of fields serves reading and writing, so that neither can omit a field.
#include "core/model/kernel_facts.h"

#include "core/model/capture.h"

namespace kernelift {
namespace {

/// Calls `with(name, optional)` for every optional field.
template <class Facts, class Function>
void each_optional(Facts& facts, Function&& with) {
  with("peak_dram_bytes", facts.peaks.dram_bytes);
  with("peak_l2_bytes", facts.peaks.l2_bytes);
  with("peak_fp32_operations", facts.peaks.fp32_operations);
  with("peak_fp64_operations", facts.peaks.fp64_operations);
  with("launch_seconds", facts.peaks.launch_seconds);
  with("registers", facts.registers);
  with("local_bytes", facts.local_bytes);
  with("shared_bytes", facts.shared_bytes);
  with("resident_blocks", facts.resident_blocks);
  with("occupancy_limit", facts.occupancy_limit);
  with("dram_read_bytes", facts.dram_read_bytes);
  with("dram_written_bytes", facts.dram_written_bytes);
  with("l2_bytes", facts.l2_bytes);
  with("shared_wavefronts", facts.shared_wavefronts);
  with("occupancy", facts.occupancy);
  with("issue_active", facts.issue_active);
  with("tensor_active", facts.tensor_active);
  with("threads_per_instruction", facts.threads_per_instruction);
  with("sectors_per_load", facts.sectors_per_load);
  with("sectors_per_store", facts.sectors_per_store);
  with("shared_conflicts", facts.shared_conflicts);
  with("fp32_operations", facts.fp32_operations);
  with("fp64_operations", facts.fp64_operations);
}

}  // namespace

Json to_json(const KernelFacts& facts) {
  Json json = {{"device", facts.device},         {"geometry", to_json(facts.geometry)},
               {"seconds", facts.seconds},       {"multiprocessors", facts.multiprocessors},
               {"limited_by", facts.limited_by}, {"counters_missing", facts.counters_missing},
               {"stalls", facts.stalls},         {"instructions", facts.instructions}};
  each_optional(facts, [&](const char* name, const auto& value) {
    if (value) json[name] = *value;
  });
  return json;
}

Result<KernelFacts> kernel_facts_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    KernelFacts facts;
    facts.device = from.at("device");
    facts.geometry = geometry_from_json(from.at("geometry"));
    facts.seconds = from.at("seconds");
    facts.multiprocessors = from.at("multiprocessors");
    facts.limited_by = from.at("limited_by");
    facts.counters_missing = from.at("counters_missing");
    facts.stalls = from.at("stalls").get<std::map<std::string, double>>();
    facts.instructions = from.at("instructions").get<std::map<std::string, double>>();
    each_optional(facts, [&](const char* name, auto& value) {
      if (from.contains(name)) value = from.at(name).template get<typename std::decay_t<decltype(value)>::value_type>();
    });
    return facts;
  });
}

}  // namespace kernelift
