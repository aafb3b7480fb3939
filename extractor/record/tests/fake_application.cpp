// An application for the recorder's tests: argv[1] says how it behaves. Prints a line to stdout, so that tests can see
// that the recorder leaves its output alone.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "extractor/record/tests/fake_runtime.h"

namespace {

const kl_recorder* recorder = nullptr;

void attach() {
  const char* path = std::getenv("KERNELIFT_RECORDER");
  void* library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) return;
  auto function = reinterpret_cast<kl_recorder_attach_function>(dlsym(library, KL_RECORDER_ATTACH));
  recorder = function ? function(&fake::Runtime::current()->view) : nullptr;
}

void begin(const kl_record_launch* launch) {
  if (recorder) recorder->launch_begin(launch);
}
void end(const kl_record_launch* launch, double seconds) {
  if (recorder) recorder->launch_end(launch, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  int launches = argc > 2 ? std::atoi(argv[2]) : 20;
  if (mode == "stranger") return 0;  // Never touches the runtime.
  fake::Runtime runtime;
  attach();
  if (mode == "idle") {
    if (recorder) recorder->shutdown();
    return 0;
  }
  constexpr int kCount = 1 << 16;
  auto* data = runtime.allocate<float>(kCount);
  fake::Kernel scale("_ZN3app5scaleEPfi", {{0, 8}, {8, 4}}), shift("_ZL5shiftPf", {{0, 8}});
  auto started = std::chrono::steady_clock::now();
  auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      runtime.launch(begin, end, scale, fake::pack(data, kCount), {kCount / 32, 1, 1}, 10e-6, [&] {
        if (mode == "overhead") {
          for (int k = 0; k < 4096; ++k) data[k] += 1;  // A short kernel, some microseconds.
        } else {
          for (int k = 0; k < kCount; k += 8192) data[k] += 1;
        }
      });
      if (mode == "overhead") continue;
      runtime.launch(begin, end, shift, fake::pack(data), {4, 1, 1}, 5e-6, [] {});
      if (mode == "crash" && i == 10) raise(SIGSEGV);
      if (mode == "interrupted" && i == 10) kill(getppid(), SIGINT), raise(SIGINT);  // As a terminal would.
      if (mode == "killed" && i == 10) raise(SIGKILL);
    }
  };
  run(launches);
  if (mode == "overhead")
    std::printf("%.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
  if (mode == "fork") {
    pid_t child = fork();
    if (child == 0) {
      run(3);
      if (recorder) recorder->shutdown();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  if (mode != "overhead") std::printf("data[0] = %g\n", double(data[0]));
  if (recorder) recorder->shutdown();
  return mode == "fail" ? 7 : 0;
}
