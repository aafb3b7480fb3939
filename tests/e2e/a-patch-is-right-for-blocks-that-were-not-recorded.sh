# An application chooses its block by an argument, and launches through a function that is given the kernel. What was
# proven for the recorded block is asked at the call, and launches with other blocks stay the original's.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
#include <vector>
// Takes less time for each thread the more of them a block has, and returns x.
__device__ float spend(float x) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < 30000 / (int)blockDim.x; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 2 * spend(x[i]);
}
template <class Kernel, class... Arguments> void launch(Kernel kernel, int grid, int block, Arguments... arguments) {
  kernel<<<grid, block>>>(arguments...);
  if (cudaGetLastError() != cudaSuccess) exit(1);
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 4096, times = argc > 2 ? atoi(argv[2]) : 20, b = argc > 3 ? atoi(argv[3]) : 64;
  std::vector<float> host(8192);
  for (size_t i = 0; i < host.size(); ++i) host[i] = float(i * 7 % 1000) * 0.25f;
  float* x;
  if (cudaMalloc(&x, host.size() * sizeof(float))) return 1;
  cudaMemcpy(x, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 0; k < times; ++k) launch(twice, n / b, b, x, n);
  if (cudaMemcpy(host.data(), x, host.size() * sizeof(float), cudaMemcpyDeviceToHost)) return 1;
  double sum = 0;
  for (size_t i = 0; i < host.size(); ++i) sum += host[i] * double(i % 13);
  printf("%.2f\n", sum);
}
C
printf 'app\n.kernelift/\n' > .gitignore
commit_all
answers() {
  for n in 192 256 1024 1152 4096; do for b in 1 32 64 96 128; do ./app $n 3 $b; done; done
}
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
answers > "$WORK/before"
expect_gain "$KL" optimize --device cpu --build 'nvcc -O2 app.cu -o app' --run ./app --time 10s
git diff HEAD~1 -- app.cu > "$WORK/patch"
grep -q '^+.*dim3(b).x == 64' "$WORK/patch" || { cat "$WORK/patch" >&2; fail "the patched launch does not ask its block"; }
git log -1 --format=%B | grep -q 'blockDim.x == 64' || fail "the commit does not say for which blocks it is right"
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
answers > "$WORK/after"
diff "$WORK/before" "$WORK/after" || fail "the patched application gives other answers with some blocks"
