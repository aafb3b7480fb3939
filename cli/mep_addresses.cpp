// Looks at this process's own map, before there are threads or a driver; see mep_addresses.h. Whoever still has no room
// after three times goes on: what maps the memory says which address it could not have.
#include "cli/mep_addresses.h"

#include <sys/personality.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace kernelift::cli {
namespace {

constexpr int kTimes = 3;
constexpr const char* kBegunAnew = "KERNELIFT_BEGUN_ANEW";
/// Between now and the mapping of a MEP's memory the heap and the libraries' area grow by less than this.
constexpr uint64_t kGrowth = uint64_t(4) << 30;

bool has_room_for(const Mep& mep) {
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
  const char* told = std::getenv(kBegunAnew);
  int times = told ? std::atoi(told) : 0;
  unsetenv(kBegunAnew);  // Other processes that this one starts count for themselves.
  if (times >= kTimes || has_room_for(mep)) return;
  setenv(kBegunAnew, std::to_string(times + 1).c_str(), 1);
  // Debuggers turn the random choice of addresses off: then it would lie here again.
  personality(static_cast<unsigned long>(personality(0xffffffff)) & ~static_cast<unsigned long>(ADDR_NO_RANDOMIZE));
  execv("/proc/self/exe", context.arguments);
  unsetenv(kBegunAnew);
}

}  // namespace kernelift::cli
