// Case 4: T** and linked structures. The arguments point to an array of pointers and to the head of a list; the data is
// one and many indirections away. If only the arguments' own allocations are captured, the replay has no data. The
// damage removes all memory that was found through pointers in memory.
//! instances: gather >= 1
//! instances: walk >= 1
//! replay: gather
//! replay: walk
//! breaks: drop-reached-through-memory
#include "case.h"

struct Node {
  float value;
  Node* next;
};

__global__ void gather(float** rows, int count, int width, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= width) return;
  float sum = 0;
  for (int r = 0; r < count; ++r) sum += rows[r][i];
  out[i] = sum;
}

__global__ void walk(Node* head, float* out) {
  float sum = 0;
  for (Node* node = head; node; node = node->next) sum += node->value, node->value += 1;
  *out = sum;
}

int main() {
  constexpr int kRows = 12, kWidth = 1000, kNodes = 20;
  std::vector<float*> rows;
  for (int r = 0; r < kRows; ++r) rows.push_back(device_array(std::vector<float>(kWidth, float(r))));
  auto* table = device_array(rows);
  auto* out = device_array(std::vector<float>(kWidth, 0.0f));
  gather<<<4, 256>>>(table, kRows, kWidth, out);
  auto got = host_copy(out, kWidth);

  Node* head = nullptr;
  for (int k = 0; k < kNodes; ++k) head = device_array(std::vector<Node>{{float(k), head}});
  auto* sum = device_array(std::vector<float>{0});
  walk<<<1, 1>>>(head, sum);
  float first = host_copy(sum, 1)[0];
  walk<<<1, 1>>>(head, sum);
  float second = host_copy(sum, 1)[0];
  print_hash("out", got);
  std::printf("%g %g\n", first, second);
  return end(got[999] == 66 && first == 190 && second == 210);
}
