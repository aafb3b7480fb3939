// See shared_mapping.h.
#include "extractor/record/shared_mapping.h"

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace kernelift::record {

bool is_shared_mapping(uint64_t address, uint64_t size) {
  // proc(5): "7f12a000-7f12b000 rw-s 00000000 00:1a 5  /dev/shm/halo", ordered by address.
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, rights) != 3) continue;
    if (begin >= address + size) return false;
    if (end > address && rights[3] == 's' && line.find(" /dev/nvidia") == std::string::npos) return true;
  }
  return false;
}

}  // namespace kernelift::record
