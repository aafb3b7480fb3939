# An application launches through a macro of its own, whose definition spells grid and block. The constant that it names
# is tuned, and the patch changes it where it is defined, for all launches that follow it.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
#include <vector>
#define THREADS 16
#define BLOCKS(n) (((n) + THREADS - 1) / THREADS)
#define LAUNCH(kernel, n, ...)                      \
  do {                                              \
    kernel<<<BLOCKS(n), THREADS>>>(__VA_ARGS__);    \
    if (cudaGetLastError() != cudaSuccess) exit(1); \
  } while (0)
// Takes less time for each thread the more of them a block has, and returns x.
__device__ float spend(float x) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < 8000 / (int)blockDim.x; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 2 * spend(x[i]);
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5000;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = float(i * 7 % 1000) * 0.25f;
  float* x;
  if (cudaMalloc(&x, n * sizeof(float))) return 1;
  cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 0; k < 20; ++k) {
#ifdef PLAIN
    twice<<<BLOCKS(n), THREADS>>>(x, n);
#else
    LAUNCH(twice, n, x, n);
#endif
  }
  if (cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost)) return 1;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += host[i] * double(i % 13);
  printf("%.2f\n", sum);
}
C
printf 'app\n.kernelift/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
answers() {
  for n in 1 17 1000 5000; do ./app $n; done
}
answers > "$WORK/before"
expect_gain "$KL" optimize --device cpu --build 'nvcc -O2 app.cu -o app' --run ./app --time 10s
git diff HEAD^ HEAD -- app.cu | grep -q '^+#define THREADS [0-9]' || { git diff HEAD^ HEAD; fail "the constant is not changed where it is defined"; }
answers | cmp - "$WORK/before" || fail "the patched application has other answers"
