# A name that matches no kernel or several: exit code 2, the matching kernels are listed, and no MEP is written.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
namespace a { __global__ void step(int* p) { *p += 1; } }
namespace b { __global__ void step(int* p) { *p += 2; } }
int main() { int* p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); a::step<<<1, 1>>>(p); b::step<<<1, 1>>>(p); return cudaDeviceSynchronize(); }
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record -- ./app
expect_exit 2 "$KL" extract step
expect_says "a::step"; expect_says "b::step"
expect_exit 2 "$KL" extract nothing
expect_says "nothing"
[ -z "$(ls .kernelift/mep 2>/dev/null)" ] || fail "a name that was refused left a MEP behind"
expect_exit 0 "$KL" extract a::step

# Static kernels of the same name in two files share one line of the profile; a note says so.
for part in one two; do
  printf 'static __global__ void half(int* p) { *p /= 2; }\nvoid %s(int* p) { half<<<1, 1>>>(p); }\n' $part > $part.cu
done
echo 'void one(int*); void two(int*); int main() { int* p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); one(p); two(p); return cudaDeviceSynchronize(); }' > main.cu
rm -rf .kernelift
expect_exit 0 "$KL" build --device cpu -- nvcc main.cu one.cu two.cu -o app
expect_exit 0 "$KL" scan
expect_exit 0 "$KL" record --profile-only -- ./app
expect_says "half is the name of 2 kernels, counted as one above: one.cu:1, two.cu:1"
