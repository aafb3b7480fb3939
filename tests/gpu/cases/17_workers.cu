// Case 17: worker processes, one created by fork before CUDA is used, one by fork and exec of the program itself. Each
// launches kernels; the recordings must not be mixed, no process may write into another's files, and the parent's
// result and exit code must not change.
//! record: --instances 2
//! instances: worker_step >= 1
//! replay: worker_step
//! breaks: after-as-before
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"

__global__ void worker_step(float* values, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * by + 1;
}

bool work(float by) {
  auto* values = device_array(ramp(3000));
  for (int step = 0; step < 3; ++step) worker_step<<<12, 256>>>(values, 3000, by);
  auto got = host_copy(values, 3000);
  float wanted = ramp(3000)[5];
  for (int step = 0; step < 3; ++step) wanted = wanted * by + 1;
  return got[5] == wanted;
}

int main(int count, char** arguments) {
  if (count > 1) return work(4) ? 0 : 1;
  pid_t forked = fork();
  if (forked == 0) {
    bool right = work(2);
    std::exit(right ? 0 : 1);
  }
  pid_t replaced = fork();
  if (replaced == 0) {
    execl("/proc/self/exe", arguments[0], "worker", static_cast<char*>(nullptr));
    _exit(127);
  }
  bool right = work(3);
  int first = -1, second = -1;
  waitpid(forked, &first, 0);
  waitpid(replaced, &second, 0);
  std::printf("workers %d %d\n", WEXITSTATUS(first), WEXITSTATUS(second));
  return end(right && first == 0 && second == 0);
}
