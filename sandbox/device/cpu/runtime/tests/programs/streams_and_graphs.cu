// Streams, events, host functions, a captured graph replayed, per-thread streams, work from several host threads.
#include <cuda_runtime.h>
#include <thread>
#include <vector>
#include "check.h"

__global__ void add(int* p, int n, int v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += v;
}
__global__ void multiply(int* p, int n, int v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= v;
}

int main() {
  const int n = 1000;
  int *host, called = 0;
  CUDA(cudaMallocHost(&host, n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = 1;
  int* data = on_device(host, n);
  cudaStream_t a, b;
  cudaEvent_t start, middle, stop;
  CUDA(cudaStreamCreate(&a));
  CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreateWithFlags(&middle, cudaEventDisableTiming));
  CUDA(cudaEventCreate(&stop));
  CUDA(cudaEventRecord(start, a));
  add<<<8, 128, 0, a>>>(data, n, 1);
  CUDA(cudaEventRecord(middle, a));
  CUDA(cudaStreamWaitEvent(b, middle, 0));
  multiply<<<8, 128, 0, b>>>(data, n, 5);
  CUDA(cudaLaunchHostFunc(b, [](void* p) { ++*static_cast<int*>(p); }, &called));
  CUDA(cudaMemcpyAsync(host, data, n * sizeof(int), cudaMemcpyDeviceToHost, b));
  CUDA(cudaStreamSynchronize(b));
  CUDA(cudaEventRecord(stop, b));
  CUDA(cudaEventSynchronize(stop));
  CHECK(called == 1 && host[0] == 10 && host[n - 1] == 10);
  float ms = -1;
  CUDA(cudaEventElapsedTime(&ms, start, stop));
  CHECK(ms > 0 && ms < 10000);

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  add<<<8, 128, 0, a>>>(data, n, 2);
  multiply<<<8, 128, 0, a>>>(data, n, 2);
  CUDA(cudaStreamEndCapture(a, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CUDA(cudaGraphLaunch(exec, a));
  CUDA(cudaStreamSynchronize(a));
  to_host(host, data, n);
  CHECK(host[5] == ((10 + 2) * 2 + 2) * 2 * 2 + 4);

  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([=] {
      for (int i = 0; i < 50; ++i) add<<<8, 128, 0, cudaStreamPerThread>>>(data, n, 1);
      cudaStreamSynchronize(cudaStreamPerThread);
    });
  for (std::thread& thread : threads) thread.join();
  int before = host[5];
  to_host(host, data, n);
  CHECK(host[5] == before + 200);
  return PASS();
}
