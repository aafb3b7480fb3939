# A Python script calls an extension whose kernels setuptools built with nvcc: recorded from `python3 script.py` (and from
# worker processes of its own), scanned from the extension's compile commands, tuned, and patched in the extension's .cu.
. "$(dirname "$0")/common.sh" "$@"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
mkdir app && cd app
sed -n '/^#define BLOCK/,/^}/p' "$SRC/tests/e2e/gamma.cu" > gamma.cu
cat >> gamma.cu <<'C'
extern "C" float correct_image(const float* host, int n, float gamma, int steps) {
  float *in, *out, first;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, host, n * sizeof(float), cudaMemcpyHostToDevice);
  for (int i = 0; i < steps; ++i) correct<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(in, out, gamma, n);
  cudaMemcpy(&first, out, sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(in), cudaFree(out);
  return first;
}
C
cat > build.py <<'P'
import subprocess, sys
# What setup.py's build_ext with nvcc comes to: an object of position-independent code, linked into a shared library.
subprocess.check_call(["nvcc", "-O2", "-Xcompiler", "-fPIC", "-c", "gamma.cu", "-o", "gamma.o"])
subprocess.check_call(["nvcc", "-shared", "gamma.o", "-o", "_gamma.so"])
P
cat > script.py <<'P'
import array, ctypes, multiprocessing, os, sys
def run(steps):
    library = ctypes.CDLL(os.path.abspath("_gamma.so"))
    library.correct_image.restype = ctypes.c_float
    n = 1 << 15
    data = array.array("f", [(i % 97 + 1) / 98 for i in range(n)])
    return library.correct_image((ctypes.c_float * n).from_buffer(data), n, ctypes.c_float(2.2), steps)
if __name__ == "__main__":
    if len(sys.argv) > 1:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            results = pool.map(run, [3, 3, 3, 3], chunksize=1)
    else:
        results = [run(20)]
    print("corrected: %.4f" % results[0])
P
printf '.kernelift/\n*.so\n*.o\n__pycache__/\n' > .gitignore
commit_all
expect_exit 0 "$KL" build --device cpu -- python3 build.py
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record --device cpu --json -- python3 script.py
[ "$(json '[(k["kernel"].split("(")[0], k["count"]) for k in d["kernels"]]')" = "[('correct', 20)]" ] || { cat "$WORK/.out"; fail "the extension's kernel is not in the profile"; }
# Workers: forked ones, and such as start anew. Each is recorded, though they end without a word to any library, so that
# the last of their launches may be missing.
for how in fork spawn; do
  expect_exit 0 "$KL" record --device cpu --profile-only --json -- python3 script.py $how
  [ "$(json '6 <= d["kernels"][0]["count"] <= 12')" = True ] || { cat "$WORK/.out"; fail "launches of $how-ed workers are missing"; }
done
expect_exit 0 "$KL" extract correct --out .kernelift/mep/k
expect_exit 0 "$KL" replay .kernelift/mep/k --device cpu --warm
expect_says PASS
expect_gain "$KL" tune .kernelift/mep/k --device cpu --tiers params --evals 6
expect_exit 0 "$KL" apply "$(ls -t .kernelift/runs/*.klrun | head -1)" --device cpu --dry-run
expect_says "+++ b/gamma.cu"
[ -z "$(git status --porcelain)" ] || { git status --porcelain; fail "a preview changed the tree"; }
