// Case 6: two 32-bit integers that together look like an address. Here they are made from a real address, so every scan
// takes them for a pointer. That may cause an unnecessary capture, but they must never be relocated: the sum below
// would change.
//! instances: mix >= 1
//! replay: mix
//! breaks: after-as-before
#include "case.h"

struct Pair {
  uint32_t low, high;
};

__global__ void mix(Pair* pairs, unsigned long long* out, int n, Pair by_value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] += uint64_t(pairs[i].low) * 3 + pairs[i].high + by_value.low;
  pairs[i].low ^= pairs[i].high;
}

int main() {
  constexpr int kCount = 3000;
  auto* unrelated = device_array(std::vector<float>(1 << 20, 1.0f));
  uint64_t looks_like = reinterpret_cast<uint64_t>(unrelated) + 4096;
  Pair pair{uint32_t(looks_like), uint32_t(looks_like >> 32)};
  auto* pairs = device_array(std::vector<Pair>(kCount, pair));
  auto* out = device_array(std::vector<unsigned long long>(kCount, 1));
  mix<<<12, 256>>>(pairs, out, kCount, pair);
  auto got = host_copy(out, kCount);
  // The address differs from run to run: only whether the sum is right is printed.
  return end(got[2999] == 1 + uint64_t(pair.low) * 3 + pair.high + pair.low);
}
