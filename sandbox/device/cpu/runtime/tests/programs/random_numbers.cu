// cuRAND's generators for device code: first values that are published elsewhere, and jumps that end where steps end.
// needs: curand_kernel.h of the CUDA toolkit
#include <cstdint>

#include "check.h"
#include "curand_kernel.h"

struct First {
  float xorwow;
  uint4 philox;
  double mrg32k3a;
};

__global__ void first_values(First* out) {
  curandState xorwow;
  curandStatePhilox4_32_10_t philox;
  curandStateMRG32k3a mrg32k3a;
  curand_init(1234, 0, 0, &xorwow);
  curand_init(0, 0, 0, &philox);
  curand_init(0, 0, 0, &mrg32k3a);
  *out = {curand_uniform(&xorwow), curand4(&philox), curand_uniform_double(&mrg32k3a)};
}

template <class State>
__global__ void jump(bool* same) {
  State stepped, jumped, begun;
  curand_init(42, threadIdx.x, 0, &stepped);
  jumped = stepped;
  for (unsigned i = 0; i < 3 * threadIdx.x; ++i) curand(&stepped);
  skipahead(3ull * threadIdx.x, &jumped);
  curand_init(42, threadIdx.x, 3 * threadIdx.x, &begun);
  const unsigned value = curand(&stepped);
  same[threadIdx.x] = value == curand(&jumped) && value == curand(&begun);
}

__global__ void normals(float* sums) {
  curandState state;
  curand_init(7, threadIdx.x, 0, &state);
  float sum = 0, squares = 0;
  for (int i = 0; i < 1000; ++i) {
    const float value = curand_normal(&state);
    sum += value, squares += value * value;
  }
  atomicAdd(&sums[0], sum), atomicAdd(&sums[1], squares);
}

template <class State>
bool jumps_are_steps() {
  constexpr int kThreads = 64;
  bool* same;
  CUDA(cudaMallocManaged(&same, kThreads));
  jump<State><<<1, kThreads>>>(same);
  CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < kThreads; ++i) CHECK(same[i]);
  return true;
}

int main() {
  First* first;
  float* sums;
  CUDA(cudaMallocManaged(&first, sizeof *first));
  CUDA(cudaMallocManaged(&sums, 2 * sizeof *sums));
  sums[0] = sums[1] = 0;
  first_values<<<1, 1>>>(first);
  normals<<<1, 128>>>(sums);
  CUDA(cudaDeviceSynchronize());
  CHECK(std::abs(first->xorwow - 0.145468f) < 1e-6f);
  // Random123's known answer for counter 0 and key 0; L'Ecuyer's for his default seeds.
  const uint4 expected = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  CHECK(first->philox.x == expected.x && first->philox.y == expected.y && first->philox.z == expected.z &&
        first->philox.w == expected.w);
  CHECK(std::abs(first->mrg32k3a - 0.12701112204657714) < 1e-9);
  CHECK(jumps_are_steps<curandState>() && jumps_are_steps<curandStatePhilox4_32_10_t>() &&
        jumps_are_steps<curandStateMRG32k3a>());
  CHECK(std::abs(sums[0] / 128000) < 0.01 && std::abs(sums[1] / 128000 - 1) < 0.02);
  return PASS();
}
