// Case 22: the program resets the device, launches kernels again in an atexit handler, and ends by exit() from another
// thread with its own exit code; a global destructor prints after the CUDA runtime has been shut down. A recorder whose
// statics are destroyed before the last launch crashes, and one that waits for its threads in the wrong order never
// ends.
//! exit: 7
//! launches: late_step >= 2
//! instances: late_step >= 2
//! replay: late_step
//! breaks: after-as-before
#include "case.h"

__global__ void late_step(int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 3 + 1;
}

void step(const char* when) {
  auto* values = device_array(std::vector<int>(2000, 4));
  late_step<<<8, 256>>>(values, 2000);
  std::printf("%s %d\n", when, host_copy(values, 2000)[1999]);
  std::fflush(stdout);
}

struct AtTheEnd {
  ~AtTheEnd() { std::printf("destructor\n"); }
};
static AtTheEnd at_the_end;

int main() {
  step("main");
  CUDA(cudaDeviceReset());
  std::atexit([] { step("atexit"); });
  std::thread([] { std::exit(7); }).join();
  return 1;
}
