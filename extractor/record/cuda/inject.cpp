// The one symbol that libkernelift_record_cuda.so exports: the driver calls it inside cuInit, in every process that has
// the library's path in CUDA_INJECTION64_PATH. The border that keeps the user's process safe: errno is put back,
// exceptions end here, a forked child is left alone, the regular end of the process is the recording's.
#include <pthread.h>

#include <cerrno>
#include <cstdlib>

#include "extractor/record/cuda/cuda_recorder.h"
#include "extractor/record/cuda/own_thread.h"

namespace kernelift::record {
namespace {

CudaRecorder* recorder = nullptr;  ///< Never deleted: the process may end in the middle of anything.

constexpr const char* kLetGo =
    "the application profiles itself with CUPTI, which one at a time can use: the recorder has let go";

constexpr const char* kInTheWay =
    "CUPTI serves one at a time, and on this machine the recorder cannot get out of the way: while it is recorded, an "
    "application that "
    "profiles itself is refused by CUPTI";

void attach() {
  auto config = RecordConfig::from_environment();
  if (!config) return;
  auto driver = CudaDriver::open();
  if (!driver.ok()) return;
  OwnCall ours;
  recorder = new CudaRecorder(*config, **driver);
  const char* path = std::getenv("KERNELIFT_CUPTI");
  if (auto started = recorder->start(path ? path : ""); !started.ok()) {
    recorder->refuse(started.error().message);
    recorder = nullptr;
    return;
  }
  pthread_atfork(nullptr, nullptr, [] { recorder->forked(); });
  std::atexit([] { recorder->finish(); });
  if (!recorder->cupti().before_others_use_it([] { recorder->let_go(kLetGo); }))
    recorder->warn("the application's own profiling", kInTheWay);
}

}  // namespace
}  // namespace kernelift::record

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  int saved = errno;
  try {
    if (!kernelift::recorder) kernelift::attach();
  } catch (...) {}
  errno = saved;
  return 1;
}
