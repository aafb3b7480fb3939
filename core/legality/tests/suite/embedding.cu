//! original | block 128 | grid ceil_div(b * t * c, 128) | at b=2,t=5,c=9
//! right block: larger | block 256 | grid ceil_div(b * t * c, 256)
//! right jam: two elements of a thread | text two | grid ceil_div(b * t * c, 256)
//! wrong guard: a batch more | `i < b * t * c` -> `i < (b + 1) * t * c` | at b=2, t=5, c=9
//! wrong jam: the rest is lost | text two | grid ceil_div(b * t * c, 256) | at b=2, t=30, c=9 | `if (j < b * t * c)` -> `if (j + 128 < b * t * c)`
//! wrong jam: the table by the other element | text two | grid ceil_div(b * t * c, 256) | at b=3, t=50, c=9 | `index[j / c]` -> `index[j / c + b * t]`
//! values term: another position | `position[i / c % t * c + i % c]` -> `position[i % c]`
__global__ void embed(const int* index, const float* table, const float* position, float* out, int b, int t, int c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < b * t * c) out[i] = table[index[i / c] * c + i % c] + position[i / c % t * c + i % c];
}
//! text two
__global__ void embed(const int* index, const float* table, const float* position, float* out, int b, int t, int c) {
  int i = blockIdx.x * blockDim.x * 2 + threadIdx.x;
  if (i < b * t * c) out[i] = table[index[i / c] * c + i % c] + position[i / c % t * c + i % c];
  int j = i + blockDim.x;
  if (j < b * t * c) out[j] = table[index[j / c] * c + j % c] + position[j / c % t * c + j % c];
}
