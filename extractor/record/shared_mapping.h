// Memory that other processes see, too.
#pragma once
#include <cstdint>

namespace kernelift::record {

/// Is a part of [address, address + size) mapped so that another process may map it, too (MAP_SHARED: POSIX and System
/// V shared memory, files, memory shared with forked children)? What NVIDIA's driver maps is this process's own.
bool is_shared_mapping(uint64_t address, uint64_t size);

}  // namespace kernelift::record
