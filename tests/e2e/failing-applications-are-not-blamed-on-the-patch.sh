# An application that does not build, crashes while it is recorded, never launches the requested kernel, or fails its own
# check before any patch: the message says so, the exit code is 1, and nothing is changed.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
__global__ void twice(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}
__global__ void never(float* x) { x[0] = 1; }
int main(int argc, char** argv) {
  float* x;
  cudaMalloc(&x, 1 << 20);
  cudaMemset(x, 1, 1 << 20);
  for (int i = 0; i < 20; ++i) twice<<<1024, 256>>>(x, 1 << 18);
  cudaDeviceSynchronize();
  if (argc > 1 && argv[1][0] == 'n') never<<<1, 1>>>(x);
  if (argc > 1 && argv[1][0] == 'c') std::abort();
  if (argc > 1 && argv[1][0] == 's') *(volatile int*)nullptr = 1;
  return argc > 1 ? 7 : 0;
}
C
printf 'app\n.kernelift/\n.out\n.err\n' > .gitignore
commit_all
HEAD_BEFORE=$(git rev-parse HEAD)
BUILD='nvcc -O2 app.cu -o app'
untouched() { [ -z "$(git status --porcelain)" ] && [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] || fail "something changed"; }

expect_exit 1 "$KL" optimize --device cpu --build 'nvcc -O2 missing.cu -o app' --run ./app
expect_says "build failed"; untouched
expect_exit 1 "$KL" optimize --device cpu --build "$BUILD" --run ./app --check './app wrong'
expect_says "check fails before any patch"; untouched
expect_exit 1 "$KL" optimize --device cpu --build "$BUILD" --run './app crash'
expect_says "signal"; untouched

expect_exit 0 "$KL" build --device cpu -- sh -c "$BUILD"
expect_exit 0 "$KL" scan
# Crashes and failures of the application are reported as its own, not the recorder's, with the kernels seen until then.
for how in crash segv; do
  expect_exit 1 "$KL" record -- ./app $how
  expect_says "signal"; expect_says "twice"
done
expect_exit 1 "$KL" record -- ./app wrong
expect_says "7"
expect_exit 0 "$KL" record -- ./app
expect_exit 1 "$KL" extract never
expect_says "never"; expect_says "record"; expect_brief 3

expect_exit 0 "$KL" extract twice --out .kernelift/mep/k
expect_exit_in "0 1" "$KL" tune .kernelift/mep/k --device cpu --evals 20 --tiers source,params
RUN=$(ls .kernelift/runs/*.klrun | head -1)
expect_exit_in "1 4" "$KL" apply "$RUN" --device cpu --build "$BUILD" --run ./app --check './app wrong'
# The kernel is so small that noise may look like a gain of it, which is then too small for the application.
[ "$CODE" = 4 ] || grep -q "check fails before any patch\|nothing in this run\|held up\|even twice the gain" "$WORK/.err" "$WORK/.out" ||
  { cat "$WORK/.err" "$WORK/.out"; fail "no reason was given"; }
untouched
expect_exit_in "1 4" "$KL" apply "$RUN" --device cpu --build false --run ./app
untouched
