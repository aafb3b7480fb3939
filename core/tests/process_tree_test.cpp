// Commands that scatter their processes over groups, sessions and orphans: all of them end with the process that
// started them.
#include "core/base/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "core/base/file.h"
#include "core/base/process.h"

namespace kernelift {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool within_seconds(int seconds, const auto& holds) {
  for (auto end = steady_clock::now() + std::chrono::seconds(seconds); !holds();) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return true;
}

class Tree : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create("kernelift-tree");
    ASSERT_TRUE(made.ok());
    folder_.emplace(std::move(*made));
  }
  std::filesystem::path file(const std::string& name) const { return folder_->path() / name; }
  /// The process that has written its number into the file; 0: none yet.
  pid_t process(const std::string& name) const {
    auto text = read_text(file(name));
    return text.ok() ? std::atoi(text->c_str()) : 0;
  }
  /// Not one that has ended and was only not waited for yet.
  bool runs(const std::string& name) const {
    auto stat = read_text("/proc/" + std::to_string(process(name)) + "/stat");
    return process(name) > 0 && stat.ok() && stat->find(") Z") == stat->npos;
  }
  ProcessOptions options() const {
    ProcessOptions made;
    made.folder = folder_->path();
    return made;
  }
  /// Three processes that write their numbers: the command, one in a session of its own, and one whose parent has
  /// ended.
  static constexpr const char* kScattered =
      "setsid sh -c 'echo $$ > session; sleep 1000' & sh -c \"sh -c 'echo \\$\\$ > orphan; sleep 1000' &\"; "
      "echo $$ > command; sleep 1000; sleep 1000";
  bool all_run() const { return runs("command") && runs("session") && runs("orphan"); }
  /// Whether the shell "command" has come to its first sleep.
  bool command_sleeps() const {
    const std::string shell = std::to_string(process("command"));
    auto children = read_text("/proc/" + shell + "/task/" + shell + "/children");
    std::istringstream numbers(children.ok() ? *children : "");
    for (std::string number; numbers >> number;)
      if (auto name = read_text("/proc/" + number + "/comm"); name.ok() && *name == "sleep\n") return true;
    return false;
  }
  bool none_runs() const { return !runs("command") && !runs("session") && !runs("orphan"); }

  std::optional<TemporaryFolder> folder_;
};

TEST_F(Tree, EndsWithItsOwnerHoweverThatEnds) {
  pid_t owner = fork();
  if (owner == 0) {
    ProcessTree tree;
    ProcessOptions run = options();
    run.prepare = tree.prepare();
    (void)run_process({"/bin/sh", "-c", kScattered}, run);
    _exit(0);
  }
  ASSERT_TRUE(within_seconds(20, [&] { return all_run(); }));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(within_seconds(20, [&] { return none_runs(); }));
}

TEST_F(Tree, IsKilledAsAWhole) {
  ProcessTree tree;
  ProcessOptions run = options();
  run.prepare = tree.prepare();
  bool begun = false;
  std::thread killer([&] {
    begun = within_seconds(20, [&] { return all_run(); });
    EXPECT_TRUE(tree.kill());
  });
  auto ran = run_process({"/bin/sh", "-c", kScattered}, run);
  killer.join();
  EXPECT_TRUE(begun);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->signal, SIGTERM);
  EXPECT_TRUE(none_runs());
}

TEST_F(Tree, IsKilledWithThoseThatOutliveTheCommandAndIgnoreSigterm) {
  ProcessTree tree;
  ProcessOptions run = options();
  run.prepare = tree.prepare();
  bool begun = false, killed = false, left = true;
  std::thread killer([&] {
    begun = within_seconds(20, [&] { return runs("command") && runs("stubborn"); });
    killed = tree.kill(), left = runs("stubborn");
  });
  auto ran = run_process({"/bin/sh", "-c",
                          "setsid sh -c 'trap \"\" TERM; echo $$ > stubborn; exec sleep 1000' & echo $$ > command; "
                          "sleep 1000; sleep 1000"},
                         run);
  killer.join();
  EXPECT_TRUE(begun);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->signal, SIGTERM);
  EXPECT_TRUE(killed);
  EXPECT_FALSE(left);
  if (left) kill(process("stubborn"), SIGKILL);
}

TEST_F(Tree, HandsASignalOnToAllOfItAndLeavesNothingBehind) {
  ProcessTree tree;
  ProcessOptions run = options();
  run.prepare = tree.prepare();
  bool begun = false;
  std::thread asking([&] {
    begun = within_seconds(20, [&] { return all_run() && process("saves") > 0; });
    tree.hand_on(SIGTERM);
  });
  // One saves its state first, although the command does not wait for it.
  const std::string saving =
      "sh -c 'trap \"sleep 0.5; echo 1 > saved; exit\" TERM; echo $$ > saves; "
      "while :; do sleep 0.01; done' & ";
  auto ran = run_process({"/bin/sh", "-c", saving + kScattered}, run);
  asking.join();
  EXPECT_TRUE(begun);
  ASSERT_TRUE(ran.ok());
  EXPECT_EQ(ran->signal, SIGTERM);
  EXPECT_TRUE(none_runs() && !runs("saves"));
  EXPECT_EQ(process("saved"), 1);
}

TEST_F(Tree, EndsAtTheDeadlineWithThoseThatLeftItsGroup) {
  ProcessTree tree;
  ProcessOptions run = options();
  run.prepare = tree.prepare();
  run.timeout = milliseconds(1500);
  auto ran = run_process({"/bin/sh", "-c", kScattered}, run);
  ASSERT_TRUE(ran.ok());
  EXPECT_TRUE(ran->timed_out);
  EXPECT_TRUE(none_runs());
}

TEST_F(Tree, EndsAsItsCommandEnded) {
  auto outcome = [&](const std::vector<std::string>& words) {
    ProcessTree tree;
    ProcessOptions run = options();
    run.prepare = tree.prepare();
    return run_process(words, run);
  };
  EXPECT_EQ(outcome({"/bin/sh", "-c", "echo out; exit 7"})->exit_code, 7);
  EXPECT_EQ(outcome({"/bin/sh", "-c", "echo out; exit 7"})->out, "out\n");
  EXPECT_EQ(outcome({"/bin/sh", "-c", "kill -SEGV $$"})->signal, SIGSEGV);
  auto missing = outcome({"/no/such/program"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("cannot run '/no/such/program'"), std::string::npos);
}

TEST_F(Tree, LeavesADaemonThatItsCommandStarted) {
  ProcessTree tree;
  ProcessOptions run = options();
  run.prepare = tree.prepare();
  auto ran = run_process({"/bin/sh", "-c",
                          "setsid sh -c 'echo $$ > daemon; exec sleep 1000' >/dev/null 2>&1 & "
                          "until test -s daemon; do sleep 0.01; done"},
                         run);
  ASSERT_TRUE(ran.ok() && ran->ok());
  EXPECT_TRUE(runs("daemon"));
  kill(process("daemon"), SIGKILL);
}

TEST_F(Tree, HoldsNoLockOfItsOwner) {
  // A supervisor that outlives its owner for a moment must not seem to be another `kernelift` at work.
  ProcessTree tree;
  ProcessOptions run = options();
  run.prepare = tree.prepare();
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  std::thread command([&] { (void)run_process({"/bin/sh", "-c", "echo $$ > command; exec sleep 1000"}, run); });
  EXPECT_TRUE(within_seconds(20, [&] { return runs("command"); }));
  close(pipe_ends[1]);
  char byte;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0) << "the other end is still open in some process";
  close(pipe_ends[0]);
  tree.kill();
  command.join();
}

TEST_F(Tree, IsFoundByItsEnvironmentAfterItsSupervisorWasKilled) {
  const std::string variable = "KERNELIFT_TREE_TEST=" + std::to_string(getpid());
  ProcessOptions run = options();
  run.environment = {{"KERNELIFT_TREE_TEST", std::to_string(getpid())}};
  std::thread command([&] { (void)run_process({"/bin/sh", "-c", kScattered}, run); });
  EXPECT_TRUE(within_seconds(20, [&] { return all_run() && command_sleeps(); }));
  EXPECT_TRUE(end_processes_with("KERNELIFT_TREE_TEST=another").empty());
  EXPECT_TRUE(all_run());
  auto names = end_processes_with(variable);
  command.join();
  EXPECT_TRUE(within_seconds(20, [&] { return none_runs(); }));
  EXPECT_NE(std::find(names.begin(), names.end(), "sleep"), names.end());
}

}  // namespace
}  // namespace kernelift
