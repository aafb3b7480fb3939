// Numbers of open files: none of ours is a standard stream's, and what an application does to its own numbers neither
// ends our writing nor sends it into the application's files. Each case closes descriptors, so it runs in a process of
// its own.
#include "core/base/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/chunk_store.h"
#include "core/base/file.h"
#include "core/base/locks/lock.h"
#include "core/base/process.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

/// Runs `work` in a child; its exit code, which names the step that failed, or -1.
int in_a_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<std::byte> bytes_of(const char* text) {
  auto* begin = reinterpret_cast<const std::byte*>(text);
  return {begin, begin + std::strlen(text)};
}

class DescriptorTest : public testing::Test {
 protected:
  TemporaryFolder folder_ = *TemporaryFolder::create("descriptors");
  fs::path blobs_ = folder_.path() / "blobs.klb", other_ = folder_.path() / "other";
};

TEST_F(DescriptorTest, AFileIsNeverOpenedAsAStandardStream) {
  EXPECT_EQ(in_a_child([&] {
              for (int fd : {0, 1, 2}) close(fd);
              auto file = OwnFile::create(other_);
              if (!file.ok() || file->number() < 3) return 1;
              if (!write_atomically(folder_.path() / "whole", std::string_view("text")).ok()) return 2;
              auto lock = Lock::take(folder_.path() / "lock", "somebody is there");
              if (!lock.ok()) return 3;
              // As the application finds it: its next file gets the number that it would get without us.
              return open("/dev/null", O_RDONLY) == 0 ? 0 : 4;
            }),
            0);
}

TEST_F(DescriptorTest, WhatAnApplicationPrintsAfterItClosedStdoutIsNotInOurFile) {
  EXPECT_EQ(in_a_child([&] {
              close(1), close(2);
              auto writer = ChunkWriter::create(blobs_);
              if (!writer.ok()) return 1;
              // Closed, these numbers belong to nobody: both fail, as they would without us.
              if (write(1, "printed", 7) >= 0 || write(2, "printed", 7) >= 0) return 2;
              return (*writer)->put(bytes_of("chunk")).ok() && (*writer)->sync().ok() ? 0 : 3;
            }),
            0);
  EXPECT_EQ(read_text(blobs_)->find("printed"), std::string::npos);
  EXPECT_TRUE(ChunkReader::open(blobs_).value()->damage().empty());
}

TEST_F(DescriptorTest, AnApplicationThatClosesEverythingAndOpensItsOwnFilesLosesNothingToUs) {
  EXPECT_EQ(in_a_child([&] {
              auto writer = ChunkWriter::create(blobs_);
              if (!writer.ok() || !(*writer)->put(bytes_of("before")).ok()) return 1;
              for (int fd = 0; fd < 1100; ++fd) close(fd);  // As daemons do.
              for (int fd = 0; fd < 1000; ++fd)
                if (open(other_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644) != fd) return 2;
              if (!(*writer)->put(bytes_of("after")).ok() || !(*writer)->sync().ok()) return 3;
              writer->reset();
              return fcntl(999, F_GETFD) >= 0 && write(999, "own", 3) == 3 ? 0 : 4;  // Not closed by us.
            }),
            0);
  EXPECT_EQ(*read_text(other_), "own");
  auto reader = ChunkReader::open(blobs_);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE((*reader)->damage().empty());
  for (auto* text : {"before", "after"}) EXPECT_TRUE((*reader)->has(hash_bytes(bytes_of(text)))) << text;
}

TEST_F(DescriptorTest, AFileThatIsClosedAndGoneIsAnError) {
  EXPECT_EQ(in_a_child([&] {
              auto file = OwnFile::create(blobs_);
              if (!file.ok()) return 1;
              close(file->number());
              fs::rename(blobs_, other_);
              return file->hold().ok() ? 2 : 0;
            }),
            0);
}

TEST_F(DescriptorTest, ClosedStandardStreamsAreHeldAndStdoutStillFails) {
  EXPECT_EQ(in_a_child([&] {
              close(0), close(1), close(2);
              hold_standard_streams();
              if (open("/dev/null", O_RDONLY) < 3) return 1;
              char byte;
              if (read(0, &byte, 1) != 0) return 2;
              if (write(1, "x", 1) != -1 || errno != EBADF) return 3;
              return write(2, "x", 1) == 1 ? 0 : 4;
            }),
            0);
}

TEST_F(DescriptorTest, ALockIsFreeWhenItsHolderWasKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const fs::path file = folder_.path() / "lock";
  const pid_t holder = fork();
  if (holder == 0) {
    auto lock = Lock::take(file, "another is there");
    (void)!write(ready[1], lock.ok() ? "y" : "n", 1);
    pause();
    _exit(0);
  }
  char held = 0;
  ASSERT_EQ(read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  auto refused = Lock::take(file, "another is there");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().exit, Exit::Environment);
  EXPECT_EQ(refused.error().message, "another is there (" + file.string() + " is locked): wait for it to end");
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  close(ready[0]), close(ready[1]);
  EXPECT_TRUE(Lock::take(file, "another is there").ok());
}

}  // namespace
TEST(Descriptors, AreAsManyAsAllowedHereButNotInProgramsThatAreStarted) {
  EXPECT_EQ(in_a_child([] {
              rlimit limit{};
              if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              const rlim_t few = limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 333);
              if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
              raise_descriptor_limit();
              if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur != limit.rlim_max) return 3;
              auto there = run_process({"/bin/sh", "-c", "ulimit -n"});
              return there.ok() && there->out == std::to_string(few) + "\n" ? 0 : 4;
            }),
            0);
}

}  // namespace kernelift
