# A kernel of which the recording has the text that NVRTC compiled needs no build command: apply writes the tuned text beside
# it, and optimize tunes it. A kernel of a source is refused before its search, with what is missing. NVRTC is played by a
# script, which puts the program into the recording; the kernel that runs was compiled before.
. "$(dirname "$0")/common.sh" "$@"
mkdir app source && cd source
cat > scale.cu <<'C'
extern "C" __global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int again = 0; again < 20; ++again) {  // No compiler can know that in and out do not overlap.
    float sum = 0;
    for (int k = 0; k < 200; ++k) sum = sum * 0.5f + in[i];
    out[i] = sum;
  }
}
C
cp scale.cu main.cu
cat >> main.cu <<'C'
__global__ void add(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 3000 && i < n; ++k) a[i] = a[i] * 0.5f + 1;
}
int main() {
  const int n = 1 << 14;
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float)), cudaMalloc(&b, n * sizeof(float)), cudaMemset(a, 1, n * sizeof(float));
  for (int t = 0; t < 20; ++t) scale<<<(n + 127) / 128, 128>>>(a, b, n), add<<<(n + 127) / 128, 128>>>(b, n);
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu --state "$WORK/elsewhere" -- nvcc -O2 main.cu -o app
python3 - <<'P'
import json, os
os.makedirs("programs/1")
open("programs/1/image", "w").write(".version 8.0\n.visible .entry scale(\n)\n{}\n")
json.dump({"format": "kernelift-program", "version": 1, "oldest_reader": 1, "name": "scale.cu", "source": open("scale.cu").read(),
           "headers": {}, "options": ["-std=c++17"], "names": {}, "caller": "/usr/lib/libcupy.so", "command": ["python3", "run.py"]},
          open("programs/1/program.json", "w"))
P
cd ../app
cat > run.sh <<'C'
../source/app || exit 1
[ -z "${KERNELIFT_RECORD_FOLDER:-}" ] || cp -r ../source/programs "$KERNELIFT_RECORD_FOLDER"
C
expect_exit 0 "$KL" record --device cpu -- sh run.sh
expect_exit 1 "$KL" extract scale
expect_says "only of its namesake in"
# The CPU device's recorder says which file a kernel is of: so it is compiled from the place of the program's text.
cp ../source/main.cu .kernelift/programs/scale-*/scale.cu
expect_exit 0 "$KL" build --device cpu --state "$WORK/elsewhere" -- nvcc -O2 "$(echo .kernelift/programs/scale-*/scale.cu)" -o ../source/app
expect_exit 0 "$KL" record --device cpu -- sh run.sh
expect_exit 0 "$KL" extract scale --out .kernelift/mep/k
sed 's/again < 20/again < 1/' .kernelift/mep/k/kernel.cu > mine.cu
expect_gain "$KL" evaluate .kernelift/mep/k mine.cu --keep --device cpu
RUN=$(ls -t .kernelift/runs/*.klrun | head -1)
expect_exit 4 "$KL" apply "$RUN" --device cpu
expect_says "no file of the application has this kernel, so none is patched: its text is the program 'scale.cu' that python3 run.py had compiled"
grep -q 'again < 1;' .kernelift/programs/scale-*/tuned/scale.cu || fail "the tuned text was not written"
expect_exit 0 "$KL" apply "$RUN" --device cpu --dry-run
expect_says "apply writes this text beside the original"
rm -r .kernelift/programs/scale-*/tuned

# What tune found before is tried first by the next search.
expect_exit 1 "$KL" optimize --device cpu --run 'sh run.sh' --time 30s --json
expect_says "Nothing is built (no --build)"
python3 - "$WORK/.out" <<'P'
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["kernels"]}
assert "the program 'scale.cu'" in rows["scale"]["why"] and rows["scale"]["kernel_gain"] > 1, rows["scale"]
assert rows["add"]["outcome"] == "refused" and "give the application's build command (--build CMD)" in rows["add"]["why"], rows["add"]
assert rows["add"]["run"] == "", "time was spent on a kernel whose patch could not be built"
P
grep -q 'again < 1;' .kernelift/programs/scale-*/tuned/scale.cu || fail "optimize did not write the tuned text"

# An earlier build was logged: the source is found, and a patch of it has to be built all the same.
cp ../source/main.cu .
rm -r .kernelift
expect_exit 0 "$KL" build --device cpu -- nvcc -O2 main.cu -o app
expect_exit 1 "$KL" optimize --device cpu --run ./app --time 10s
grep -q "not tuned: a patch of its source has to be built: give the application's build command (--build CMD)" "$WORK/.out" || fail "the reason is missing"
! grep -q "==> kernelift \(replay\|tune\)" "$WORK/.err" || fail "time was spent on kernels whose patch could not be built"
expect_exit 2 "$KL" apply "$WORK/none.klrun" --device cpu
expect_says "apply needs the application's build command: --build CMD"
