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

// As an application that is linked with NVRTC refers to it; null where nothing stands before it.
extern "C" {
__attribute__((weak)) int nvrtcCreateProgram(void**, const char*, const char*, int, const char* const*,
                                             const char* const*);
__attribute__((weak)) int nvrtcAddNameExpression(void*, const char*);
__attribute__((weak)) int nvrtcCompileProgram(void*, int, const char* const*);
__attribute__((weak)) int nvrtcDestroyProgram(void**);
}

namespace {

/// Compiles a text at run time: by the functions that the loader found, or by those that dlsym gives.
int compile_at_run_time(const char* library, bool linked) {
  void* nvrtc = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!nvrtc) return 77;
  auto create =
      linked ? nvrtcCreateProgram : reinterpret_cast<decltype(&nvrtcCreateProgram)>(dlsym(nvrtc, "nvrtcCreateProgram"));
  auto name = linked ? nvrtcAddNameExpression
                     : reinterpret_cast<decltype(&nvrtcAddNameExpression)>(dlsym(nvrtc, "nvrtcAddNameExpression"));
  auto compile = linked ? nvrtcCompileProgram
                        : reinterpret_cast<decltype(&nvrtcCompileProgram)>(dlsym(nvrtc, "nvrtcCompileProgram"));
  auto destroy = linked ? nvrtcDestroyProgram
                        : reinterpret_cast<decltype(&nvrtcDestroyProgram)>(dlsym(nvrtc, "nvrtcDestroyProgram"));
  if (!create || !name || !compile || !destroy || dlsym(nvrtc, "nvrtcNoSuchFunction")) return 3;
  void* program = nullptr;
  const char* text =
      "#include \"two.h\"\ntemplate <class T> __global__ void twice(T* p) { p[threadIdx.x] *= T(TWO); }\n";
  const char *headers[] = {"#define TWO 2\n"}, *names[] = {"two.h"};
  if (create(&program, text, "twice.cu", 1, headers, names) != 0) return 4;
  if (name(program, "twice<float>") != 0) return 5;
  const char* options[] = {"--gpu-architecture=sm_90", "-std=c++17"};
  if (compile(program, 2, options) != 0) return 6;
  if (destroy(&program) != 0) return 7;
  if (create(&program, "this is no C++", "wrong.cu", 0, nullptr, nullptr) != 0) return 8;
  if (compile(program, 0, nullptr) == 0) return 9;
  return destroy(&program);
}

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
  int launches = argc > 2 && !mode.starts_with("nvrtc") ? std::atoi(argv[2]) : 20;
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
  if (mode == "nvrtc" || mode == "nvrtc-linked")
    if (int failed = compile_at_run_time(argv[2], mode == "nvrtc-linked"); failed != 0) return failed;
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
  if (mode != "ranks") run(launches);
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
  if (mode == "ranks") {  // As mpirun does: ranks 0 to 3, each with one launch more than the one before.
    for (int rank = 0; rank < 4; ++rank) {
      if (fork() != 0) continue;
      char number[] = {char('0' + rank), 0};
      setenv("OMPI_COMM_WORLD_RANK", number, 1);
      run(10 + rank);
      if (recorder) recorder->shutdown();
      _exit(0);
    }
    while (wait(nullptr) > 0) {}
    return 0;  // A launcher: its own launches end without a word.
  }
  if (mode != "overhead") std::printf("data[0] = %g\n", double(data[0]));
  if (recorder) recorder->shutdown();
  return mode == "fail" ? 7 : 0;
}
