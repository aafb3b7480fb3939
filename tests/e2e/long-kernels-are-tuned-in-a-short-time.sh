# A kernel of which one launch takes about half a second: what the time suffices for is said after one launch, candidates
# are judged by few launches each, and a time that suffices for none is refused with the one that would do.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
__global__ void products(int m, const float* in, float* out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < m)
    for (int column = 0; column < m; ++column) {
      out[row * m + column] = 0;
      for (int i = 0; i < m; ++i) out[row * m + column] += in[i * m + row] * in[i * m + column];
    }
}
int main(int count, char** words) {
  const int m = count > 1 ? atoi(words[1]) : 100;
  float *in, *out, *host = (float*)malloc(sizeof(float) * m * m);
  for (int i = 0; i < m * m; ++i) host[i] = float(i % 7) - 3;
  cudaMalloc(&in, sizeof(float) * m * m), cudaMalloc(&out, sizeof(float) * m * m);
  cudaMemcpy(in, host, sizeof(float) * m * m, cudaMemcpyHostToDevice);
  products<<<(m + 63) / 64, 64>>>(m, in, out);
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
expect_exit 0 "$KL" scan
# The size at which a launch takes about 0.7 s on this machine as it is now.
milliseconds() {
  expect_exit 0 "$KL" record --json --profile-only -- ./app "$1"
  json 'd["kernels"][0]["total_us"] / 1000'
}
SIZE=$(python3 -c "print(max(200, min(2000, int(300 * (700 / max(1, $(milliseconds 300))) ** (1 / 3)))))")
expect_exit 0 "$KL" record -- ./app "$SIZE"
expect_exit 0 "$KL" extract products --out mep

expect_exit 1 "$KL" tune mep --device cpu --time 3s
# On a busy machine the time may be over before that one launch.
expect_says "give it more time"
[ -z "$(ls .kernelift/runs 2>/dev/null)" ] || fail "a run is left of a search that was refused"

expect_exit_in "0 1" "$KL" tune mep --device cpu --tiers source,params --time 25s
expect_says "one launch of the original takes "
expect_exit 0 "$KL" export .kernelift/runs/mep-1.klrun --to json
[ "$(json 'len(d["trials"])')" -ge 4 ] || machine_is_busy || fail "fewer than three candidates were judged"
[ "$(json 'max([s["samples"] for t in d["trials"] for s in t["verdict"].get("timings", [])])')" -le 3 ] ||
  fail "a candidate was raced for longer than it is worth"
