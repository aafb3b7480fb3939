// A process may end while kernels run: by exit() in main, or in a signal's handler that came in the middle of anything,
// the heap's own code among others. So the runtime gives nothing back then: it would wait for ever for the heap's lock.
// flags: -Xcompiler -rdynamic
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "check.h"

int freed = 0;
bool ending = false;

extern "C" void __libc_free(void* memory);
extern "C" void free(void* memory) {
  if (ending && memory) ++freed;
  __libc_free(memory);
}

struct Last {
  ~Last() {
    if (freed > 6) _exit(6);  // The C library frees some by itself.
  }
} last;

__global__ void busy(float* data, int rounds) {
  float value = data[threadIdx.x];
  for (int i = 0; i < rounds; ++i) value = value * 0.999f + 1;
  data[threadIdx.x] = value;
}

[[noreturn]] void end() {
  ending = true;
  std::exit(5);
}

int child(bool by_signal, int microseconds) {
  float* data;
  CUDA(cudaMalloc(&data, 256 * sizeof(float)));
  CUDA(cudaMemset(data, 0, 256 * sizeof(float)));
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  if (!by_signal) {
    busy<<<64, 256, 0, stream>>>(data, 20000);
    usleep(microseconds);  // It has begun.
    end();
  }
  std::signal(SIGALRM, [](int) { end(); });
  ualarm(microseconds, 0);
  for (;;) busy<<<64, 256>>>(data, 10);
}

int main() {
  for (int i = 0; i < 8; ++i) {
    pid_t pid = fork();
    if (pid == 0) return child(i % 2, 20000 + 5000 * i);
    int status = 0;
    bool ended = false;
    for (int wait = 0; wait < 3000 && !ended; ++wait)
      ended = waitpid(pid, &status, WNOHANG) == pid || usleep(10000) != 0;
    if (!ended) kill(pid, SIGKILL), waitpid(pid, &status, 0);
    CHECK(ended && WIFEXITED(status) && WEXITSTATUS(status) == 5);
  }
  return PASS();
}
