// flags: --extended-lambda -std=c++17
// Templated kernels, functors, device lambdas, device function pointers, virtual functions, recursion, local arrays.
#include <cuda_runtime.h>
#include "check.h"

template <class T, int kUnroll, class Op>
__global__ void transform(T* data, int n, Op op) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * kUnroll;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (i + u < n) data[i + u] = op(data[i + u]);
}
struct Scale {
  int factor;
  __device__ int operator()(int x) const { return x * factor; }
};

typedef int (*Function)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int negate(int x) { return -x; }
__device__ Function table[2] = {twice, negate};
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct Shape {
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ Strip(int l) : length(l) {}
  __device__ int area() const override { return length; }
};

__global__ void dispatch(int* out) {
  int t = threadIdx.x, digits[8];
  out[t] = table[t % 2](t) + fibonacci(t % 10);
  Square square(t);
  Strip strip(t);
  const Shape* shape = t % 3 ? static_cast<const Shape*>(&square) : &strip;
  for (int d = 0, rest = t; d < 8; ++d, rest /= 3) digits[d] = rest % 3;
  out[t] += 100 * shape->area() + 100000 * digits[(t * 5) % 8];
}

int main() {
  const int n = 1000;
  int host[n];
  for (int i = 0; i < n; ++i) host[i] = i;
  int* data = on_device(host, n);
  int shift = 7;
  transform<int, 4><<<4, 64>>>(data, n, Scale{3});
  transform<int, 1><<<4, 256>>>(data, n, [=] __device__(int x) { return x + shift; });
  to_host(host, data, n);
  for (int i = 0; i < n; ++i) CHECK(host[i] == 3 * i + 7);
  dispatch<<<1, 64>>>(data);
  to_host(host, data, 64);
  const int fib[10] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
  for (int t = 0; t < 64; ++t) {
    int digits[8];
    for (int d = 0, rest = t; d < 8; ++d, rest /= 3) digits[d] = rest % 3;
    CHECK(host[t] == (t % 2 ? -t : 2 * t) + fib[t % 10] + 100 * (t % 3 ? t * t : t) + 100000 * digits[t * 5 % 8]);
  }
  return PASS();
}
