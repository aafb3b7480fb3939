// Case 12e: kernels that run only as nodes of a graph built by hand (not captured), launched three times, with the
// arguments of a node updated in between. cuGraphLaunch makes one callback and no callback per kernel: the profile must
// still count the executions, and the nodes must be captured by running the graph node by node with the updated
// arguments, or refused by name.
//! launches: node_scale == 3
//! launches: node_add == 3
//! launches: outside == 1
//! replay: outside
//! breaks: after-as-before outside
//! instances-or-omitted: node_add (graph)
//! replay-if-captured: node_add
#include "case.h"

__global__ void node_scale(float* values, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= factor;
}

__global__ void node_add(float* values, float add, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += add;
}

__global__ void outside(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] -= 3;
}

int main() {
  int count = 4096;
  float factor = 2, add = 1;
  auto* values = device_array(ramp(size_t(count)));
  cudaGraph_t graph;
  CUDA(cudaGraphCreate(&graph, 0));
  void* scale_arguments[] = {&values, &factor, &count};
  void* add_arguments[] = {&values, &add, &count};
  cudaKernelNodeParams node = {};
  node.gridDim = dim3(16), node.blockDim = dim3(256);
  node.func = reinterpret_cast<void*>(node_scale), node.kernelParams = scale_arguments;
  cudaGraphNode_t first, second;
  CUDA(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &node));
  node.func = reinterpret_cast<void*>(node_add), node.kernelParams = add_arguments;
  CUDA(cudaGraphAddKernelNode(&second, graph, &first, 1, &node));
  cudaGraphExec_t executable;
  CUDA(cudaGraphInstantiate(&executable, graph, 0));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  for (int step = 0; step < 3; ++step) {
    add = float(step);
    CUDA(cudaGraphExecKernelNodeSetParams(executable, second, &node));
    CUDA(cudaGraphLaunch(executable, stream));
  }
  outside<<<16, 256, 0, stream>>>(values, count);  // Its input is the graph's result.
  CUDA(cudaStreamSynchronize(stream));
  auto got = host_copy(values, size_t(count));
  print_hash("values", got);
  float wanted = ramp(size_t(count))[9];
  for (int step = 0; step < 3; ++step) wanted = wanted * 2 + float(step);
  wanted -= 3;
  return end(got[9] == wanted);
}
