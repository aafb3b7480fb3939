// The one symbol that libkernelift_record.so exports, and the border that keeps the user's process safe: errno is put
// back, exceptions end here, and after the first one the recorder is silent. A forked child starts a recording of its
// own, in a folder of its own; the parent's files are left to the parent.
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "extractor/record/cpu/recorder.h"

namespace kernelift::record {
namespace {

const kl_runtime_view* view = nullptr;
RecordConfig* config = nullptr;
Recorder* recorder = nullptr;  ///< Never deleted: the process may end in the middle of anything.
std::mutex* turn = nullptr;    ///< The runtime serialises its calls; this keeps us whole should one not.
std::atomic<bool> forked{false}, broken{false};
thread_local bool inside = false;  ///< Whoever comes in again is a signal's handler, and would wait for itself.

/// Runs `work` on the recorder unless there was trouble. Where a handler ends the process in the middle of other work,
/// what is written is left as it is: the instances that were finished, and what was known of the launches when that was
/// last noted.
template <class Work>
void guarded(Work&& work) noexcept {
  if (inside) return;
  inside = true;
  int saved = errno;
  try {
    if (forked.exchange(false)) {
      recorder = new Recorder(*config, *view);
      turn = new std::mutex;
    }
    if (!broken) {
      std::lock_guard lock(*turn);
      work(*recorder);
    }
  } catch (...) {
    broken = true;
  }
  errno = saved;
  inside = false;
}

void launch_begin(const kl_record_launch* launch) {
  guarded([&](Recorder& r) { r.launch_begin(*launch); });
}
void launch_end(const kl_record_launch* launch, double seconds) {
  guarded([&](Recorder& r) { r.launch_end(*launch, seconds); });
}
void shutdown() {
  guarded([](Recorder& r) { r.finish(); });
}

constexpr kl_recorder kHooks = {KL_RECORD_HOOKS_VERSION, launch_begin, launch_end, shutdown};

}  // namespace
}  // namespace kernelift::record

extern "C" __attribute__((visibility("default"))) const kl_recorder* kernelift_recorder_attach(
    const kl_runtime_view* view) {
  using namespace kernelift;
  if (!view || view->version != KL_RECORD_HOOKS_VERSION) return nullptr;
  try {
    auto wanted = RecordConfig::from_environment();
    if (!wanted) return nullptr;
    kernelift::view = view;
    config = new RecordConfig(*wanted);
    recorder = new Recorder(*wanted, *view);
    turn = new std::mutex;
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
    return &kHooks;
  } catch (...) {
    return nullptr;
  }
}
