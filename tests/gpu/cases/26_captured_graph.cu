// Case 26: the application captures a graph from a stream, in relaxed and in global mode and from two threads, while it
// is recorded. A synchronisation or copy by the recorder while a capture is open breaks the application's capture
// (error 901). A launch into a capturing stream is not an execution and must not be counted; the launches of the graph
// must be.
//! launches: captured_step == 8
//! launches: plain_step == 4
//! instances: plain_step >= 1
//! replay: plain_step
//! instances-or-omitted: captured_step (graph)
//! replay-if-captured: captured_step
#include "case.h"

__global__ void captured_step(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * 0.5f + 1;
}

__global__ void plain_step(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += 1;
}

cudaGraphExec_t capture(float* values, int n, cudaStreamCaptureMode mode) {
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  CUDA(cudaStreamBeginCapture(stream, mode));
  captured_step<<<n / 256, 256, 0, stream>>>(values, n);
  captured_step<<<n / 256, 256, 0, stream>>>(values, n);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // Meanwhile the main thread launches kernels.
  CUDA(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t executable;
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  return executable;
}

int main() {
  constexpr int kCount = 1 << 14;
  auto* first = device_array(ramp(kCount));
  auto* second = device_array(ramp(kCount));
  auto* other = device_array(ramp(kCount));
  cudaGraphExec_t relaxed = nullptr, global = nullptr;
  std::thread capturing([&] { relaxed = capture(first, kCount, cudaStreamCaptureModeRelaxed); });
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int step = 0; step < 3; ++step) {
    plain_step<<<kCount / 256, 256, 0, stream>>>(other, kCount);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  capturing.join();
  plain_step<<<kCount / 256, 256, 0, stream>>>(other, kCount);  // Possibly the only launch while no capture is open.
  global = capture(second, kCount, cudaStreamCaptureModeGlobal);
  for (int step = 0; step < 2; ++step) {
    CUDA(cudaGraphLaunch(relaxed, stream));
    CUDA(cudaGraphLaunch(global, stream));
  }
  CUDA(cudaStreamSynchronize(stream));
  auto got = host_copy(first, kCount);
  auto also = host_copy(second, kCount);
  print_hash("first", got);
  float wanted = ramp(kCount)[6];
  for (int step = 0; step < 4; ++step) wanted = wanted * 0.5f + 1;
  return end(got[6] == wanted && also == got && host_copy(other, kCount)[6] == ramp(kCount)[6] + 4);
}
