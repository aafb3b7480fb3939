# Buffers that a kernel reaches only through members of a struct passed by value, or through structs in device memory, are
# compared by their element type: floats within a tolerance, integers exactly.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
template <class T> struct View {
  T* data;
  int n;
  __host__ __device__ T& operator[](int i) const { return data[i]; }
};
struct Params {
  View<const float> rows;
  View<float> sums;
  int* counts;
  View<double>* tables;
};
__global__ void fold(Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.sums.n) return;
  float sum = 0, odd = 0;
  int count = 0;
  for (int k = 0; k < 32; ++k) {
    sum += p.rows[i * 32 + k];
    count += p.rows[i * 32 + k] > 0.5f;
  }
  p.sums[i] = sum + odd;
  p.counts[i] = count;
  p.tables[i % 2][i] = count * 0.1;
}
__global__ void add_up(Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.rows.n) atomicAdd(&p.sums[i % 8], p.rows[i]);
}
int main() {
  const int n = 4096;
  Params p{};
  float* rows;
  cudaMallocManaged(&rows, n * 32 * sizeof(float));
  for (int i = 0; i < n * 32; ++i) rows[i] = (rand() % 1000) / 999.0f;
  p.rows = {rows, n * 32}, p.sums.n = n;
  cudaMalloc(&p.sums.data, n * sizeof(float));
  cudaMemset(p.sums.data, 0, n * sizeof(float));
  cudaMalloc(&p.counts, n * sizeof(int));
  cudaMallocManaged(&p.tables, 2 * sizeof(View<double>));
  for (int k = 0; k < 2; ++k) p.tables[k].n = n, cudaMalloc(&p.tables[k].data, n * sizeof(double));
  fold<<<n / 128, 128>>>(p);
  add_up<<<n * 32 / 128, 128>>>(p);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  return 0;
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract fold --out mep
python3 - <<'P' || fail "regions have other types"
import json
regions = json.load(open("mep/mep.json"))["instances"][0]["regions"]
types = {r["reached_from"]: r["element"] for r in regions}
assert [types["arg 0"], types["arg 0 +16"], types["arg 0 +32"]] == ["float", "float", "int"], types
assert sorted(types.values()) == ["byte", "double", "double", "float", "float", "int"], types
P
[ "$(grep -c kl_replay::kDouble mep/main.cu)" -ge 2 ] || fail "main.cu does not know the types"
expect_exit 0 "$KL" replay mep
expect_says PASS
# Sums even and odd elements separately and divides instead of multiplying: rounded differently, but right.
sed 's/sum += p.rows\[i \* 32 + k\];/(k % 2 ? odd : sum) += p.rows[i * 32 + k];/; s|count \* 0.1|count / 10.0|' mep/kernel.cu >otherwise.cu
! cmp -s mep/kernel.cu otherwise.cu || fail "the candidate is the original"
expect_exit 0 "$KL" evaluate mep otherwise.cu
expect_says "otherwise.cu: correct"
# Differs by more than the tolerance.
sed 's/sum + odd;/sum * 1.001f + odd;/' mep/kernel.cu >off.cu
expect_exit 1 "$KL" evaluate mep off.cu
expect_says "wrong"
sed 's/count \* 0.1/count * 0.1001/' mep/kernel.cu >off.cu
expect_exit 1 "$KL" evaluate mep off.cu
expect_says "wrong"
# Off by one: as a float with the same bits it would be within the tolerance.
sed 's/= count;/= count + (i == 7);/' mep/kernel.cu >off.cu
expect_exit 1 "$KL" evaluate mep off.cu
expect_says "wrong"
# Atomic additions are in a different order in each launch.
expect_exit 0 "$KL" extract add_up --out sums
expect_exit 0 "$KL" replay sums
cp sums/kernel.cu same.cu
expect_exit 0 "$KL" evaluate sums same.cu
expect_says "same.cu: correct"
