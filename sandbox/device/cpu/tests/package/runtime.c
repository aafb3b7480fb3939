// A C program that links the installed runtime library: the device answers, and memory goes in and out.
#include <stddef.h>

extern int cudaGetDeviceCount(int* count);
extern int cudaMalloc(void** pointer, size_t bytes);
extern int cudaMemcpy(void* to, const void* from, size_t bytes, int kind);

int main(void) {
  int count = 0, in = 42, out = 0;
  void* device = NULL;
  enum { kHostToDevice = 1, kDeviceToHost = 2 };
  return cudaGetDeviceCount(&count) || count != 1 || cudaMalloc(&device, sizeof in) ||
         cudaMemcpy(device, &in, sizeof in, kHostToDevice) || cudaMemcpy(&out, device, sizeof in, kDeviceToHost) ||
         out != in;
}
