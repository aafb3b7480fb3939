// Every way to launch a kernel: runtime, driver with parameters and with a packed buffer, with attributes, cooperative,
// on several streams, and inside a captured graph. The same kernel each time; prints what it counted.
#include <cooperative_groups.h>
#include <cuda.h>

#include "extractor/record/tests/cuda/check.h"

struct __attribute__((packed)) Odd {
  char tag;
  int* counter;
};

__global__ void by_runtime(int* counter) { atomicAdd(counter, 1); }
__global__ void by_struct(Odd odd, short add) { atomicAdd(odd.counter, add); }
__global__ void by_cluster(int* counter) { atomicAdd(counter, 1); }
__global__ void together(int* counter) {
  cooperative_groups::this_grid().sync();
  atomicAdd(counter, 1);
}
__global__ void by_graph(int* counter) { atomicAdd(counter, 1); }
extern "C" __global__ void by_driver(int add, int* counter) { atomicAdd(counter, add); }

int main() {
  int* counter;
  CHECK(cudaMalloc(&counter, 64));
  CHECK(cudaMemset(counter, 0, 64));
  by_runtime<<<1, 1>>>(counter);
  by_struct<<<1, 1>>>(Odd{1, counter}, 2);
  void* arguments[] = {&counter};
  CHECK(cudaLaunchCooperativeKernel(together, dim3(2), dim3(32), arguments, 0, nullptr));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(4), config.blockDim = dim3(32);
  cudaLaunchAttribute attributes[3];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {2, 1, 1};
  attributes[1].id = cudaLaunchAttributePriority;
  attributes[1].val.priority = -1;
  attributes[2].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[2].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attributes, config.numAttrs = 3;
  CHECK(cudaLaunchKernelEx(&config, by_cluster, counter));
  cudaFunction_t function;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(by_driver)));
  int add = 7;
  void* parameters[] = {&add, &counter};
  CHECK_DRIVER(
      cuLaunchKernel(reinterpret_cast<CUfunction>(function), 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  struct {
    int add;
    int* counter;
  } packed{9, counter};
  size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CHECK_DRIVER(cuLaunchKernel(reinterpret_cast<CUfunction>(function), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  by_graph<<<1, 1, 0, stream>>>(counter);
  by_runtime<<<1, 1, 0, stream>>>(counter);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaDeviceSynchronize());
  int count;
  CHECK(cudaMemcpy(&count, counter, sizeof count, cudaMemcpyDeviceToHost));
  std::printf("counted %d\n", count);
  return count == 1 + 2 + 64 + 128 + 7 + 9 + 6 ? 0 : 1;
}
