// Streams, events, host callbacks, capture and graphs.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "sandbox/device/cpu/runtime/tests/registered.h"

using namespace kernelift;
using namespace kernelift::cudart;

namespace {

class Stream : public RuntimeTest {
 protected:
  Stream() { CHECK_CUDA(cudaStreamCreate(&stream_)); }
  cudaStream_t stream_ = nullptr;
};
class Events : public RuntimeTest {};
class Graphs : public Stream {};

TEST_F(Stream, StaleAndForeignHandlesAreInvalid) {
  CHECK_CUDA(cudaStreamSynchronize(stream_));
  CHECK_CUDA(cudaStreamDestroy(stream_));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream_));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream_));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, launch(stub.nothing, 1, 1, {}, 0, stream_));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamQuery(reinterpret_cast<cudaStream_t>(0x1000)));
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
  CHECK_CUDA(cudaStreamSynchronize(kLegacyStream));
  CHECK_CUDA(cudaStreamSynchronize(kPerThreadStream));
}

TEST_F(Stream, CallbackRunsAfterEarlierAndBeforeLaterWork) {
  static int* data;
  static std::vector<int> seen;
  data = device_ints({0});
  int count = 1, step = 1;
  auto look = [](void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    seen.push_back(*data);
  };
  seen.clear();
  CHECK_CUDA(launch(stub.add, 1, 1, {&data, &count, &step}, 0, stream_));
  CHECK_CUDA(cudaLaunchHostFunc(stream_, look, nullptr));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream_));
  CHECK_CUDA(launch(stub.add, 1, 1, {&data, &count, &step}, 0, stream_));
  CHECK_CUDA(cudaLaunchHostFunc(stream_, look, nullptr));
  CHECK_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
  CHECK_CUDA(cudaStreamQuery(stream_));
}

TEST_F(Stream, CallbackMayTakeALockThatTheSubmittingThreadHolds) {
  static std::mutex mutex;
  static std::condition_variable arrived;
  static bool done;
  done = false;
  std::unique_lock lock(mutex);
  CHECK_CUDA(cudaLaunchHostFunc(
      stream_,
      [](void*) {
        std::lock_guard inside(mutex);
        done = true;
        arrived.notify_one();
      },
      nullptr));
  EXPECT_TRUE(arrived.wait_for(lock, std::chrono::seconds(5), [] { return done; }));
}

/// A later thread has the memory of one that ended, and its default stream in it.
TEST_F(Stream, OfAThreadThatEndedLeavesItsCallbacksToThemselves) {
  static std::atomic<bool> go, seen;
  go = seen = false;
  std::thread([] { CHECK_CUDA(cudaLaunchHostFunc(kPerThreadStream, [](void*) { go.wait(false); }, nullptr)); }).join();
  std::thread([] {
    CHECK_CUDA(cudaStreamQuery(kPerThreadStream));
    go = true;
    go.notify_one();
    CHECK_CUDA(cudaDeviceSynchronize());
    auto late = [](void*) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      seen = true;
    };
    CHECK_CUDA(cudaLaunchHostFunc(kPerThreadStream, late, nullptr));
    CHECK_CUDA(cudaStreamSynchronize(kPerThreadStream));
    EXPECT_TRUE(seen);
  }).join();
}

TEST_F(Stream, SynchronisingInsideACallbackIsNotPermitted) {
  static std::atomic<int> answer;
  answer = 0;
  CHECK_CUDA(cudaLaunchHostFunc(stream_, [](void*) { answer = cudaDeviceSynchronize(); }, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(answer, cudaErrorNotPermitted);
}

TEST_F(Events, ElapsedTimeIsMonotone) {
  cudaEvent_t a = nullptr, b = nullptr, c = nullptr;
  CHECK_CUDA(cudaEventCreate(&a));
  CHECK_CUDA(cudaEventCreate(&b));
  CHECK_CUDA(cudaEventCreate(&c));
  CHECK_CUDA(cudaEventRecord(a, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  CHECK_CUDA(cudaEventRecord(b, nullptr));
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  CHECK_CUDA(cudaEventRecord(c, nullptr));
  float ab = 0, ac = 0, ba = 0;
  CHECK_CUDA(cudaEventElapsedTime(&ab, a, b));
  CHECK_CUDA(cudaEventElapsedTime(&ac, a, c));
  CHECK_CUDA(cudaEventElapsedTime(&ba, b, a));
  EXPECT_GE(ab, 3.0f);
  EXPECT_GE(ac, ab + 3.0f);
  EXPECT_FLOAT_EQ(ba, -ab);
}

TEST_F(Events, UnrecordedUntimedAndDestroyedOnesCannotBeTimed) {
  cudaEvent_t recorded = nullptr, fresh = nullptr, untimed = nullptr;
  constexpr unsigned kDisableTiming = 2;
  CHECK_CUDA(cudaEventCreate(&recorded));
  CHECK_CUDA(cudaEventCreate(&fresh));
  CHECK_CUDA(cudaEventCreateWithFlags(&untimed, kDisableTiming));
  CHECK_CUDA(cudaEventRecord(recorded, nullptr));
  CHECK_CUDA(cudaEventRecord(untimed, nullptr));
  float time = 0;
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, recorded, fresh));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, recorded, untimed));
  CHECK_CUDA(cudaEventQuery(fresh));
  CHECK_CUDA(cudaEventDestroy(recorded));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(recorded, nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventDestroy(recorded));
}

TEST_F(Graphs, CaptureRecordsWorkAndRunsItOnLaunchOnly) {
  int* data = device_ints({0, 0, 0});
  int* copy = device_ints({9, 9, 9});
  int count = 3, step = 5;
  constexpr int kRelaxed = 2;
  CHECK_CUDA(cudaStreamBeginCapture(stream_, kRelaxed));
  CHECK_CUDA(launch(stub.add, 1, 3, {&data, &count, &step}, 0, stream_));
  CHECK_CUDA(cudaMemcpyAsync(copy, data, 3 * sizeof(int), cudaMemcpyDeviceToDevice, stream_));
  int status = 0;
  CHECK_CUDA(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, 1);
  step = 1000;  // The captured launch has its own copy of the arguments.
  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamEndCapture(stream_, &graph));
  EXPECT_EQ(host_ints(copy, 3), (std::vector<int>{9, 9, 9}));
  cudaGraphExec_t exec = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, stream_));
  CHECK_CUDA(cudaGraphLaunch(exec, stream_));
  CHECK_CUDA(cudaStreamSynchronize(stream_));
  EXPECT_EQ(host_ints(copy, 3), (std::vector<int>{10, 10, 10}));
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream_));
}

TEST_F(Graphs, ForkAndJoinByEventsIsOneGraph) {
  int* data = device_ints({0, 0});
  int *second = data + 1, one = 1;
  cudaStream_t side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  CHECK_CUDA(cudaStreamCreate(&side));
  CHECK_CUDA(cudaEventCreate(&fork));
  CHECK_CUDA(cudaEventCreate(&join));
  CHECK_CUDA(cudaStreamBeginCapture(stream_, 0));
  CHECK_CUDA(launch(stub.add, 1, 1, {&data, &one, &one}, 0, stream_));
  CHECK_CUDA(cudaEventRecord(fork, stream_));
  CHECK_CUDA(cudaStreamWaitEvent(side, fork, 0));
  CHECK_CUDA(launch(stub.add, 1, 1, {&second, &one, &one}, 0, side));
  CHECK_CUDA(cudaEventRecord(join, side));
  CHECK_CUDA(cudaStreamWaitEvent(stream_, join, 0));
  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamEndCapture(stream_, &graph));
  size_t nodes = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 2u);
  cudaGraphExec_t exec = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, side));
  EXPECT_EQ(host_ints(data, 2), (std::vector<int>{1, 1}));
}

TEST_F(Graphs, CaptureThatIsDisturbedIsInvalidated) {
  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamBeginCapture(stream_, 0));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream_));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, launch(stub.nothing, 1, 1, {}, 0, stream_));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream_, &graph));
  EXPECT_EQ(graph, nullptr);
  CHECK_CUDA(cudaStreamBeginCapture(stream_, 0));
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit, launch(stub.nothing, 1, 1));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream_, &graph));
  EXPECT_CUDA(cudaErrorIllegalState, cudaStreamEndCapture(stream_, &graph));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, 0));
  CHECK_CUDA(launch(stub.nothing, 1, 1, {}, 0, stream_));
}

TEST_F(Graphs, HandMadeGraphRunsInDependencyOrderAndTakesNewParameters) {
  int* data = device_ints({7});
  int one = 1, step = 3, other_step = 4;
  void* arguments[] = {&data, &one, &step};
  cudaKernelNodeParams kernel = {&stub.add, {1, 1, 1}, {1, 1, 1}, 0, arguments, nullptr};
  cudaMemsetParams clear = {data, 4, 0, 4, 1, 1};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t add = nullptr, set = nullptr;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  CHECK_CUDA(cudaGraphAddKernelNode(&add, graph, nullptr, 0, &kernel));
  CHECK_CUDA(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &clear));
  CHECK_CUDA(cudaGraphAddDependencies(graph, &set, &add, nullptr, 1));  // First clear, then add.
  cudaGraphExec_t exec = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, stream_));
  EXPECT_EQ(host_ints(data, 1)[0], 3);
  arguments[2] = &other_step;
  CHECK_CUDA(cudaGraphExecKernelNodeSetParams(exec, add, &kernel));
  CHECK_CUDA(cudaGraphLaunch(exec, stream_));
  EXPECT_EQ(host_ints(data, 1)[0], 4);
  CHECK_CUDA(cudaGraphAddDependencies(graph, &add, &set, nullptr, 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));  // A cycle.
}

}  // namespace
