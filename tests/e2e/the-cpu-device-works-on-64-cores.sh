# A launch has a worker for each core, and each takes room of its own: on machines of many cores, that must not count as the
# candidate's. The program is made to see 64 cores, and malloc to serve each thread from an arena of its own, as it does there.
. "$(dirname "$0")/common.sh" "$@"
cat > cores.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
enum { kCores = 64 };
int get_nprocs(void) { return kCores; }
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t* set) {
  (void)pid;
  memset(set, 0, bytes);
  for (int core = 0; core < kCores; ++core) CPU_SET_S(core, bytes, set);
  return 0;
}
long sysconf(int name) {
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return kCores;
  return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}
C
"$(command -v cc || command -v clang-22)" -shared -fPIC -o cores.so cores.c -ldl
cat > app.cu <<'C'
#include <cstdio>
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.5f + y[i];
}
__global__ void sums(const float* x, float* out, int n) {
  __shared__ float part[512];
  part[threadIdx.x] = x[(blockIdx.x * blockDim.x + threadIdx.x) % n];
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
int main() {
  const int n = 1 << 18;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  cudaMemset(x, 0x3f, n * sizeof(float));
  cudaMemset(y, 0x3e, n * sizeof(float));
  scale<<<n / 256, 256>>>(x, y, n);
  sums<<<n / 512, 512>>>(x, y, n);
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract scale --out scale
expect_exit 0 "$KL" extract sums --out sums
export LD_PRELOAD=$WORK/cores.so GLIBC_TUNABLES=glibc.malloc.arena_max=512
for run in 1 2 3 4; do
  for kernel in scale sums; do
    expect_exit 0 "$KL" model "$kernel" --formula
    expect_says "field runs settle whether another text has its formula"
  done
done
expect_exit 0 "$KL" replay sums --device cpu
expect_says "64 cores"; expect_says "PASS"
