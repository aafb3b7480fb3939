# An application that closes stdout and stderr, or everything, gets numbers of its own for its own files: nothing of it is in
# the capture, nothing of the recorder in its files, and what it launched is captured.
. "$(dirname "$0")/common.sh" "$@"
cat > app.cu <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 2 + 1; }
int main(int argc, char** argv) {
  float* x;
  cudaMalloc(&x, 4 << 20);
  cudaMemset(x, 0, 4 << 20);
  const bool daemon = strcmp(argv[1], "daemon") == 0;
  if (daemon) twice<<<64, 256>>>(x, 16384);  // The recorder has its files open when they are all closed.
  for (int fd = daemon ? 0 : 1; fd < (daemon ? 2000 : 3); ++fd) close(fd);
  twice<<<4096, 256>>>(x, 1 << 20);
  for (int i = 0; i < 3; ++i) {
    printf("printed %d\n", i), fflush(stdout);
    fprintf(stderr, "complained %d\n", i);
    twice<<<64 << i, 256>>>(x, 16384 << i);
  }
  int own = open("own", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (own != (daemon ? 0 : 1)) return 2;  // The number that it would get without us.
  for (int i = 0; i < (daemon ? 990 : 0); ++i)
    if (dup(own) < 0) break;
  twice<<<128, 512>>>(x, 65536);
  if (write(own, "mine\n", 5) != 5) return 3;
  return cudaDeviceSynchronize();
}
C
expect_exit 0 "$KL" build --device cpu -- nvcc app.cu -o app
expect_exit 0 "$KL" scan
for how in streams daemon; do
  rm -rf .kernelift/capture own
  expect_exit 0 "$KL" record -- ./app $how
  [ "$(cat own)" = mine ] || fail "$how: something else is in the application's file"
  ! grep -rqaE "printed [0-9]|complained [0-9]" .kernelift/capture || fail "$how: the application's output is in the capture"
  expect_exit 0 "$KL" extract twice --out mep-$how
  ! grep -q "is damaged" "$WORK/.err" || { cat "$WORK/.err"; fail "$how: the capture is damaged"; }
  expect_exit 0 "$KL" replay mep-$how --device cpu
done
