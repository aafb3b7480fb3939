# A name that matches no kernel, or several that were recorded: exit code 2, the matching kernels are listed, and no MEP is
# written. Where only one of them was recorded, its name is enough. A recorded kernel whose unit was read in part is
# refused with what was lost, and no library is blamed.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
namespace a { __global__ void step(int* p) { *p += 1; } }
namespace b { __global__ void step(float* p) { *p += 2; } }
int main(int count, char**) {
  int* p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4);
  a::step<<<1, 1>>>(p);
  if (count > 1) b::step<<<1, 1>>>((float*)p);
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app both
expect_exit 2 "$KL" extract step
expect_says "a::step"; expect_says "b::step"
expect_exit 2 "$KL" extract nothing
expect_says "nothing"
[ -z "$(ls .kernelift/mep 2>/dev/null)" ] || fail "a name that was refused left a MEP behind"
expect_exit 0 "$KL" extract a::step
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract step --json
[ "$(json 'd["name"]')" = a::step ] || fail "extract took another kernel than the one that ran"

# Static kernels of the same name in two files share one line of the profile; a note says so.
for part in one two; do
  printf 'static __global__ void half(NUMBER* p) { *p /= 2; }\nvoid %s(int* p) { half<<<1, 1>>>(p); }\n' $part > $part.cu
done
echo 'void one(int*); void two(int*); int main() { int* p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); one(p); two(p); return cudaDeviceSynchronize(); }' > main.cu
rm -rf .kernelift
expect_exit 0 "$KL" build --device cpu -- nvcc -DNUMBER=int main.cu one.cu two.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record --profile-only -- ./app
expect_says "half is the name of 2 kernels, counted as one above: one.cu:1, two.cu:1"

# Without the definition that the compile command had, clang cannot read these kernels.
sed -i '/-DNUMBER=int/d' .kernelift/compile_commands.json
expect_exit 0 "$KL" scan
expect_says "one.cu could not be parsed completely: $WORK/one.cu:1: unknown type name 'NUMBER'"
expect_says "a kernel was not understood, or not used: half (one.cu:1)"
expect_exit 0 "$KL" record -- ./app
expect_exit 4 "$KL" extract half
expect_says "its source was read in part only, and the kernel is in what was lost: one.cu ("
