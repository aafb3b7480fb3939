// An application that behaves badly, or only unusually, while it is recorded: argv[1] says how. Prints what it
// computed, so that a recorder that gets in its way is seen.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "extractor/record/tests/cuda/check.h"

__global__ void count(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
/// Runs until the host says so.
__global__ void wait_for_host(volatile int* flag, int* data) {
  while (*flag == 0) {}
  data[0] += 100;
}
__global__ void takes_seconds(int* data, unsigned seconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < seconds * 1000000000ull);
  data[0] += 1;
}
__global__ void fault(int* data) { data[size_t(1) << 40] = 1; }

constexpr int kCount = 1 << 18;

int* fresh() {
  int* data;
  CHECK(cudaMalloc(&data, kCount * sizeof(int)));
  CHECK(cudaMemset(data, 0, kCount * sizeof(int)));
  return data;
}
void launch(int* data, cudaStream_t stream = nullptr) { count<<<kCount / 256, 256, 0, stream>>>(data, kCount); }
int first(int* data) {
  int value;
  CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

/// Several threads, a stream and memory each; one of them captures graphs all the while.
int threads() {
  std::vector<std::thread> workers;
  std::vector<int*> memory;
  std::atomic<int> wrong{0};
  // All that may not happen while somebody captures is done before and after.
  for (int t = 0; t < 4; ++t) memory.push_back(fresh());
  CHECK(cudaDeviceSynchronize());
  for (int t = 0; t < 4; ++t)
    workers.emplace_back([&, t] {
      cudaStream_t stream;
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      int* data = memory[t];
      for (int i = 0; i < 300; ++i) {
        if (t == 0 && i % 3 == 0) {
          cudaGraph_t graph;
          cudaGraphExec_t executable;
          CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
          launch(data, stream);
          CHECK(cudaStreamEndCapture(stream, &graph));
          CHECK(cudaGraphInstantiate(&executable, graph, 0));
          CHECK(cudaGraphLaunch(executable, stream));
          CHECK(cudaStreamSynchronize(stream));
          CHECK(cudaGraphExecDestroy(executable));
          CHECK(cudaGraphDestroy(graph));
        } else {
          launch(data, stream);
        }
      }
      CHECK(cudaStreamSynchronize(stream));
    });
  for (auto& worker : workers) worker.join();
  for (int* data : memory) wrong += first(data) != 300;
  std::printf("wrong %d\n", wrong.load());
  return wrong;
}

/// The device cannot become idle until the very thread that launches next has gone on.
int host_flag() {
  int *flag, *data = fresh(), *other = fresh();
  CHECK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
  *flag = 0;
  cudaStream_t waiting, working;
  CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&working, cudaStreamNonBlocking));
  // Both kernels are loaded before one of them waits: loading may wait for the device.
  launch(data, working);
  *static_cast<volatile int*>(flag) = 1;
  wait_for_host<<<1, 1, 0, waiting>>>(flag, other);
  CHECK(cudaDeviceSynchronize());
  *static_cast<volatile int*>(flag) = 0;
  wait_for_host<<<1, 1, 0, waiting>>>(flag, other);
  for (int i = 0; i < 5; ++i) launch(data, working);
  CHECK(cudaStreamSynchronize(working));
  *static_cast<volatile int*>(flag) = 1;
  CHECK(cudaDeviceSynchronize());
  launch(data, working);
  CHECK(cudaDeviceSynchronize());
  std::printf("%d %d\n", first(data), first(other));
  return first(data) == 7 && first(other) == 200 ? 0 : 1;
}

/// One launch of three seconds and nothing else.
int long_launch() {
  int* data = fresh();
  takes_seconds<<<1, 1>>>(data, 3);
  CHECK(cudaDeviceSynchronize());
  std::printf("%d\n", first(data));
  return first(data) == 1 ? 0 : 1;
}

/// Streams come and go on other threads while launches are recorded and something is always pending.
int streams() {
  int *flag, *data = fresh();
  CHECK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
  std::atomic<bool> over{false};
  std::vector<std::thread> makers;
  for (int t = 0; t < 4; ++t)
    makers.emplace_back([&] {
      while (!over) {
        cudaStream_t stream;
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaStreamDestroy(stream));
      }
    });
  for (int i = 0; i < 65; ++i) {
    launch(data);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  over = true;
  for (auto& maker : makers) maker.join();
  std::printf("%d\n", first(data));
  return first(data) == 65 ? 0 : 1;
}

/// Two threads capture their own per-thread streams, one of them much longer, while a third launches what is wanted.
int own_streams() {
  int *here = fresh(), *there = fresh(), *other = fresh();
  CHECK(cudaDeviceSynchronize());
  std::atomic<int> captures{0}, wrong{0};
  auto capture = [&](int* data, int milliseconds) {
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed));
    ++captures;
    count<<<kCount / 256, 256, 0, cudaStreamPerThread>>>(data, kCount);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    wrong += cudaStreamEndCapture(cudaStreamPerThread, &graph) != cudaSuccess;
    captures += 10;
  };
  std::thread brief(capture, here, 20), lasting(capture, there, 300);
  while (captures < 11) std::this_thread::yield();  // One is over, one goes on.
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 9; ++i) launch(other, stream);
  brief.join(), lasting.join();
  launch(other, stream);  // Its images can be taken.
  CHECK(cudaStreamSynchronize(stream));
  std::printf("wrong %d %d\n", wrong.load(), first(other));
  return wrong + (first(other) != 10);
}

/// Works in memory of another process, which was forked before anybody used CUDA.
int borrowed() {
  int there[2], back[2];
  cudaIpcMemHandle_t handle;
  char done = 0;
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  if (fork() == 0) {
    int* data = fresh();
    bool given =
        cudaIpcGetMemHandle(&handle, data) == cudaSuccess && write(there[1], &handle, sizeof handle) == sizeof handle;
    close(there[1]);
    _exit(given && read(back[0], &done, 1) == 1 ? 0 : 1);
  }
  close(there[1]);
  int* data = nullptr;
  bool lent =
      read(there[0], &handle, sizeof handle) == sizeof handle &&
      cudaIpcOpenMemHandle(reinterpret_cast<void**>(&data), handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess;
  if (lent) {
    for (int i = 0; i < 10; ++i) launch(data);
    CHECK(cudaDeviceSynchronize());
    std::printf("%d\n", first(data));
    CHECK(cudaIpcCloseMemHandle(data));
  }
  if (write(back[1], &done, 1) != 1) return 1;
  wait(nullptr);
  return lent ? 0 : 77;  // Not every machine lets its processes share memory.
}

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "streams") return streams();
  if (mode == "borrowed") return borrowed();
  if (mode == "own-streams") return own_streams();
  if (mode == "exit-in-handler") {  // As many programs end at Ctrl-C, though they should not.
    std::signal(SIGALRM, [](int) { std::exit(5); });
    int* data = fresh();
    ualarm(argc > 2 ? useconds_t(std::stoi(argv[2])) : 30'000, 0);
    for (;;) launch(data);
  }
  if (mode == "threads") return threads();
  if (mode == "host-flag") return host_flag();
  if (mode == "long") return long_launch();
  if (mode == "fork-first") {  // Workers that are forked before anybody uses CUDA.
    for (int i = 0; i < 2; ++i)
      if (fork() == 0) {
        int* data = fresh();
        for (int k = 0; k <= i; ++k) launch(data);
        CHECK(cudaDeviceSynchronize());
        _exit(first(data) == i + 1 ? 0 : 1);
      }
    int status, bad = 0;
    while (wait(&status) > 0) bad += status != 0;
    std::printf("bad %d\n", bad);
    return bad;
  }
  int* data = fresh();
  for (int i = 0; i < 10; ++i) launch(data);
  CHECK(cudaDeviceSynchronize());
  std::printf("%d\n", first(data));
  std::fflush(stdout);
  if (mode == "kill") raise(SIGKILL);
  if (mode == "abort") std::abort();
  if (mode == "quick-exit") _exit(3);
  if (mode == "exit-in-thread") {
    std::thread([] { std::exit(4); }).join();
  }
  if (mode == "throw") throw std::runtime_error("as applications do");
  if (mode == "exec") {
    execl(argv[0], argv[0], "plain-end", static_cast<char*>(nullptr));
    return 9;
  }
  if (mode == "fork-after") {
    pid_t child = fork();
    if (child == 0) std::exit(6);  // Runs the exit handlers it inherited.
    int status;
    waitpid(child, &status, 0);
    launch(data);
    CHECK(cudaDeviceSynchronize());
    std::printf("%d %d\n", first(data), WEXITSTATUS(status));
    return 0;
  }
  if (mode == "reset") {
    CHECK(cudaDeviceReset());
    data = fresh();
    launch(data);
    std::printf("%d\n", first(data));
  }
  if (mode == "fault") {
    fault<<<1, 1>>>(data);
    cudaError_t answer = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorName(answer));
    return 8;
  }
  return 0;
}
