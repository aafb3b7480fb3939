// A ClockControl that appends lines to a file: clocks are reset however the locking process ends. Needs no GPU.
#include "sandbox/device/cuda/clock_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "core/base/file.h"

namespace kernelift::sandbox {
namespace {

class FileClocks : public ClockControl {
 public:
  FileClocks(std::filesystem::path file, bool permitted) : file_(std::move(file)), permitted_(permitted) {}
  Status lock() override {
    if (!permitted_) return environment_error("this user may not lock the GPU's clocks");
    std::ofstream(file_, std::ios::app) << "locked\n";
    return done();
  }
  void reset() override { std::ofstream(file_, std::ios::app) << "reset\n"; }

 private:
  std::filesystem::path file_;
  bool permitted_;
};

class ClockLockTest : public ::testing::Test {
 protected:
  ClockControlFactory clocks(bool permitted = true) {
    return [file = file(), permitted]() -> Result<std::unique_ptr<ClockControl>> {
      return std::unique_ptr<ClockControl>(new FileClocks(file, permitted));
    };
  }
  std::filesystem::path file() const { return folder_.path() / "clocks"; }
  std::string happened() const {
    auto text = read_text(file());
    return text.ok() ? *text : "";
  }
  /// Waits up to 10 s for the clocks to be reset.
  std::string happened_at_last() const {
    for (int i = 0; i < 500 && happened().find("reset") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return happened();
  }
  /// A process in a group of its own that locks, calls `then`, and runs until it is killed.
  pid_t locked_process(const std::function<void()>& then = [] {}) {
    pid_t child = fork();
    if (child == 0) {
      setpgid(0, 0);
      signal(SIGINT, SIG_DFL);  // Ignored in processes that a script starts in the background.
      auto lock = ClockLock::take(clocks());
      then();
      if (lock.ok()) pause();
      _exit(1);
    }
    for (int i = 0; i < 500 && happened() != "locked\n"; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return child;
  }
  TemporaryFolder folder_ = std::move(*TemporaryFolder::create("kernelift-clock-lock-test"));
};

TEST_F(ClockLockTest, HoldsTheClocksForItsLifetime) {
  {
    auto lock = ClockLock::take(clocks());
    ASSERT_TRUE(lock.ok()) << lock.error().message;
    EXPECT_EQ(happened(), "locked\n");
  }
  EXPECT_EQ(happened(), "locked\nreset\n");
}

TEST_F(ClockLockTest, ResetsTheClocksWhicheverSignalEndsTheProcess) {
  for (int number : {SIGINT, SIGTERM, SIGKILL, SIGSEGV}) {
    std::filesystem::remove(file());
    pid_t process = locked_process();
    ASSERT_EQ(happened(), "locked\n");
    kill(-process, number);  // To the whole group, as a terminal does.
    waitpid(process, nullptr, 0);
    EXPECT_EQ(happened_at_last(), "locked\nreset\n") << number;
  }
}

TEST_F(ClockLockTest, ResetsTheClocksThoughAChildOfTheProcessStillRuns) {
  pid_t process = locked_process([] {
    if (fork() == 0) {
      sleep(20);
      _exit(0);
    }
  });
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  EXPECT_EQ(happened_at_last(), "locked\nreset\n");
  kill(-process, SIGKILL);
}

TEST_F(ClockLockTest, SaysWhyTheClocksAreNotLocked) {
  auto refused = ClockLock::take(clocks(false));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().exit, Exit::Environment);
  EXPECT_EQ(refused.error().message, "this user may not lock the GPU's clocks");
  auto absent =
      ClockLock::take([]() -> Result<std::unique_ptr<ClockControl>> { return environment_error("there is no GPU"); });
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().message, "there is no GPU");
  auto dead = ClockLock::take([]() -> Result<std::unique_ptr<ClockControl>> { _exit(3); });
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(happened(), "");
}

TEST(LockClocks, IsForNvidiaGpusAndOffByDefault) {
  auto unwanted = lock_clocks(false, "cpu");
  ASSERT_TRUE(unwanted.ok());
  EXPECT_EQ(*unwanted, nullptr);
  EXPECT_FALSE(lock_clocks(true, "cpu").ok());
}

}  // namespace
}  // namespace kernelift::sandbox
