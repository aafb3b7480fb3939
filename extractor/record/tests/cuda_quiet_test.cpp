// How the CUDA recorder waits, without a GPU: the gate, and when a device is still.
#include <gtest/gtest.h>

#include <csignal>
#include <functional>
#include <thread>

#include "extractor/record/cuda/quiet/gate.h"
#include "extractor/record/cuda/quiet/signals.h"
#include "extractor/record/cuda/quiet/stillness.h"

namespace kernelift::record {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

TEST(SignalsHandler, IsKnownFromWithinAndNowhereElse) {
  static bool inside;
  auto before = std::signal(SIGUSR1, [](int) { inside = in_a_signals_handler(); });
  raise(SIGUSR1);
  std::signal(SIGUSR1, before);
  EXPECT_TRUE(inside);
  EXPECT_FALSE(in_a_signals_handler()) << "it is over";
  std::thread([] { EXPECT_FALSE(in_a_signals_handler()); }).join();
}

TEST(Gate, WaitsForThoseInsideAndHoldsUpThoseWhoCome) {
  Gate gate;
  std::atomic<bool> other_left{false}, late_entered{false};
  gate.enter();
  std::atomic<bool> other_inside{false};
  std::thread other([&] {
    gate.enter();
    other_inside = true;
    std::this_thread::sleep_for(30ms);
    other_left = true;
    gate.leave();
  });
  while (!other_inside) std::this_thread::yield();
  ASSERT_TRUE(gate.close(in(60s)));
  EXPECT_TRUE(other_left);
  std::thread late([&] {
    gate.enter();
    late_entered = true;
    gate.leave();
  });
  std::this_thread::sleep_for(30ms);
  EXPECT_FALSE(late_entered);
  gate.open();
  late.join(), other.join();
  EXPECT_TRUE(late_entered);
  EXPECT_EQ(gate.inside(), 0);
}

TEST(Gate, GivesUpAtTheDeadlineAndLeavesEverybodyGoing) {
  Gate gate;
  gate.enter();
  std::atomic<bool> stop{false}, inside{false};
  std::thread stuck([&] {
    gate.enter();
    inside = true;
    while (!stop) std::this_thread::yield();
    gate.leave();
  });
  while (!inside) std::this_thread::yield();
  EXPECT_FALSE(gate.close(in(30ms)));
  EXPECT_EQ(gate.inside(), 2);
  gate.enter();  // Nobody is held up.
  gate.leave();
  stop = true;
  stuck.join();
  gate.leave();
}

TEST(Gate, TwoThreadsThatBothWantToCloseItTakeTurns) {
  Gate gate;
  std::atomic<int> closed{0}, most{0};
  auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      gate.enter();
      if (gate.close(in(10s))) {
        most = std::max(most.load(), ++closed);
        --closed;
        gate.open();
      } else {
        gate.leave();
      }
    }
  };
  std::thread one(work), two(work);
  one.join(), two.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(gate.inside(), 0);
}

std::atomic<bool> stream_busy{false}, context_stuck{false};

CudaDriver fake_driver() {
  CudaDriver driver;
  driver.cuStreamQuery = [](CUstream stream) {
    return stream_busy && stream != CU_STREAM_LEGACY ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  };
  driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxSynchronize = [] {
    while (context_stuck) std::this_thread::sleep_for(1ms);
    return CUDA_SUCCESS;
  };
  return driver;
}

TEST(Stillness, WaitsForEveryStreamAndGivesUpOnOneThatWaitsForTheApplication) {
  static CudaDriver driver = fake_driver();
  auto& stillness = *new Stillness(driver);  // Its thread outlives the test.
  auto context = reinterpret_cast<CUcontext>(8);
  auto stream = reinterpret_cast<CUstream>(64);
  stillness.stream_created(context, stream);
  stream_busy = true;
  EXPECT_FALSE(stillness.wait(context, in(50ms)));
  std::thread later([] { std::this_thread::sleep_for(30ms), stream_busy = false; });
  EXPECT_TRUE(stillness.wait(context, in(60s)));
  later.join();
  context_stuck = true;  // Work of a stream that is not known here.
  EXPECT_FALSE(stillness.wait(context, in(50ms)));
  auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(stillness.wait(context, in(60s))) << "the helper is stuck still: no second wait";
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  context_stuck = false;
  bool still = false;  // As soon as the helper has noticed.
  for (int tries = 0; tries < 6000 && !still; ++tries)
    std::this_thread::sleep_for(10ms), still = stillness.wait(context, in(60s));
  EXPECT_TRUE(still);
}

TEST(Stillness, HearsOfANewStreamWhileItAsksTheDriverAboutOthers) {
  static std::function<void()> asked;
  static CudaDriver driver = fake_driver();
  driver.cuStreamQuery = [](CUstream) { return asked(), CUDA_SUCCESS; };
  auto& stillness = *new Stillness(driver);
  auto context = reinterpret_cast<CUcontext>(8);
  stillness.stream_created(context, reinterpret_cast<CUstream>(64));
  std::atomic<bool> told{false};
  std::thread other;
  bool meanwhile = false;
  asked = [&] {  // The other thread holds the lock that this question is about to take.
    if (other.joinable()) return;
    other = std::thread([&] { stillness.stream_created(context, reinterpret_cast<CUstream>(128)), told = true; });
    for (int tries = 0; tries < 1000 && !told; ++tries) std::this_thread::sleep_for(10ms);
    meanwhile = told;
  };
  EXPECT_TRUE(stillness.wait(context, in(60s)));
  other.join();
  EXPECT_TRUE(meanwhile);
}

TEST(Stillness, KnowsWhetherAnyStreamCaptures) {
  static CudaDriver driver = fake_driver();
  Stillness stillness(driver);
  auto one = reinterpret_cast<CUstream>(64), two = reinterpret_cast<CUstream>(128);
  stillness.capture_begun(one);
  stillness.capture_begun(two);
  stillness.capture_ended(one);
  EXPECT_TRUE(stillness.capturing());
  stillness.stream_gone(nullptr, two);  // Destroyed in the middle of it.
  EXPECT_FALSE(stillness.capturing());
}

TEST(Stillness, ForgetsWhatAThreadCapturedThatIsNoMore) {
  static CudaDriver driver = fake_driver();
  Stillness stillness(driver);
  std::thread([&] {
    stillness.capture_begun(CU_STREAM_PER_THREAD);
    EXPECT_TRUE(stillness.capturing());
  }).join();
  EXPECT_FALSE(stillness.capturing()) << "nobody can end that capture any more";
  auto stream = reinterpret_cast<CUstream>(64);
  std::thread([&] { stillness.capture_begun(stream); }).join();
  EXPECT_TRUE(stillness.capturing()) << "another thread may end this one";
}

TEST(Stillness, TellsThreadsThatCaptureTheirOwnStreamsApart) {
  static CudaDriver driver = fake_driver();
  Stillness stillness(driver);
  stillness.capture_begun(CU_STREAM_PER_THREAD);
  std::thread([&] {
    EXPECT_FALSE(stillness.capturing(CU_STREAM_PER_THREAD));
    stillness.capture_begun(CU_STREAM_PER_THREAD);
    stillness.capture_ended(CU_STREAM_PER_THREAD);
    stillness.capture_ended(CU_STREAM_PER_THREAD);  // Which the driver refuses.
  }).join();
  EXPECT_TRUE(stillness.capturing());
  EXPECT_TRUE(stillness.capturing(CU_STREAM_PER_THREAD));
  stillness.capture_ended(CU_STREAM_PER_THREAD);
  EXPECT_FALSE(stillness.capturing());
}

}  // namespace
}  // namespace kernelift::record
