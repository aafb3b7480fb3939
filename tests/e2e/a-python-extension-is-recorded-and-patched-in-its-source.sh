# A Python script calls an extension whose kernels setuptools built with nvcc: recorded from `python3 script.py` (and from
# worker processes of its own), scanned from the extension's compile commands, tuned, and patched in the extension's .cu.
. "$(dirname "$0")/common.sh" "$@"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
mkdir app && cd app
cat > smooth.cu <<'C'
#include <cuda_runtime.h>
__global__ void smooth(const float* in, float* out, int n, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) sum += sqrtf(in[(i + k) % n]) * expf(-0.001f * k);
  out[i] = sum / width;
}
extern "C" float run_smooth(const float* host, int n, int width, int steps) {
  float *in, *out, first;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, host, n * sizeof(float), cudaMemcpyHostToDevice);
  for (int i = 0; i < steps; ++i) smooth<<<(n + 127) / 128, 128>>>(in, out, n, width);
  cudaMemcpy(&first, out, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(in), cudaFree(out);
  return first;
}
C
cat > build.py <<'P'
import subprocess, sys
# What setup.py's build_ext with nvcc comes to: an object of position-independent code, linked into a shared library.
subprocess.check_call(["nvcc", "-O2", "-Xcompiler", "-fPIC", "-c", "smooth.cu", "-o", "smooth.o"])
subprocess.check_call(["nvcc", "-shared", "smooth.o", "-o", "_smooth.so"])
P
cat > script.py <<'P'
import array, ctypes, multiprocessing, os, sys
def run(steps):
    library = ctypes.CDLL(os.path.abspath("_smooth.so"))
    library.run_smooth.restype = ctypes.c_float
    n = 4096
    data = array.array("f", [i % 97 + 1.0 for i in range(n)])
    return library.run_smooth((ctypes.c_float * n).from_buffer(data), n, 64, steps)
if __name__ == "__main__":
    if len(sys.argv) > 1:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            results = pool.map(run, [3, 3, 3, 3], chunksize=1)
    else:
        results = [run(20)]
    print("smooth: %.4f" % results[0])
P
printf '.kernelift/\n*.so\n*.o\n__pycache__/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- python3 build.py
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record --device cpu --json -- python3 script.py
[ "$(json '[(k["kernel"].split("(")[0], k["count"]) for k in d["kernels"]]')" = "[('smooth', 20)]" ] || { cat "$WORK/.out"; fail "the extension's kernel is not in the profile"; }
# Workers: forked ones, and such as start anew. Each is recorded, though they end without a word to any library, so that
# the last of their launches may be missing.
for how in fork spawn; do
  expect_exit 0 "$KL" record --device cpu --profile-only --json -- python3 script.py $how
  [ "$(json '6 <= d["kernels"][0]["count"] <= 12')" = True ] || { cat "$WORK/.out"; fail "launches of $how-ed workers are missing"; }
done
expect_exit 0 "$KL" extract smooth --out .kernelift/mep/k
expect_exit 0 "$KL" replay .kernelift/mep/k --device cpu --warm
expect_says PASS
expect_gain "$KL" tune .kernelift/mep/k --device cpu --evals 40
expect_exit_in "0 1" "$KL" apply "$(ls -t .kernelift/runs/*.klrun | head -1)" --device cpu --dry-run
[ $CODE -ne 0 ] || expect_says "+++ b/smooth.cu"
[ -z "$(git status --porcelain)" ] || { git status --porcelain; fail "a preview changed the tree"; }
