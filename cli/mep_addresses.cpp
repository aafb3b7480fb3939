// Reads the memory map of this process before it has threads or a driver. If addresses are still occupied after three
// restarts the process goes on: the code that maps the memory reports the address that it could not have.
#include "cli/mep_addresses.h"

#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/base/descriptor.h"

namespace kernelift::cli {
namespace {

constexpr int kMostRestarts = 3;
constexpr const char* kRestartVariable = "KERNELIFT_BEGUN_ANEW";
/// Limit on the growth of the heap and of the area for libraries until the MEP's memory is mapped, in bytes.
constexpr uint64_t kGrowth = uint64_t(4) << 30;

bool are_addresses_free(const Mep& mep) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
    for (auto& instance : mep.instances)
      for (auto& region : instance.regions)
        if (region.size > 0 && region.address < end + kGrowth && begin < region.address + region.size + kGrowth)
          return false;
  }
  return true;
}

}  // namespace

void restart_if_addresses_taken(const Mep& mep, const Context& context) {
  const char* counted = std::getenv(kRestartVariable);
  int restarts = counted ? std::atoi(counted) : 0;
  unsetenv(kRestartVariable);  // Child processes must count their own restarts.
  if (restarts >= kMostRestarts || are_addresses_free(mep)) return;
  setenv(kRestartVariable, std::to_string(restarts + 1).c_str(), 1);
  // Debuggers disable address randomisation: without it the process would be loaded at the same addresses again.
  personality(static_cast<unsigned long>(personality(0xffffffff)) & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
  restore_descriptor_limit();  // It is this process's start that says what programs get.
  execv("/proc/self/exe", context.arguments);
  raise_descriptor_limit();
  unsetenv(kRestartVariable);
}

}  // namespace kernelift::cli
