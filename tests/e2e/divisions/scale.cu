// A kernel of divisions by values that do not change in its loop: with -use_fast_math they become products, which gains
// so much that no machine's noise hides it.
#include "scale.h"

__global__ void scale(const float* in, float* out, float a, float b, float c, float d, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int k = 0; k < columns; ++k) {
    float v = in[k * rows + row];
    for (int round = 0; round < 4; ++round) v = (((v / a + 1) / b + 1) / c + 1) / d + 1;
    out[k * rows + row] = v;
  }
}

void scale_rows(const float* in, float* out, int rows, int columns) {
  scale<<<(rows + 127) / 128, 128>>>(in, out, 1.5f, 2.5f, 3.5f, 4.5f, rows, columns);
}
