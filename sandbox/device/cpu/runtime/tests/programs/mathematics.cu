// Device mathematics against the host's, within the errors that CUDA documents.
#include <cuda_runtime.h>
#include <cmath>
#include "check.h"

template <class T>
__global__ void evaluate(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T x = in[i], *o = out + i * 12;
  o[0] = sin(x);
  o[1] = cos(x);
  o[2] = exp(x);
  o[3] = log(fabs(x) + 1);
  o[4] = sqrt(fabs(x));
  o[5] = pow(fabs(x), T(1.5));
  o[6] = tanh(x);
  o[7] = sinh(x);
  o[8] = atan2(x, T(2));
  o[9] = fmod(x, T(0.75));
  o[10] = floor(x) + ceil(x);
  o[11] = atan(x);
}
__global__ void special(float* out) {
  float x = threadIdx.x + 1.0f;
  float s, c;
  sincosf(x, &s, &c);
  out[threadIdx.x * 4] = s * s + c * c;
  out[threadIdx.x * 4 + 1] = __expf(x) / expf(x);
  out[threadIdx.x * 4 + 2] = rsqrtf(x) * sqrtf(x);
  out[threadIdx.x * 4 + 3] = __fdividef(x, 4.0f) * 4 / x + (isnan(0.0f * (1.0f / 0.0f)) && isinf(1.0f / 0.0f) ? 0 : 1) +
                             fminf(x, 0) + __saturatef(-x);
}

template <class T>
void compare(T tolerance) {
  const int n = 200;
  T in[n];
  static T out[n * 12];
  for (int i = 0; i < n; ++i) in[i] = T((i - 100) * 0.0537);
  T *device_in = on_device(in, n), *device_out = on_device<T>(nullptr, n * 12);
  evaluate<<<2, 128>>>(device_in, device_out, n);
  to_host(out, device_out, n * 12);
  for (int i = 0; i < n; ++i) {
    double x = in[i], want[12] = {std::sin(x),
                                  std::cos(x),
                                  std::exp(x),
                                  std::log(std::fabs(x) + 1),
                                  std::sqrt(std::fabs(x)),
                                  std::pow(std::fabs(x), 1.5),
                                  std::tanh(x),
                                  std::sinh(x),
                                  std::atan2(x, 2.0),
                                  std::fmod(x, 0.75),
                                  std::floor(x) + std::ceil(x),
                                  std::atan(x)};
    for (int f = 0; f < 12; ++f) CHECK(std::fabs(out[i * 12 + f] - want[f]) <= tolerance * (1 + std::fabs(want[f])));
  }
}

int main() {
  compare<float>(1e-6f);
  compare<double>(1e-14);
  float out[128], *device_out = on_device<float>(nullptr, 128);
  special<<<1, 32>>>(device_out);
  to_host(out, device_out, 128);
  for (float value : out) CHECK(std::fabs(value - 1) < 1e-5f);
  return PASS();
}
