# Four kernels with a gain each that is too small for the application's measure; with two of them changed, the check fails.
# The measure is a figure that the application computes from its launches (--metric), so no decision of `apply` depends on
# durations: alone no patch is kept, together three are, in one commit.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
{
  echo '#include <cstdio>'
  for k in A B C D; do cat <<C
#define BLOCK_$k 2
// Each block computes a table of its own, so that larger blocks are much faster.
__global__ void kernel_$k(const float* in, float* out, int n) {
  __shared__ float table[64];
  for (int k = threadIdx.x; k < 64; k += BLOCK_$k) table[k] = powf(k / 63.0f, 0.01f);
  __syncthreads();
  int i = blockIdx.x * BLOCK_$k + threadIdx.x;
  if (i < n) out[i] = in[i] * table[63];
}
C
  done
  cat <<'C'
int main(int argc, char**) {
  const int n = 1 << 10;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float)), cudaMalloc(&out, n * sizeof(float));
  cudaMemset(in, 1, n * sizeof(float));
  kernel_A<<<(n + BLOCK_A - 1) / BLOCK_A, BLOCK_A>>>(in, out, n);
  kernel_B<<<(n + BLOCK_B - 1) / BLOCK_B, BLOCK_B>>>(in, out, n);
  kernel_C<<<(n + BLOCK_C - 1) / BLOCK_C, BLOCK_C>>>(in, out, n);
  kernel_D<<<(n + BLOCK_D - 1) / BLOCK_D, BLOCK_D>>>(in, out, n);
  if (cudaDeviceSynchronize()) return 1;
  // A kernel whose blocks are no longer the smallest saves 8 of 1032 units of work.
  int work = 1000;
  const int blocks[] = {BLOCK_A, BLOCK_B, BLOCK_C, BLOCK_D};
  for (int block : blocks) work += block == 2 ? 8 : 0;
  printf("work = %d\n", work);
  return argc > 1 && BLOCK_B != 2 && BLOCK_D != 2;  // The check: B and D do not go together.
}
C
} > app.cu
printf 'app\n.kernelift/\n' > .gitignore
commit_all
ORIGINAL=$(git rev-parse HEAD)
MEASURE=(--metric 'work = ([0-9]+)' --metric-better lower)
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
RUNS=()
for k in A B C D; do
  expect_exit 0 "$KL" extract kernel_$k --out .kernelift/mep/$k
  expect_gain "$KL" tune .kernelift/mep/$k --device cpu --tiers params --evals 4
  RUNS+=(.kernelift/runs/$k-1.klrun)
done

apply() { "$KL" apply --json --device cpu --build 'nvcc -O2 app.cu -o app' --run ./app --check './app check' --time 5 "${MEASURE[@]}" "$@"; }
expect_exit 1 apply "${RUNS[0]}"
[ "$(json 'd["outcome"]')" = not_faster ] || { cat "$WORK/.out"; fail "the gain of one kernel shows alone"; }
[ "$(git rev-parse HEAD)" = "$ORIGINAL" ] || fail "something was committed"

expect_exit 2 apply "${RUNS[@]}" "${RUNS[0]}"
expect_says "several of the runs are of"
expect_exit 0 apply "${RUNS[@]}"
[ "$(json '[k["kept"] for k in d["kernels"]]')" = "[True, True, True, False]" ] || { cat "$WORK/.out"; fail "not the three that go together"; }
expect_says "dropped: it fails together with kernel_A, kernel_B and kernel_C: the application's check fails with the patch"
expect_says "kept together with kernel_B and kernel_C"
[ "$(git rev-list --count "$ORIGINAL"..HEAD)" = 1 ] || fail "not one commit"
[ "$(git branch --show-current)" = kernelift/together-1 ] || fail "kept, but no branch holds the patch"
[ -z "$(git status --porcelain)" ] || fail "apply left uncommitted changes"
for k in A B C; do git diff "$ORIGINAL" HEAD | grep -q "^-#define BLOCK_$k 2" || fail "BLOCK_$k was not changed"; done
git diff "$ORIGINAL" HEAD | grep -q "^-#define BLOCK_D" && fail "BLOCK_D was changed"
git log -1 --format=%B > message
grep -q '^Tune 3 kernels together$' message && grep -q '^kernel_C:$' message || { cat message; fail "the message does not name the kernels"; }
[ "$(grep -c '^Kernelift-Run: [ABC]-1.klrun #' message)" = 3 ] || { cat message; fail "the message does not name the runs"; }
expect_exit 0 ./app check
expect_says "work = 1008"
ls .kernelift/apply/*/certificate-3.json > /dev/null || fail "a kernel has no certificate"
