// Managed memory, and a __managed__ variable, shared by host and device without copies.
#include <cuda_runtime.h>
#include "check.h"

struct Node { int value; Node* next; };
__managed__ int visits = 5;
__managed__ float samples[16];

__global__ void walk(Node* list, int* sum) {
  for (Node* n = list; n; n = n->next) { *sum += n->value; visits += 1; }
  samples[threadIdx.x] = threadIdx.x * 0.5f;
}

int main() {
  Node* list = nullptr;
  for (int i = 1; i <= 10; ++i) {
    Node* node;
    CUDA(cudaMallocManaged(&node, sizeof *node));
    *node = {i, list};
    list = node;
  }
  int* sum;
  CUDA(cudaMallocManaged(&sum, sizeof *sum));
  *sum = 0;
  visits += 1;
  walk<<<1, 1>>>(list, sum);
  CUDA(cudaDeviceSynchronize());
  CHECK(*sum == 55);
  CHECK(visits == 16);
  samples[3] = 7;
  walk<<<1, 1>>>(nullptr, sum);
  CUDA(cudaDeviceSynchronize());
  CHECK(samples[0] == 0 && samples[3] == 7);
  return PASS();
}
