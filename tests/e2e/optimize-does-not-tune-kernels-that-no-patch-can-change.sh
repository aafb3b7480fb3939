# The hottest kernel and its launch are in a header of another project. optimize says so before it spends time on tuning, and
# continues with the next kernel, which is the first of the number that --kernels allows.
. "$(dirname "$0")/common.sh" "$@"
mkdir app dep
cat > dep/scale.h <<'C'
#pragma once
__global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 400 && i < n; ++k) sum += in[(i + 7 * k) % n] / 3;
  if (i < n) out[i] = sum;
}
inline void scale_all(const float* in, float* out, int n) { scale<<<(n + 127) / 128, 128>>>(in, out, n); }
C
cat > app/main.cu <<'C'
#include <scale.h>
__global__ void add(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < STEPS && i < n; ++k) a[i] = a[i] / 3 + 1;
}
int main() {
  const int n = 1 << 13;
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float)), cudaMalloc(&b, n * sizeof(float)), cudaMemset(a, 1, n * sizeof(float));
  for (int t = 0; t < 10; ++t) scale_all(a, b, n), add<<<(n + 255) / 256, 256>>>(b, n);
  return cudaDeviceSynchronize();
}
C
cd app
expect_exit 1 "$KL" optimize --device cpu --build 'nvcc -O2 -DSTEPS=1 -I../dep main.cu -o app' --run ./app --time 10s
grep -q "not tuned: its source lies outside the application (.*/dep/scale.h:2) and is not patched" "$WORK/.out" || fail "the reason why scale is not tuned is missing"
grep -q "refused      scale" "$WORK/.out" || fail "scale is not listed as refused"
grep -q "too small a share" "$WORK/.out" || fail "the next kernel is not listed"
! grep -q "==> kernelift \(replay\|tune\)" "$WORK/.err" || fail "time was spent on a kernel that no patch can change"
[ ! -e .kernelift/runs ] || fail "a run was created"

expect_exit_in "0 1" "$KL" optimize --device cpu --build 'nvcc -O2 -DSTEPS=200 -I../dep main.cu -o app' --run ./app --time 10s --kernels 1 --json
python3 - "$WORK/.out" <<'P'
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["kernels"]}
assert rows["scale"]["outcome"] == "refused" and rows["scale"]["order"] == "", rows["scale"]
assert "/add-" in rows["add"]["run"] and rows["add"]["order"].startswith("1st: "), rows["add"]
P
