# Lists with escaped commas, an option file that the build removes and NVCC_APPEND_FLAGS define the kernels that run: they
# are compiled, scanned, recorded and extracted.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cpp <<'C'
template <size_t N> __global__ void fasten(float* p) { for (size_t i = 0; i < N; ++i) p[threadIdx.x] += STEP + BIAS; }
template <size_t... Widths> void run(float* p) { (fasten<Widths><<<1, 32>>>(p), ...); }
int main() {
  float* p; cudaMalloc(&p, 128); cudaMemset(p, 0, 128);
  run<USE_PPWI>(p);
  return cudaDeviceSynchronize() || NAME[1] != ',' || OFFSET != 1;
}
C
cat > Makefile <<'M'
app: app.cpp
	printf '%s' '-DNAME=\\\"a,b\\\" -DSTEP=0.5f,OFFSET=1' > options
	NVCC_APPEND_FLAGS='-std=c++17 -DBIAS=2' nvcc '-DUSE_PPWI=1\,2\,4' -optf options -x cu app.cpp -o app
	rm options
M
expect_exit 0 "$KL" build --device cpu -- make
expect_exit 0 ./app
expect_exit 0 "$KL" scan
expect_says "3 kernels, 1 launch site"
! grep -q "parsed completely" .err || fail "the unit was read in part"
expect_exit 0 "$KL" record -- ./app
expect_exit 0 "$KL" extract 'fasten<4ul>' --json
[ "$(json 'd["proven"]')" = True ] || fail "the extracted kernel is not the application's"
