// A killed process's temporary folder goes with the next sweep; a living one's stays.
#include "core/base/locks/abandoned_folders.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

TEST(AbandonedFolders, AreThoseOfKilledProcessesOnly) {
  auto base = TemporaryFolder::create("kernelift-sweep");
  ASSERT_TRUE(base.ok());
  auto in_use = TemporaryFolder::create("kernelift-mine", base->path());
  ASSERT_TRUE(in_use.ok());
  fs::create_directory(base->path() / "somebody-elses");
  pid_t child = fork();
  if (child == 0) {
    auto left = TemporaryFolder::create("kernelift-left", base->path());
    std::ofstream(left->path() / "file") << "text";
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  auto count = [&] { return std::distance(fs::directory_iterator(base->path()), fs::directory_iterator()); };
  ASSERT_EQ(count(), 3);
  sweep_abandoned_folders(base->path());
  EXPECT_EQ(count(), 2);
  EXPECT_TRUE(fs::exists(in_use->path()));
  EXPECT_TRUE(fs::exists(base->path() / "somebody-elses"));
}

TEST(AbandonedFolders, ArePickedUpAgainAfterTheirUse) {
  auto base = TemporaryFolder::create("kernelift-sweep");
  ASSERT_TRUE(base.ok());
  fs::path folder = base->path() / "kernelift-twice.held-aBcDeF";
  for (int repetition = 0; repetition < 2; ++repetition) {
    fs::create_directory(folder);
    EXPECT_TRUE(hold_folder(folder));
    sweep_abandoned_folders(base->path());
    EXPECT_TRUE(fs::exists(folder));
    release_folder(folder);
    sweep_abandoned_folders(base->path());
    EXPECT_FALSE(fs::exists(folder));
  }
}

}  // namespace
}  // namespace kernelift
