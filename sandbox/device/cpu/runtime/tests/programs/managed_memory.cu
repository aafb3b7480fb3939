// Managed memory, shared by host and device without copies: a linked list that both follow.
#include <cuda_runtime.h>
#include "check.h"

struct Node {
  int value;
  Node* next;
};
__global__ void walk(Node* list, int* sum, Node* extra) {
  Node* last = nullptr;
  for (Node* n = list; n; n = n->next) {
    *sum += n->value;
    n->value *= 2;
    last = n;
  }
  if (last) last->next = extra;
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
  Node* extra;
  CUDA(cudaMallocManaged(&extra, sizeof *extra));
  *extra = {1000, nullptr};
  walk<<<1, 1>>>(list, sum, extra);
  CUDA(cudaDeviceSynchronize());
  CHECK(*sum == 55);
  int total = 0;
  for (Node* n = list; n; n = n->next) total += n->value;
  CHECK(total == 1110);
  cudaPointerAttributes attributes;
  CUDA(cudaPointerGetAttributes(&attributes, list));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == attributes.hostPointer);
  CUDA(cudaFree(sum));
  return PASS();
}
