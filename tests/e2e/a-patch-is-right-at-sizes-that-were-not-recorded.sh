# A kernel without a bounds guard, whose application launches whole blocks: with larger blocks it is faster and wrong at
# most sizes, without a fault, because all memory is one pool. The patch asks for the sizes at which it is right, and the
# application gives the same answers at every size.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
#include <vector>
#define B 64
// Takes less time for each thread the more of them a block has, and returns x.
__device__ float spend(float x) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < 30000 / (int)blockDim.x; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
__global__ void diff(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool last = i == n - 1;
  if (last) out[i] = 0.0f; else out[i] = spend(x[i + 1] - x[i]);
}
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 4096, times = argc > 2 ? atoi(argv[2]) : 20;
  const size_t pool_size = 4 * 4096 + 8192;
  std::vector<float> host(pool_size);
  for (size_t i = 0; i < pool_size; ++i) host[i] = float(i * 7 % 1000) * 0.25f;
  float* pool;
  if (cudaMalloc(&pool, pool_size * sizeof(float))) return 1;
  cudaMemcpy(pool, host.data(), pool_size * sizeof(float), cudaMemcpyHostToDevice);
  for (int k = 0; k < times; ++k) diff<<<(n + B - 1) / B, B>>>(pool, pool + n, n);
  if (cudaMemcpy(host.data(), pool, pool_size * sizeof(float), cudaMemcpyDeviceToHost)) return 1;
  double sum = 0;
  for (size_t i = 0; i < pool_size; ++i) sum += host[i] * double(i % 13);
  printf("%.2f\n", sum);
}
C
printf 'app\n.kernelift/\n' > .gitignore
commit_all
SIZES="1 31 64 65 128 1120 1152 4032 4095 4096"
answers() { for n in $SIZES; do ./app $n 3; done; }
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
answers > "$WORK/before"

# Larger blocks are right where the last of them is full.
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract diff --out .kernelift/mep/diff
python3 - .kernelift/mep/diff/kernel.cu > candidates.json <<'P'
import json, sys
source = open(sys.argv[1]).read()
for block in (32, 256):
    launch = {"kernel": "diff", "grid": [f"ceil_div(gx * 64, {block})", "gy", "gz"], "block": [str(block), "by", "bz"], "shared": "shared"}
    print(json.dumps({"source": source, "launches": [launch], "tier": "params"}))
P
expect_exit 0 "$KL" evaluate diff candidates.json --device cpu --confirm --json
python3 - "$WORK/.out" <<'P' || fail "evaluate does not say at which sizes a larger block is right"
import json, sys
small, large = (verdict.get("other_sizes") for verdict in json.load(open(sys.argv[1]))["verdicts"])
assert small["known"] == "proven", small
assert large["known"] == "under premise" and large["premise"] == "(n - 1) % 256 >= 192", large
assert large["why"].startswith("n = 1: thread 64 of block 0 "), large
P
rm candidates.json

expect_gain "$KL" optimize --device cpu --build 'nvcc -O2 app.cu -o app' --run ./app --time 10s
git diff HEAD~1 -- app.cu > "$WORK/patch"
grep -q '^+.*if (.*%\|^+.*%.*?' "$WORK/patch" || { cat "$WORK/patch" >&2; fail "the patched launch asks nothing"; }
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
answers > "$WORK/after"
diff "$WORK/before" "$WORK/after" || fail "the patched application gives other answers at some sizes"
