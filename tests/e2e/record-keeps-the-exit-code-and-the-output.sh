# The recorder does not disturb the application: its output appears, and its failure is reported.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
int main(int argc, char** argv) {
  float* x;
  cudaMalloc(&x, 4096 * 4);
  cudaMemset(x, 0, 4096 * 4);
  twice<<<16, 256>>>(x, 4096);
  cudaDeviceSynchronize();
  std::printf("the answer\n");
  if (argc > 1) std::abort();
  return 0;
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" record -- ./app
expect_says "the answer"
expect_says "twice"
expect_exit 1 "$KL" record -- ./app crash
expect_says "signal"
expect_exit 3 "$KL" record -- ./no-such-program
expect_says "no-such-program"
