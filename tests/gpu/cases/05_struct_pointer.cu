// Case 5: pointers inside a structure passed by value, one of them at an offset that is not a multiple of 8 (packed). A
// recorder that looks for addresses only at multiples of 8, or only at whole parameters, misses it. The damage removes
// the memory that was found through pointers inside an argument.
//! instances: blend >= 1
//! replay: blend
//! breaks: drop-reached-inside-argument
#include "case.h"

#pragma pack(push, 1)
struct Packed {
  char mode;
  const float* left;
  short pad;
  const float* right;
};
#pragma pack(pop)

struct Plain {
  int n;
  float* out;
};

__global__ void blend(Plain plain, Packed packed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= plain.n) return;
  plain.out[i] = packed.mode == 'a' ? packed.left[i] + 2 * packed.right[i] : 0;
}

int main() {
  constexpr int kCount = 5000;
  Packed packed{'a', device_array(ramp(kCount)), 3, device_array(ramp(kCount, 2))};
  Plain plain{kCount, device_array(std::vector<float>(kCount, 0.0f))};
  for (int step = 0; step < 3; ++step) blend<<<20, 256>>>(plain, packed);
  auto got = host_copy(plain.out, kCount);
  print_hash("out", got);
  return end(got[100] == ramp(kCount)[100] + 2 * ramp(kCount, 2)[100]);
}
