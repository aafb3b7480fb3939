// What a graph's launch costs the application: argv[1] small kernels in a chain, launched as one graph argv[2] times in
// a row. Prints nanoseconds per launch until the call returns, the best of five rows; the device is idle when one
// begins.
#include <algorithm>
#include <chrono>

#include "extractor/record/tests/cuda/check.h"

__global__ void link(int* values, int more) { values[threadIdx.x] += more; }

int main(int argc, char** argv) {
  int nodes = argc > 1 ? std::atoi(argv[1]) : 10, launches = argc > 2 ? std::atoi(argv[2]) : 500;
  int* values;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaMalloc(&values, 32 * sizeof(int)));
  CHECK(cudaMemset(values, 0, 32 * sizeof(int)));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < nodes; ++i) link<<<1, 32, 0, stream>>>(values, i);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  double best = 1e30;
  for (int round = 0; round < 6; ++round) {  // The first only warms up.
    auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) CHECK(cudaGraphLaunch(executable, stream));
    double each = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / launches * 1e9;
    if (round > 0) best = std::min(best, each);
    CHECK(cudaStreamSynchronize(stream));
  }
  int sum = 0;
  CHECK(cudaMemcpy(&sum, values, sizeof sum, cudaMemcpyDeviceToHost));
  std::printf("%.1f\n", best);
  return sum == 6 * launches * (nodes * (nodes - 1) / 2) ? 0 : 1;
}
