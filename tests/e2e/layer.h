// A portability layer in small: kernels are lambdas, which a policy launches through several levels of templates.
#pragma once
#include <type_traits>

#define LAYER_LAMBDA [=] __host__ __device__

namespace layer {

template <int Threads>
struct block_policy {
  static constexpr int threads = Threads;
};

namespace detail {

template <int Threads, class Body>
__global__ __launch_bounds__(Threads) void for_each_kernel(int n, Body body) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) body(i);
}

template <class Policy, class Body>
struct launcher {
  static void run(int n, const Body& body) {
    int blocks = (n + Policy::threads - 1) / Policy::threads;
    for_each_kernel<Policy::threads><<<blocks, Policy::threads>>>(n, body);
  }
};

}  // namespace detail

template <class Policy, class Body>
void parallel_for(int n, Body&& body) {
  detail::launcher<Policy, std::decay_t<Body>>::run(n, body);
}

}  // namespace layer
