# The application marks its steps by NVTX ranges, as NVTX's headers do it (which load the library that
# NVTX_INJECTION64_PATH names). With --region only the launches of that range are in the profile and in the capture, and
# its time is the measure.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > nvtx.h <<'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
static int (*nvtx_push)(const char*);
static int (*nvtx_pop)();
static void** nvtx_core[16];
static int nvtx_table(uint32_t module, void**** out, unsigned* size) {
  nvtx_core[9] = (void**)&nvtx_push, nvtx_core[11] = (void**)&nvtx_pop;
  *out = nvtx_core, *size = 16;
  return module == 1;
}
struct { size_t size; int (*get)(uint32_t, void****, unsigned*); } static const nvtx_callbacks = {sizeof nvtx_callbacks, nvtx_table};
static const void* nvtx_exports(uint32_t id) { return id == 1 ? &nvtx_callbacks : nullptr; }
static void nvtx_begin() {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* library = path ? dlopen(path, RTLD_LAZY) : nullptr;
  auto initialize = library ? (int (*)(const void* (*)(uint32_t)))dlsym(library, "InitializeInjectionNvtx2") : nullptr;
  if (initialize) initialize(nvtx_exports);
}
static void push(const char* name) { if (nvtx_push) nvtx_push(name); }
static void pop() { if (nvtx_pop) nvtx_pop(); }
C
cat > app.cu <<'C'
#include <unistd.h>
#include "nvtx.h"
__global__ void prepare(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = i;
}
__global__ void step(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 0.5f + 1;
}
int main() {
  const int n = 1 << 12;
  nvtx_begin();
  push("run");
  float* a;
  cudaMalloc(&a, n * sizeof(float));
  for (int i = 0; i < 5; ++i) prepare<<<n / 64, 64>>>(a, n), step<<<n / 64, 64>>>(a, n);
  for (int i = 0; i < 4; ++i) {
    usleep(100000);
    push("step");
    step<<<n / 64, 64>>>(a, n);
    pop();
  }
  pop();
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 app.cu -o app -ldl
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record --device cpu --region step --json -- ./app
[ "$(json '[(k["kernel"], k["count"]) for k in d["kernels"]]')" = "[('step(float*,int)', 4)]" ] || { cat "$WORK/.out"; fail "other launches are in the profile"; }
grep -q '"region": "step"' .kernelift/capture/region.json || fail "the capture does not say what it is restricted to"
[ "$(json 'd["region"] == "step" and 0 < d["span_seconds"] < 0.1')" = True ] || { cat "$WORK/.out"; fail "the pauses between the steps count"; }
grep -q prepare .kernelift/capture/instances.jsonl && fail "a launch outside of the range was captured"
expect_exit 0 "$KL" record --device cpu --profile-only --region run --json -- ./app
[ "$(json 'len(d["kernels"])')" = 2 ] || fail "all kernels are in the outer range"

expect_exit 1 "$KL" record --device cpu --region stepp -- ./app
expect_says "the NVTX range 'stepp': no kernel was launched in it; other NVTX ranges of the run: 'run', 'step'"

# The same range is what a patch is judged by.
expect_exit 2 "$KL" optimize --device cpu --time 10 --build true --run ./app --region step --measure span --metric 'x(1)'
expect_exit 0 "$KL" optimize --help
expect_says "--region"
