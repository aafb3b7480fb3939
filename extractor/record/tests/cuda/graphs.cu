// A graph with a fill, two branches and copies, captured from a stream and launched twelve times; one node's argument
// is updated before every launch. argv[1]: "kept" as it stands, "destroyed" after the graph itself was destroyed,
// "hosting" with a host function in it, "child" as the child of another graph. Checks every launch's result itself.
#include <string>

#include "extractor/record/tests/cuda/check.h"

constexpr int kCount = 1 << 16, kBlock = 256, kLaunches = 12;

__global__ void scale(int* values, int factor) { values[blockIdx.x * kBlock + threadIdx.x] *= factor; }
__global__ void add(int* values, int more) { values[blockIdx.x * kBlock + threadIdx.x] += more; }

int host_calls = 0;

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "kept";
  int *one, *two, *host = new int[kCount], more = 0;
  CHECK(cudaMalloc(&one, kCount * sizeof(int)));
  CHECK(cudaMalloc(&two, kCount * sizeof(int)));
  CHECK(cudaMemset(one, 0, kCount * sizeof(int)));
  cudaStream_t stream, side;
  cudaEvent_t split, join;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&split, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cudaGraph_t graph, outer;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMemset2DAsync(one, sizeof(int), 1, 1, kCount, stream));
  scale<<<kCount / kBlock, kBlock, 0, stream>>>(one, 2);
  CHECK(cudaMemcpyAsync(two, one, kCount * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaEventRecord(split, stream));
  CHECK(cudaStreamWaitEvent(side, split));
  add<<<kCount / kBlock, kBlock, 0, stream>>>(one, more);
  add<<<kCount / kBlock, kBlock, 0, side>>>(two, 100);
  if (mode == "hosting") CHECK(cudaLaunchHostFunc(side, [](void*) { ++host_calls; }, nullptr));
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(stream, join));
  CHECK(cudaMemcpyAsync(host, one, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  auto* nodes = new cudaGraphNode_t[count];
  CHECK(cudaGraphGetNodes(graph, nodes, &count));
  cudaGraphNode_t wanted = nullptr;
  cudaKernelNodeParams parameters{};
  for (size_t i = 0; i < count; ++i) {
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(nodes[i], &type));
    if (type != cudaGraphNodeTypeKernel) continue;
    cudaKernelNodeParams found{};
    CHECK(cudaGraphKernelNodeGetParams(nodes[i], &found));
    if (*static_cast<int*>(found.kernelParams[1]) == 0) wanted = nodes[i], parameters = found;
  }
  cudaGraphExec_t executable;
  if (mode == "child") {
    cudaGraphNode_t child;
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
    CHECK(cudaGraphInstantiate(&executable, outer, 0));
  } else {
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
  }
  void* arguments[] = {&one, &more};
  parameters.kernelParams = arguments;
  bool updates = mode == "kept" || mode == "hosting";
  if (mode == "destroyed") CHECK(cudaGraphDestroy(graph));
  for (int step = 0; step < kLaunches; ++step) {
    more = updates ? step : 0;
    if (updates) CHECK(cudaGraphExecKernelNodeSetParams(executable, wanted, &parameters));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    int got = 0;
    CHECK(cudaMemcpy(&got, two + 9, sizeof got, cudaMemcpyDeviceToHost));
    if (host[9] != 2 + more || host[kCount - 1] != 2 + more || got != 102) {
      std::printf("launch %d: %d %d\n", step, host[9], got);
      return 1;
    }
  }
  std::printf("%d launches, %d host calls\n", kLaunches, host_calls);
  return mode == "hosting" && host_calls != kLaunches ? 2 : 0;
}
