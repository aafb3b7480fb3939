// A graph built node by node, its dependencies, its clone, and its parameters changed after it was made executable.
#include <cuda_runtime.h>
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
  int n = 300, two = 2, five = 5, seven = 7, called = 0, host[300] = {};
  int* data = on_device<int>(nullptr, n);
  cudaGraph_t graph, clone;
  CUDA(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t clear, plus, times, back, call;
  cudaMemsetParams zeros = {};
  zeros.dst = data, zeros.elementSize = 4, zeros.width = n, zeros.height = 1;
  CUDA(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zeros));
  void* with_five[] = {&data, &n, &five};
  cudaKernelNodeParams launch = {};
  launch.func = (void*)add, launch.gridDim = dim3(3), launch.blockDim = dim3(128), launch.kernelParams = with_five;
  CUDA(cudaGraphAddKernelNode(&plus, graph, &clear, 1, &launch));
  void* with_two[] = {&data, &n, &two};
  launch.func = (void*)multiply, launch.kernelParams = with_two;
  CUDA(cudaGraphAddKernelNode(&times, graph, nullptr, 0, &launch));
  CUDA(cudaGraphAddDependencies(graph, &plus, &times, nullptr, 1));
  CUDA(cudaGraphAddMemcpyNode1D(&back, graph, &times, 1, host, data, sizeof host, cudaMemcpyDeviceToHost));
  cudaHostNodeParams count = {[](void* p) { ++*static_cast<int*>(p); }, &called};
  CUDA(cudaGraphAddHostNode(&call, graph, nullptr, 0, &count));
  CUDA(cudaGraphAddDependencies(graph, &back, &call, 1));  // CUDA 12's form.
  size_t nodes = 0, roots = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CUDA(cudaGraphGetRootNodes(graph, nullptr, &roots));
  cudaGraphNodeType type;
  CUDA(cudaGraphNodeGetType(times, &type));
  CHECK(nodes == 5 && roots == 1 && type == cudaGraphNodeTypeKernel);

  cudaGraphExec_t exec;
  CUDA(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  CUDA(cudaGraphLaunch(exec, 0));
  CUDA(cudaDeviceSynchronize());
  CHECK(host[0] == 10 && host[299] == 10 && called == 1);
  void* with_seven[] = {&data, &n, &seven};
  launch.func = (void*)add, launch.kernelParams = with_seven;
  CUDA(cudaGraphExecKernelNodeSetParams(exec, plus, &launch));
  CUDA(cudaGraphLaunch(exec, 0));
  CUDA(cudaThreadSynchronize());
  CHECK(host[7] == 14 && called == 2);
  CUDA(cudaGraphClone(&clone, graph));
  cudaGraphExecUpdateResultInfo info;
  CUDA(cudaGraphExecUpdate(exec, clone, &info));
  CUDA(cudaGraphLaunch(exec, 0));
  CUDA(cudaDeviceSynchronize());
  CHECK(info.result == cudaGraphExecUpdateSuccess && host[7] == 10 && called == 3);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  return PASS();
}
