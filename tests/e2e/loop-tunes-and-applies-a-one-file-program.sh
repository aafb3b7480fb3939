# The verbs one by one on a git repository: the tree ends patched on a branch of its own, its program built and faster. Every
# block makes a table of its own, so that larger blocks gain more than any machine's noise could hide.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > gamma.cu <<'C'
#include <cmath>
#include <cstdio>
#include <vector>

#define BLOCK 16
#define LEVELS 256

__global__ void correct(const float* in, float* out, float gamma, int n) {
  __shared__ float curve[LEVELS + 1];
  for (int level = threadIdx.x; level <= LEVELS; level += BLOCK) curve[level] = powf(level / (float)LEVELS, gamma);
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float at = in[i] * LEVELS;
  int level = min((int)at, LEVELS - 1);
  out[i] = curve[level] + (at - level) * (curve[level + 1] - curve[level]);
}

int main() {
  const int n = 1 << 16;
  std::vector<float> image(n), corrected(n);
  for (int i = 0; i < n; ++i) image[i] = (i % 1021) / 1020.0f;
  float *in, *out;
  cudaMalloc(&in, n * sizeof(float)), cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, image.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int frame = 0; frame < 40; ++frame) correct<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, 0.45f, n);
  if (cudaMemcpy(corrected.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  float worst = 0;
  for (int i = 0; i < n; ++i) if (image[i] > 0.05f) worst = std::fmax(worst, std::fabs(corrected[i] - std::pow(image[i], 0.45f)));
  printf("worst error %.1e\n", worst);
  return worst > 1e-3f;
}
C
printf 'gamma\n.kernelift/\n' > .gitignore
commit_all
HEAD_BEFORE=$(git rev-parse HEAD)
BRANCH_BEFORE=$(git branch --show-current)
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 gamma.cu -o gamma
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./gamma
expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
expect_gain "$KL" tune .kernelift/mep/k --device cpu --evals 24
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
expect_exit 0 "$KL" report "$RUN" -o run.html
grep -q '</html>' run.html || fail "the report is cut short"
rm run.html
expect_gain "$KL" apply "$RUN" --device cpu --time 60 --build 'nvcc -O2 gamma.cu -o gamma' --run ./gamma --check ./gamma
expect_says "kept: "; expect_says "on the CPU device, not on a GPU"
git diff --quiet HEAD^ HEAD -- gamma.cu && fail "the patch changes nothing"
[ "$(git rev-parse HEAD^)" = "$HEAD_BEFORE" ] || fail "the patch is not one commit on top of what was there"
[ "$(git branch --show-current)" = kernelift/correct-1 ] || fail "kept, but no branch holds the patch"
[ -z "$(git status --porcelain)" ] || fail "apply left uncommitted changes"
git switch -q "$BRANCH_BEFORE" && [ "$(git rev-parse HEAD)" = "$HEAD_BEFORE" ] || fail "the way back does not lead back"
