# A model leaves out a kernel's bounds guard, which is right where the last block is full. The patch puts its kernel
# beside the original, and launches choose: an instance of a template, and a kernel that another file launches, by a
# macro that is given kernel, grid and block, and with its bound in a structure. The patched application gives the same
# answers at every size.
. "$(dirname "$0")/common.sh" "$@"
cat > server.py <<'P'
import http.server, json, sys
edit = "<<<<<<< SEARCH\n  if (i < n) out[i] = spend(x[i], 2000);\n=======\n  out[i] = spend(x[i], 20);\n>>>>>>> REPLACE\n"
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": edit}}], "usage": {"prompt_tokens": 5, "completion_tokens": 5}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
P
# kernel HEAD [PARAMETERS BEGIN]: the kernel's text; HEAD is in front of it, BEGIN at its beginning.
kernel() {
  cat <<C
// Takes its time, and returns x.
static __device__ float spend(float x, int steps) {
  float one = x == x ? 1 : 2;
  for (int i = 0; i < steps; ++i) one = one * 0.5f + 0.5f;
  return x * one;
}
$1__global__ void scale(${2:-const float* x, float* out, int n}) {${3:-}
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = spend(x[i], 2000);
}
C
}
# main_file LAUNCH [BEGIN]: a program that launches the kernel so, after BEGIN.
main_file() {
  cat <<C
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "kernel.cuh"
#define B 64
int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 4096, times = argc > 2 ? atoi(argv[2]) : 20, room = 8192;
  std::vector<float> host(room);
  for (int i = 0; i < room; ++i) host[i] = float(i * 7 % 1000) * 0.25f;
  float *x, *out;
  if (cudaMalloc(&x, room * sizeof(float)) || cudaMalloc(&out, room * sizeof(float))) return 1;
  cudaMemcpy(x, host.data(), room * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, room * sizeof(float));
  ${2:-}
  for (int k = 0; k < times; ++k) $1;
  if (cudaMemcpy(host.data(), out, room * sizeof(float), cudaMemcpyDeviceToHost)) return 1;
  double sum = 0;
  for (int i = 0; i < room; ++i) sum += host[i] * double(i % 13);
  printf("%.2f\n", sum);
}
C
}
answers() { for n in 1 63 64 65 1000 1024 4032 4095 4096; do ./app $n 2; done; }
export OPENAI_API_KEY=none
for app in template files; do
  cd "$WORK"; mkdir $app; cd $app
  git init -q .
  if [ $app = template ]; then
    { echo '#pragma once'; kernel 'template <int N>
'; } > kernel.cuh
    main_file 'scale<B><<<(n + B - 1) / B, B>>>(x, out, n)' > main.cu
    sources=main.cu
  else
    cat > kernel.cuh <<'C'
#pragma once
#define LAUNCH(kernel, grid, block, ...) kernel<<<(grid), (block)>>>(__VA_ARGS__)
struct View { const float* x; float* out; int n; };
__global__ void scale(View v);
C
    { echo '#include "kernel.cuh"'
      kernel '' 'View v' ' const float* x = v.x; float* out = v.out; const int n = v.n;'; } > kernel.cu
    main_file 'LAUNCH(scale, (view.n + B - 1) / B, B, view)' 'const View view{x, out, n};' > main.cu
    sources='kernel.cu main.cu'
  fi
  printf 'app\n.kernelift/\n' > .gitignore
  git add -A; git commit -qm app
  expect_exit 0 "$KL" build --device cpu -- nvcc -O2 $sources -o app
  answers > "$WORK/before"
  expect_exit 0 "$KL" scan
  expect_exit 0 "$KL" record -- ./app
  expect_exit 0 "$KL" extract scale --out .kernelift/mep/scale
  coproc SERVER { exec python3 "$WORK/server.py"; }
  read -r PORT <&"${SERVER[0]}"
  expect_gain "$KL" tune .kernelift/mep/scale --device cpu --tiers source --without-rule all --llm-calls 1 --time 60 \
    --llm "openai:http://127.0.0.1:$PORT/v1,fake"
  kill "$SERVER_PID"; wait "$SERVER_PID" 2>/dev/null || true
  expect_gain "$KL" apply "$(ls -t .kernelift/runs/*.klrun | head -1)" --device cpu --time 10 --run ./app \
    --build "nvcc -O2 $sources -o app"
  git diff HEAD~1 > "$WORK/patch"
  grep -q '^+.*% 64 == 0 ? scale_tuned.* : scale' "$WORK/patch" || { cat "$WORK/patch" >&2; fail "the launch does not choose ($app)"; }
  expect_exit 0 "$KL" build --device cpu -- nvcc -O2 $sources -o app
  answers > "$WORK/after"
  diff "$WORK/before" "$WORK/after" || fail "the patched application gives other answers at some sizes ($app)"
done
