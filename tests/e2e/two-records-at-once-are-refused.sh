# Two at once would mix their captures: the second is refused before it runs anything, and the lock of one that was killed is
# free.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
#include <unistd.h>
__global__ void twice(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2 + 1; }
int main(int argc, char** argv) {
  float* x;
  cudaMalloc(&x, 1024);
  cudaMemset(x, 0, 1024);
  twice<<<1, 256>>>(x);
  if (argc > 1) sleep(600);
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
"$KL" record -- ./app wait >/dev/null 2>&1 &
FIRST=$!
until_true 60 bash -c 'ls .kernelift/capture.new/process-* >/dev/null 2>&1' || fail "the first has not begun"
expect_exit 3 "$KL" record -- ./app
expect_says "another \`kernelift record\` is running in this folder"; expect_brief 1
[ ! -s "$WORK/.out" ] || fail "the application was run"
expect_exit 0 "$KL" record --state "$WORK/elsewhere" -- ./app
CHILD=$(pgrep -P $FIRST)
kill -9 $FIRST; wait $FIRST 2>/dev/null || true
kill $CHILD 2>/dev/null || true
expect_exit 0 "$KL" record -- ./app
