// Workers that work, crash, loop and send malformed data; the fork server survives them and ends with its owner.
#include "sandbox/jail/fork_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace kernelift::sandbox {
namespace {

using std::chrono::milliseconds;
using ::testing::ContainsRegex, ::testing::HasSubstr;

constexpr auto kLongWait = std::chrono::seconds(60);  // Replies come at once, or the test has failed.

int warmed_up = 0;

/// A worker that does what each frame's body says.
void obey(Channel& channel, WorkerCell& cell) {
  report_faults_to(&cell.fault);
  while (Frame frame = channel.receive()) {
    cell.set_stage(frame.body);
    if (frame.body == "crash") *reinterpret_cast<volatile int*>(8) = 0;
    if (frame.body == "loop")
      for (volatile unsigned i = 0;; i = i + 1) {}
    if (frame.body == "shrink")
      for (int fd = STDERR_FILENO + 1; fd < 64; ++fd) (void)!ftruncate(fd, 0);
    if (frame.body == "garbage") {
      std::string noise(100, '\xff');
      (void)!write(channel.fd(), noise.data(), noise.size());
      continue;
    }
    channel.send(1, "warm " + std::to_string(warmed_up));
  }
}

std::unique_ptr<ForkServer> start() {
  auto fork_server = ForkServer::start({"kl-test", [] { warmed_up = 1; }, obey});
  EXPECT_TRUE(fork_server.ok());
  return std::move(*fork_server);
}

Worker spawn(ForkServer& fork_server) {
  auto worker = fork_server.spawn();
  EXPECT_TRUE(worker.ok());
  return std::move(*worker);
}

TEST(ForkServer, KeepsTheCellReadableThoughItsWorkerTruncatesTheFile) {
  auto fork_server = start();
  Worker worker = spawn(*fork_server);
  ASSERT_TRUE(worker.channel().send(1, "shrink"));
  ASSERT_TRUE(worker.channel().receive(after(kLongWait)));
  EXPECT_EQ(worker.cell().read_stage(), "shrink");
}

TEST(ForkServer, KeepsTheCellFromChildrenOfTheWorker) {
  auto fork_server = ForkServer::start({"kl-test", {}, [](Channel& channel, WorkerCell& cell) {
                                          pid_t child = fork();
                                          if (child == 0) {
                                            cell.set_item("of a candidate");
                                            _exit(0);
                                          }
                                          int status = 0;
                                          waitpid(child, &status, 0);
                                          channel.send(1, WIFSIGNALED(status) ? "it faulted" : "it wrote");
                                        }});
  ASSERT_TRUE(fork_server.ok());
  Worker worker = spawn(**fork_server);
  EXPECT_EQ(worker.channel().receive(after(kLongWait)).body, "it faulted");
  EXPECT_EQ(worker.cell().read_item(), "");
}

TEST(ForkServer, ForksAWarmWorkerForEachRequest) {
  auto fork_server = start();
  Worker one = spawn(*fork_server), two = spawn(*fork_server);
  for (Worker* worker : {&one, &two}) {
    ASSERT_TRUE(worker->channel().send(1, "hello"));
    Frame frame = worker->channel().receive(after(kLongWait));
    EXPECT_EQ(frame.body, "warm 1");
    EXPECT_EQ(kill(worker->pid(), 0), 0);
  }
  EXPECT_NE(one.pid(), two.pid());
  EXPECT_EQ(warmed_up, 0);
}

TEST(ForkServer, ReplacesACrashedWorkerInMilliseconds) {
  auto fork_server = start();
  Worker worker = spawn(*fork_server);
  auto fastest = std::chrono::steady_clock::duration::max();  // Of several, because the machine may be busy.
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(worker.channel().send(1, "crash"));
    EXPECT_EQ(worker.channel().receive(after(kLongWait)).arrival, Arrival::Closed);
    EXPECT_NE(worker.end().find("writing 0x8"), std::string::npos);
    EXPECT_EQ(worker.cell().read_stage(), "crash");
    auto begin = std::chrono::steady_clock::now();
    worker = spawn(*fork_server);
    fastest = std::min(fastest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(fastest, milliseconds(200));
  ASSERT_TRUE(worker.channel().send(1, "hello"));
  EXPECT_TRUE(worker.channel().receive(after(kLongWait)));
}

TEST(ForkServer, SaysHowItDied) {
  auto by_exit = ForkServer::start({"kl-test", [] { _exit(7); }, obey}),
       by_signal = ForkServer::start({"kl-test", [] { *reinterpret_cast<volatile int*>(8) = 0; }, obey});
  ASSERT_TRUE(by_exit.ok() && by_signal.ok());
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto none = (*by_exit)->spawn();
    ASSERT_FALSE(none.ok());
    EXPECT_THAT(none.error().message, HasSubstr("has died (exit code 7, while warming up)"));
    EXPECT_TRUE((*by_exit)->has_died());
  }
  auto none = (*by_signal)->spawn();
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(
      none.error().message,
      ContainsRegex("has died .Segmentation fault writing 0x8, while warming up, at .0x[0-9a-f]+ of this program"));
}

TEST(ForkServer, EndsAWorkerThatLoops) {
  auto fork_server = start();
  Worker worker = spawn(*fork_server);
  ASSERT_TRUE(worker.channel().send(1, "loop"));
  EXPECT_EQ(worker.channel().receive(after(milliseconds(50))).arrival, Arrival::TimedOut);
  EXPECT_TRUE(worker.alive());
  EXPECT_EQ(worker.end(), "killed");
  EXPECT_FALSE(worker.alive());
}

TEST(ForkServer, ReportsAWorkersMalformedFrame) {
  auto fork_server = start();
  Worker worker = spawn(*fork_server);
  ASSERT_TRUE(worker.channel().send(1, "garbage"));
  EXPECT_EQ(worker.channel().receive(after(kLongWait)).arrival, Arrival::Malformed);
}

TEST(ForkServer, EndsWithItsWorkersWhenTheOwnerIsKilled) {
  int link[2];
  ASSERT_EQ(pipe(link), 0);
  pid_t owner = fork();
  if (owner == 0) {
    auto fork_server = ForkServer::start({"kl-test", {}, [](Channel&, WorkerCell&) {
                                            for (;;) pause();
                                          }});
    auto worker = (*fork_server)->spawn();
    pid_t pid = worker->pid();
    (void)!write(link[1], &pid, sizeof pid);
    pause();
  }
  pid_t worker = 0;
  ASSERT_EQ(read(link[0], &worker, sizeof worker), ssize_t(sizeof worker));
  ASSERT_EQ(kill(worker, 0), 0);
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  int gone = 0;
  for (int tries = 0; tries < 2000 && !gone; ++tries) usleep(1000), gone = kill(worker, 0) != 0;
  EXPECT_TRUE(gone);
  close(link[0]), close(link[1]);
}

}  // namespace
}  // namespace kernelift::sandbox
