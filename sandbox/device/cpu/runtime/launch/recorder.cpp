// A recorder that cannot be loaded is explained once and the application runs on unrecorded: recording must never be
// the reason that a program fails.
#include "sandbox/device/cpu/runtime/launch/recorder.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/launch/launcher.h"
#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {
namespace {

size_t list_allocations(kl_allocation* out, size_t capacity) {
  StateLock lock;
  size_t count = 0;
  for (const auto& [address, allocation] : state().arena.live()) {
    if (count < capacity) out[count] = {address, allocation.size, uint32_t(allocation.kind)};
    ++count;
  }
  return count;
}

constexpr kl_runtime_view kView = {KL_RECORD_HOOKS_VERSION, list_allocations, wait_for_launches};

std::atomic<bool> shut_down{false}, ending{false};

}  // namespace

const kl_recorder* recorder = nullptr;

void attach_recorder() {
  const char* library = std::getenv("KERNELIFT_RECORDER");
  if (!library || !*library) return;
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    explain("this run is not recorded: %s", dlerror());
    return;
  }
  auto attach = reinterpret_cast<kl_recorder_attach_function>(dlsym(handle, KL_RECORDER_ATTACH));
  if (!attach) {
    explain("this run is not recorded: %s exports no %s", library, KL_RECORDER_ATTACH);
    return;
  }
  const kl_recorder* attached = attach(&kView);
  if (!attached) return;
  if (attached->version != KL_RECORD_HOOKS_VERSION) {
    explain("this run is not recorded: %s speaks version %u of the hooks, this library version %d", library,
            attached->version, KL_RECORD_HOOKS_VERSION);
    return;
  }
  recorder = attached;
  std::atexit(shut_down_recorder);
}

void shut_down_recorder() {
  if (recorder && !shut_down.exchange(true)) {
    const kl_recorder* ending = recorder;
    recorder = nullptr;
    if (ending->shutdown) ending->shutdown();
  }
}

bool process_ends() { return ending; }

void start_runtime() {
  static std::once_flag once;
  static std::atomic<bool> started{false};
  if (started.load(std::memory_order_acquire)) return;
  std::call_once(once, [] {
    attach_recorder();
    std::atexit([] { ending = true; });
    started.store(true, std::memory_order_release);
  });
}

}  // namespace kernelift::cudart
