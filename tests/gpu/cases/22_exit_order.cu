// Case 22: the program launches kernels in an atexit handler and in a global destructor, resets the device in between, and ends by
// exit() from another thread with a code of its own. A recorder whose own statics are gone by then crashes here.
//! exit: 7
//! launches: late_step >= 3
//! instances: late_step >= 1
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
  ~AtTheEnd() { step("destructor"); }
};
static AtTheEnd at_the_end;

int main() {
  step("main");
  CUDA(cudaDeviceReset());
  std::atexit([] { step("atexit"); });
  std::thread([] { std::exit(7); }).join();
  return 1;
}
