// See unit_flags.h.
#include "core/model/candidate/unit_flags.h"

namespace kernelift {
namespace {

constexpr int kMostRegisters = 255;  ///< That a thread can have.

}  // namespace

std::vector<std::string> UnitFlags::nvcc_words() const {
  std::vector<std::string> words;
  if (fast_math) words.emplace_back("-use_fast_math");
  if (!fused) words.emplace_back("--fmad=false");
  if (most_registers > 0) words.push_back("--maxrregcount=" + std::to_string(most_registers));
  if (!cache_loads.empty()) words.push_back("-Xptxas=-dlcm=" + cache_loads);
  return words;
}

std::string UnitFlags::text() const {
  std::string line;
  for (auto& word : nvcc_words()) line += (line.empty() ? "" : " ") + word;
  return line;
}

std::vector<std::string> UnitFlags::effects() const {
  std::vector<std::string> effects;
  if (fast_math)
    effects.emplace_back(
        "lowers the precision of functions, divisions and square roots of float, for all kernels of the file");
  if (!fused) effects.emplace_back("rounds products before they are added, in all kernels of the file");
  return effects;
}

Json to_json(const UnitFlags& flags) {
  Json json = Json::object();
  if (flags.fast_math) json["fast_math"] = true;
  if (!flags.fused) json["fused"] = false;
  if (flags.most_registers > 0) json["most_registers"] = flags.most_registers;
  if (!flags.cache_loads.empty()) json["cache_loads"] = flags.cache_loads;
  return json;
}

UnitFlags unit_flags_from_json(const Json& json) {
  if (!json.is_object()) malformed("unit_flags is an object: {\"fast_math\": true}");
  UnitFlags flags;
  for (auto& [key, value] : json.items()) {
    if (key == "fast_math") flags.fast_math = value.get<bool>();
    else if (key == "fused") flags.fused = value.get<bool>();
    else if (key == "most_registers") flags.most_registers = value.get<int>();
    else if (key == "cache_loads") flags.cache_loads = value.get<std::string>();
    else malformed("'" + key + "' is not known; unit_flags has fast_math, fused, most_registers, cache_loads");
  }
  if (flags.most_registers < 0 || flags.most_registers > kMostRegisters)
    malformed("most_registers: " + std::to_string(flags.most_registers) + " is not between 0 and " +
              std::to_string(kMostRegisters));
  if (!flags.cache_loads.empty() && flags.cache_loads != "ca" && flags.cache_loads != "cg")
    malformed("cache_loads: '" + flags.cache_loads + "' is neither ca nor cg");
  return flags;
}

}  // namespace kernelift
