// Tests of a tuning process that is killed by SIGKILL: it loses at most the candidates in flight, and its run resumes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

/// Starts the slow tuner, kills it after it has announced `lines` stored candidates; returns the last announced count.
size_t run_and_kill(const MepFolder& mep, const std::filesystem::path& file, int lines) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  std::string program = (executable_folder() / "slow_tuning").string();
  pid_t child = ::fork();
  if (child == 0) {
    ::dup2(pipe_ends[1], 1);
    ::execl(program.c_str(), program.c_str(), mep.folder.path().c_str(), file.c_str(), "100000", nullptr);
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  FILE* output = ::fdopen(pipe_ends[0], "r");
  char line[64];
  size_t announced = 0;
  for (int seen = 0; seen < lines && std::fgets(line, sizeof line, output); ++seen)
    announced = std::strtoul(line, nullptr, 10);
  ::kill(child, SIGKILL);
  while (std::fgets(line, sizeof line, output))
    if (std::strchr(line, '\n')) announced = std::strtoul(line, nullptr, 10);
  std::fclose(output);
  ::waitpid(child, nullptr, 0);
  return announced;
}

TEST(KilledTuner, LosesAtMostCandidatesInFlight) {
  MepFolder mep;
  auto folder = *TemporaryFolder::create("crash");
  auto file = folder.path() / "k-1.klrun";
  size_t before = 0;
  for (int lines : {1, 7, 23, 12, 40}) {
    size_t announced = run_and_kill(mep, file, lines);
    auto run = Run::resume(file);
    ASSERT_TRUE(run.ok()) << run.error().message;
    size_t stored = run->history()->size() - 1;  // Without the original.
    EXPECT_GE(stored, announced);
    EXPECT_GE(stored, before);
    before = stored;
  }
  EXPECT_GE(before, 60u);
}

TEST(KilledTuner, FinishesTheSameRunAfterwards) {
  MepFolder mep;
  auto folder = *TemporaryFolder::create("crash");
  auto file = folder.path() / "k-1.klrun";
  run_and_kill(mep, file, 10);
  auto outcome =
      run_process({(executable_folder() / "slow_tuning").string(), mep.folder.path().string(), file.string(), "60"});
  ASSERT_TRUE(outcome.ok() && outcome->ok()) << outcome->out;
  auto trials = *Run::open(file)->history();
  EXPECT_EQ(trials.size(), 61u);
  std::set<Hash> keys;
  for (auto& trial : trials) EXPECT_TRUE(keys.insert(trial.candidate.key()).second);
}

}  // namespace
}  // namespace kernelift::tuner
