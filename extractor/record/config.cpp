// See config.h. Numbers that do not parse keep their default: the recorder has nobody to complain to.
#include "extractor/record/config.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace kernelift::record {
namespace {

constexpr const char* kLibrary = "KERNELIFT_RECORDER";
constexpr const char* kFolder = "KERNELIFT_RECORD_FOLDER";
constexpr const char* kKernel = "KERNELIFT_RECORD_KERNEL";
constexpr const char* kInstances = "KERNELIFT_RECORD_INSTANCES";
constexpr const char* kSkip = "KERNELIFT_RECORD_SKIP";
constexpr const char* kProfileOnly = "KERNELIFT_RECORD_PROFILE_ONLY";
constexpr const char* kRegion = "KERNELIFT_RECORD_REGION";
constexpr const char* kRank = "KERNELIFT_RECORD_RANK";
constexpr const char* kAllMemory = "KERNELIFT_RECORD_ALL_MEMORY";
constexpr const char* kBytes = "KERNELIFT_RECORD_BYTES";
constexpr const char* kPatience = "KERNELIFT_RECORD_PATIENCE";

std::string_view text_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void number_of(const char* name, uint64_t& into) {
  std::string_view text = text_of(name);
  uint64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && !text.empty()) into = value;
}

}  // namespace

std::optional<RecordConfig> RecordConfig::from_environment() {
  RecordConfig config;
  config.folder = text_of(kFolder);
  if (config.folder.empty()) return std::nullopt;
  config.kernel = text_of(kKernel);
  config.region = text_of(kRegion);
  if (!text_of(kRank).empty()) number_of(kRank, config.rank.emplace(0));
  number_of(kInstances, config.instances);
  number_of(kSkip, config.skip);
  number_of(kBytes, config.instance_bytes);
  number_of(kPatience, config.patience_seconds);
  config.profile_only = text_of(kProfileOnly) == "1";
  config.all_memory = text_of(kAllMemory) == "1";
  return config;
}

std::vector<std::pair<std::string, std::string>> RecordConfig::to_environment(const std::string& library) const {
  return {{kLibrary, library},
          {kFolder, folder},
          {kKernel, kernel},
          {kRegion, region},
          {kRank, rank ? std::to_string(*rank) : ""},
          {kInstances, std::to_string(instances)},
          {kSkip, std::to_string(skip)},
          {kProfileOnly, profile_only ? "1" : "0"},
          {kAllMemory, all_memory ? "1" : "0"},
          {kBytes, std::to_string(instance_bytes)},
          {kPatience, std::to_string(patience_seconds)}};
}

KernelPattern::KernelPattern(const RecordConfig& config) {
  nothing_ = config.profile_only || config.instances == 0;
  if (config.kernel.empty()) return;
  try {
    pattern_.emplace(config.kernel, kPatternSyntax);
  } catch (const std::regex_error&) {
    nothing_ = broken_ = true;
  }
}

bool KernelPattern::wants(const std::string& key, const std::string& mangled) const {
  if (nothing_) return false;
  return !pattern_ || std::regex_search(key, *pattern_) || std::regex_search(mangled, *pattern_);
}

}  // namespace kernelift::record
