// A signal that asks this process to stop reaches the running command and all processes that it has started.
#include "reintegrate/interruption.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "core/base/file.h"

namespace kernelift::reintegrate {
namespace {

/// Runs the line and sends this process the signal as soon as the line has created the file `begun`.
Result<ProcessOutcome> interrupted_run(const std::string& line, int signal, Ending ending) {
  auto folder = TemporaryFolder::create("kernelift-interruption");
  InterruptGuard guard;
  std::filesystem::path begun = folder->path() / "begun";
  std::thread user([&] {
    while (!std::filesystem::exists(begun)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(getpid(), signal);
  });
  ProcessOptions options;
  options.folder = folder->path();
  auto ran = run_interruptibly({"/bin/sh", "-c", line}, options, ending);
  user.join();
  EXPECT_TRUE(InterruptGuard::interrupted());
  return ran;
}

TEST(Interruption, IsHandedOnToAllDescendantsOfTheCommand) {
  auto ran = interrupted_run("trap 'echo saved; exit 7' TERM; { echo > begun; sleep 1000; } & wait; exit 1", SIGTERM,
                             Ending::HandedOn);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->exit_code, 7);
  EXPECT_EQ(ran->out, "saved\n");
  EXPECT_LT(ran->seconds, 100);
}

TEST(Interruption, KillsACommandThatIgnoresTheSignal) {
  auto ran =
      interrupted_run("trap '' INT TERM; echo > begun; sleep 1000; echo went on; sleep 1000", SIGINT, Ending::Killed);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->signal, SIGKILL);
  EXPECT_EQ(ran->out, "");
}

TEST(Interruption, IsForgottenWhenItsGuardEnds) {
  {
    InterruptGuard guard;
    kill(getpid(), SIGHUP);
    EXPECT_TRUE(guard.interrupted());
  }
  InterruptGuard next;
  EXPECT_FALSE(next.interrupted());
}

}  // namespace
}  // namespace kernelift::reintegrate
