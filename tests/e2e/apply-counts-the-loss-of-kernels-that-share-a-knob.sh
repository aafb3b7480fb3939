# One macro is the block size of three kernels. With a larger one `gains` becomes faster and `loses` much slower: apply finds
# that out from the MEP of `loses` and builds nothing. Of a run without `loses` nothing is known of it, which only the user
# can take for granted. A constant of its own `gains` cannot have, because a function that it calls uses the macro, too.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > app.cu <<'C'
#include <cstdlib>
#define BLOCK 32
// Takes time in proportion to `iterations` and returns x, so that BLOCK affects the duration but not the results.
__device__ float spend(float x, int iterations) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < iterations; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
__device__ int rounds() { return 40000 / BLOCK; }
__global__ void gains(const float* in, float* out, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) out[i] += spend(in[i], rounds());
}
__global__ void loses(const float* in, float* out, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) out[i] += spend(in[i], BLOCK * (BLOCK < 64 ? BLOCK : 64));
}
__global__ void follows(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += spend(in[i], 1000);
}
int main(int argc, char** argv) {
  const int n = 1 << 11, times = argc > 1 ? atoi(argv[1]) : 40;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float)), cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 1, n * sizeof(float)), cudaMemset(out, 0, n * sizeof(float));
  for (int i = 0; i < 100; ++i) gains<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
  for (int i = 0; i < times; ++i) loses<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
  for (int i = 0; i < times; ++i) follows<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, n);
  return cudaDeviceSynchronize();
}
C
printf 'app\nbuilds\n.kernelift/\n' > .gitignore
commit_all
BUILD='nvcc -O2 app.cu -o app && echo built >> builds'
expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract gains --out .kernelift/mep/gains
expect_gain "$KL" tune .kernelift/mep/gains --device cpu --tiers params --evals 8
expect_says "BLOCK is also used by loses and follows"

apply() { "$KL" apply gains --json --device cpu --build "$BUILD" --run "./app ${1:-}" --check "./app ${1:-}"; }
rm builds
expect_exit 1 apply
expect_says "loses uses knobs that the candidates change"
expect_says "follows uses knobs that the candidates change"
expect_says "predicted for the application is 0."
[ ! -e builds ] || fail "the application was built"

expect_exit 0 "$KL" record -- ./app 0
expect_exit 1 apply 0
expect_says "is right with the new values is not known"
apply() { "$KL" apply gains --no-guards --json --device cpu --build "$BUILD" --run "./app $1" --check "./app $1"; }
expect_gain apply 0
expect_says "BLOCK is also used by loses and follows: the patch changes all of them"
[ "$(json '[one["speedup"] for one in d["predicted"]["others"]]')" = "[None]" ] || fail "a kernel that the run does not use was counted"
