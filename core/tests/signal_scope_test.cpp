// Requests to end, while something must be saved.
#include "core/base/signal_scope.h"

#include <gtest/gtest.h>

#include <csignal>

namespace kernelift {
namespace {

volatile std::sig_atomic_t ours = 0, theirs = 0;

struct sigaction action(void (*handler)(int)) {
  struct sigaction made{};
  made.sa_handler = handler;
  return made;
}

TEST(SignalScope, GivesSignalsToItsHandlerAndPutsBackWhatWasThere) {
  const auto before = action([](int) { theirs = theirs + 1; });
  struct sigaction original{};
  sigaction(SIGTERM, &before, &original);
  ours = 0;
  theirs = 0;
  {
    const SignalScope scope(action([](int) { ours = ours + 1; }));
    raise(SIGTERM);
  }
  EXPECT_EQ(ours, 1);
  raise(SIGTERM);
  EXPECT_EQ(theirs, 1);
  EXPECT_EQ(ours, 1);
  sigaction(SIGTERM, &original, nullptr);
}

TEST(SignalScope, LeavesASignalIgnoredThatTheProcessWasStartedToIgnore) {
  const auto nohup = action(SIG_IGN);
  struct sigaction original{};
  sigaction(SIGHUP, &nohup, &original);
  ours = 0;
  {
    const SignalScope scope(action([](int) { ours = ours + 1; }));
    raise(SIGHUP);
  }
  raise(SIGHUP);
  EXPECT_EQ(ours, 0);
  sigaction(SIGHUP, &original, nullptr);
}

}  // namespace
}  // namespace kernelift
