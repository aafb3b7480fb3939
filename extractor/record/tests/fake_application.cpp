// An application for the recorder's tests: argv[1] says how it behaves. Prints a line to stdout, so that tests can see
// that the recorder leaves its output alone.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "extractor/record/tests/fake_runtime.h"

#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
#define COUNTS_ALLOCATIONS 1
namespace {
bool counting = false;
int taken_by_recorder = 0;
}  // namespace
extern "C" void* __libc_malloc(size_t bytes);
/// The recorder's library finds this one before the C library's.
extern "C" void* malloc(size_t bytes) {
  Dl_info from{};
  if (counting && dladdr(__builtin_return_address(0), &from) && std::strstr(from.dli_fname, "libkernelift_record"))
    ++taken_by_recorder;
  return __libc_malloc(bytes);
}
#endif

namespace {

const kl_recorder* recorder = nullptr;

/// `kernelift record`: the parent of our parent, which only watches over us.
pid_t process_that_records() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", getppid());
  std::FILE* stat = std::fopen(path, "r");
  int parent = 0;
  if (!stat || std::fscanf(stat, "%*d (%*[^)]) %*c %d", &parent) != 1) std::abort();
  std::fclose(stat);
  return parent;
}

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
  if (mode == "ended-inside") {  // By a signal's handler, while an image is being taken.
    std::signal(SIGUSR1, [](int) { std::exit(5); });
    std::atexit([] {
      if (recorder) recorder->shutdown();  // As the runtime library does.
    });
    runtime.view.synchronize = [] {
      static int images = 0;
      if (++images == 3) raise(SIGUSR1);
    };
  }
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
      if (mode == "interrupted" && i == 10)
        kill(process_that_records(), SIGINT), raise(SIGINT);  // As a terminal would.
      if (mode == "killed" && i == 10) raise(SIGKILL);
    }
  };
  run(launches);
#ifdef COUNTS_ALLOCATIONS
  if (mode == "counted") {  // What is made once is there by now.
    counting = true;
    run(launches);
    counting = false;
    std::printf("taken from the application's heap: %d\n", taken_by_recorder);
  }
#endif
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
