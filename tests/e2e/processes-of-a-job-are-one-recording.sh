# Four ranks (started by a launcher of our own, and by Open MPI where it is installed), a program that a script runs
# several times, and processes that share memory: one capture, sums over all processes, images of the one that was asked
# for; a kernel that waits for another process is named and left.
. "$(dirname "$0")/common.sh" "$@"
mkdir app && cd app
cat > app.cu <<'C'
#include <cstdlib>
__global__ void step(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = a[i] * 0.5f + 1;
}
int main(int argc, char** argv) {
  const int n = 1 << 12;
  float* a;
  cudaMalloc(&a, n * sizeof(float));
  cudaMemset(a, 0, n * sizeof(float));
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  const int steps = rank ? 5 + atoi(rank) : atoi(argv[1]);
  for (int i = 0; i < steps; ++i) step<<<n / 64, 64>>>(a, n);
  return cudaDeviceSynchronize();
}
C
cat > exchange.cu <<'C'
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__global__ void hand_over(volatile int* flag, float* own) {
  own[threadIdx.x] = 1;
  if (threadIdx.x == 0)
    while (*flag == 0) {}
  own[threadIdx.x] += 1;
}
__global__ void reads_only(int* flag, float* own) { own[threadIdx.x] = flag[0]; }
int main() {
  int* flag = (int*)mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (fork() == 0) {
    usleep(300000);
    *flag = 1;
    _exit(0);
  }
  float* own;
  cudaMalloc(&own, 64 * sizeof(float));
  cudaHostRegister(flag, 4096, cudaHostRegisterDefault);
  hand_over<<<1, 64>>>(flag, own);
  cudaDeviceSynchronize();
  wait(nullptr);
  reads_only<<<1, 64>>>(flag, own);
  return cudaDeviceSynchronize();
}
C
cat > launcher.sh <<'C'
for rank in 0 1 2 3; do OMPI_COMM_WORLD_RANK=$rank "$@" & done
wait
C
expect_exit 0 "$KL" build --device cpu -- sh -c 'nvcc -O2 app.cu -o app && nvcc -O2 exchange.cu -o exchange'
expect_exit 0 "$KL" scan

expect_exit 0 "$KL" record --device cpu --json -- sh launcher.sh ./app
[ "$(json '[(k["kernel"], k["count"]) for k in d["kernels"]]')" = "[('step(float*,int)', 26)]" ] || { cat "$WORK/.out"; fail "the launches of four ranks are not summed up"; }
[ "$(json 'sorted((p["rank"], p["images"], p["kernels"][0]["count"]) for p in d["processes"])')" = "[(0, True, 5), (1, False, 6), (2, False, 7), (3, False, 8)]" ] || { cat "$WORK/.out"; fail "the ranks are not told apart"; }
expect_exit 0 "$KL" extract step
expect_exit 0 "$KL" record --device cpu --rank 3 --by-rank -- sh launcher.sh ./app
expect_says "rank 3:"
expect_says "(its memory is captured)"
expect_exit 1 "$KL" record --device cpu --rank 4 -- sh launcher.sh ./app
expect_says "no process of rank 4 launched a kernel; ranks of those that did: 0, 1, 2, 3"
if command -v mpirun >/dev/null; then
  expect_exit 0 "$KL" record --device cpu --json -- mpirun --allow-run-as-root --oversubscribe -n 4 ./app
  [ "$(json 'sorted((p["rank"], p["images"]) for p in d["processes"])')" = "[(0, True), (1, False), (2, False), (3, False)]" ] || { cat "$WORK/.out"; fail "Open MPI's ranks are not told apart"; }
else echo "skipped: Open MPI is not installed (openmpi-bin)"; fi

expect_exit 0 "$KL" record --device cpu --json -- sh -c './app 3; ./app 40; ./app 2'
[ "$(json 'd["kernels"][0]["count"], len(d["processes"]), sum(p["images"] for p in d["processes"])')" = "45 3 1" ] || { cat "$WORK/.out"; fail "the runs of a script are not one recording"; }

expect_exit 0 "$KL" record --device cpu -- ./exchange
expect_exit 4 "$KL" extract hand_over
expect_says "kernel hand_over waits for what another process writes, at exchange.cu:7: the memory of arg 0 is shared with it"
expect_exit 0 "$KL" extract reads_only
