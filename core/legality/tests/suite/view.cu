//! original | block 16, 16 | grid ceil_div(arg.a0.o8, 16), ceil_div(arg.a0.o12, 16)
//! right block: wide | block 32, 8 | grid ceil_div(arg.a0.o8, 32), ceil_div(arg.a0.o12, 8)
//! right spelling: without the helper | `to.at(x, y) = from.at(x, y)` -> `to.data[y * to.width + x] = from.data[y * from.width + x]`
//! right spelling: inside() spelled out | `if (!from.inside(x, y)) return;` -> `if (x >= from.width || y >= from.height) return;`
//! wrong guard: rows not checked | `x < width && y < height` -> `x < width` | at arg.a0.o8=16, arg.a0.o12=17, arg.a1.o8=16
//! wrong guard: columns not checked | `x < width && y < height` -> `y < height` | at arg.a0.o8=17, arg.a0.o12=16, arg.a1.o8=17
//! wrong guard: dropped | `if (!from.inside(x, y)) return;` -> `` | at arg.a0.o8=17, arg.a0.o12=17, arg.a1.o8=17
//! wrong shift: x and y exchanged | `to.at(x, y)` -> `to.at(y, x)` | at arg.a0.o8=16, arg.a0.o12=17, arg.a1.o8=17
//! wrong shift: the next row | `from.at(x, y)` -> `from.at(x, y + 1)`
//! values cast: doubled | `= from.at(x, y)` -> `= 2.0f * from.at(x, y)`
__global__ void copy_view(struct View from, struct View to);
struct View {
  float* data;
  int width, height;
  __device__ bool inside(int x, int y) const { return x < width && y < height; }
  __device__ float& at(int x, int y) const { return data[y * width + x]; }
};
__global__ void copy_view(View from, View to) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (!from.inside(x, y)) return;
  to.at(x, y) = from.at(x, y);
}
