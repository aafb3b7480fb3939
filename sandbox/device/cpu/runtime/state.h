// The one object behind the API: memory, registered code, streams' shared parts, limits. It is made at first use
// (before main, by registration) and never destroyed, because kernels' host objects unregister after static destructors
// ran.
#pragma once
#include <array>
#include <mutex>
#include <string>

#include "sandbox/device/cpu/runtime/launch/registry.h"
#include "sandbox/device/cpu/runtime/memory/arena.h"

namespace kernelift::cudart {

/// cudaLimit…: stack, printf buffer, heap, sync depth, pending launches, L2 fetch granularity, persisting L2.
inline constexpr std::array<size_t, 7> kInitialLimits = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

struct State {
  std::recursive_mutex mutex;  ///< Guards everything here.
  Arena arena;
  Registry registry;
  std::array<size_t, 7> limits = kInitialLimits;
  unsigned device_flags = 0;
  int cache_config = 0;
};

State& state();

/// Forgets created pools and who owns what (cudaDeviceReset); in api/pool.cpp.
void forget_pools();

/// Forgets arrays, textures and surfaces (cudaDeviceReset); in memory/textures.cpp.
void forget_textures();

/// Holds State::mutex for a scope.
struct StateLock {
  std::lock_guard<std::recursive_mutex> guard{state().mutex};
};

/// The kernel's name as a programmer wrote it.
std::string demangled(const std::string& name);

}  // namespace kernelift::cudart
