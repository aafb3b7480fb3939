// See process_rank.h.
#include "extractor/record/process_rank.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace kernelift::record {
namespace {

// SLURM's comes last: mpirun inside of an srun step inherits it for all of its processes.
constexpr const char* kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
constexpr uint64_t kMostProcesses = 1 << 16;

}  // namespace

std::optional<uint64_t> rank_from_environment() {
  for (const char* name : kRankVariables) {
    const char* text = std::getenv(name);
    if (!text || !*text) continue;
    std::string_view digits = text;
    uint64_t rank = 0;
    auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (code == std::errc() && end == digits.data() + digits.size()) return rank;
  }
  return std::nullopt;
}

std::optional<uint64_t> claim_order(const std::string& folder) {
  const std::string order = folder + "/order";
  if (mkdir(order.c_str(), S_IRWXU) != 0 && errno != EEXIST) return std::nullopt;
  for (uint64_t number = 0; number < kMostProcesses; ++number) {
    // A name can be made once, by whichever process and on whichever node.
    if (mkdir((order + "/" + std::to_string(number)).c_str(), S_IRWXU) == 0) return number;
    if (errno != EEXIST) return std::nullopt;
  }
  return std::nullopt;
}

RecordConfig for_this_process(RecordConfig config) {
  if (config.profile_only) return config;
  if (auto rank = rank_from_environment()) config.profile_only = *rank != config.rank.value_or(0);
  else if (config.rank) config.profile_only = claim_order(config.folder) != config.rank;
  return config;
}

}  // namespace kernelift::record
