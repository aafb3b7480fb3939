// The journal: however the process ends, the original text is restored, and edits by the user are never overwritten.
#include "reintegrate/tree/patch_journal.h"

#include <sys/stat.h>

#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

class Journal : public Application {
 protected:
  SourcePatch patch() {
    candidate("0.05", "0.01");
    return *plan_patch({request.mep, request.original, request.candidate, nullptr, root});
  }
  PatchJournal open() {
    auto journal = PatchJournal::open(request.state, leftovers);
    EXPECT_TRUE(journal.ok());
    return std::move(*journal);
  }
  /// Leaves a patched file and a journal behind, as a killed process does.
  void interrupt() {
    SourcePatch change = patch();
    ASSERT_TRUE(is_killed_in([&] {
      auto journal = PatchJournal::open(request.state, leftovers);
      bool written = journal.ok() && journal->begin(change).ok() && journal->write_patched().ok();
      if (written) kill(getpid(), SIGKILL);
    }));
    ASSERT_NE(read("src/k.cu"), kKernelText);
  }
  Restoration leftovers;
};

TEST_F(Journal, RestoresTheFilesThatAKilledProcessLeftPatched) {
  interrupt();
  open();
  EXPECT_TRUE(leftovers.needed);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(Journal, IsInterruptedIfAPatchIsUnfinishedAndNoApplyIsRunning) {
  EXPECT_FALSE(PatchJournal::interrupted(request.state));
  {
    SourcePatch change = patch();
    PatchJournal journal = open();
    ASSERT_TRUE(journal.begin(change).ok());
    EXPECT_FALSE(PatchJournal::interrupted(request.state)) << "apply is running; builds that it starts ask this too";
  }
  request.candidate.source = request.original;
  interrupt();
  EXPECT_TRUE(PatchJournal::interrupted(request.state));
  open();
  EXPECT_FALSE(PatchJournal::interrupted(request.state));
}

TEST_F(Journal, RestoresOnlyOnce) {
  interrupt();
  open();
  open();
  EXPECT_FALSE(leftovers.needed);
}

TEST_F(Journal, LeavesAlonePatchedFilesThatTheUserEditedSince) {
  interrupt();
  shell("echo '// mine' >> src/k.cu");
  std::string mine = read("src/k.cu");
  open();
  ASSERT_EQ(leftovers.left.size(), 1u);
  EXPECT_EQ(read("src/k.cu"), mine);
}

TEST_F(Journal, StaysIfAWrittenFileCouldNotBeRestored) {
  SourcePatch change = patch();
  write("src/other.cu", "old");
  auto second = change.changes[0];
  second.path = root / "src/other.cu", second.name = "src/other.cu", second.before = "old", second.after = "new";
  change.changes.push_back(second);
  std::filesystem::path saved, aside = root / "aside";
  {
    PatchJournal journal = open();
    ASSERT_TRUE(journal.begin(change).ok());
    saved = journal.folder();
    std::filesystem::resize_file(saved / "patched-1", 1);
    std::filesystem::rename(saved / "original-0", aside);
    Status written = journal.write_patched();
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().message.find("some files are still patched"), 0u) << written.error().message;
  }
  EXPECT_NE(read("src/k.cu"), kKernelText);
  std::filesystem::rename(aside, saved / "original-0");
  open();
  EXPECT_TRUE(leftovers.needed);
  EXPECT_EQ(read("src/k.cu"), kKernelText);
}

TEST_F(Journal, WritesNothingIfAFileChangedAfterThePlan) {
  SourcePatch change = patch();
  PatchJournal journal = open();
  ASSERT_TRUE(journal.begin(change).ok());
  shell("echo '// mine' >> src/k.cu");
  std::string mine = read("src/k.cu");
  Status written = journal.write_patched();
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().exit, Exit::Refused);
  EXPECT_EQ(read("src/k.cu"), mine);
}

TEST_F(Journal, KeepsPermissions) {
  SourcePatch change = patch();
  chmod((root / "src/k.cu").c_str(), 0751);
  PatchJournal journal = open();
  ASSERT_TRUE(journal.begin(change).ok() && journal.write_patched().ok());
  struct stat info{};
  stat((root / "src/k.cu").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, 0751u);
}

TEST_F(Journal, RestoresTheTimeOfLastChange) {
  SourcePatch change = patch();
  shell("touch -d '2020-01-02 03:04:05.123456789 UTC' src/k.cu");
  PatchJournal journal = open();
  ASSERT_TRUE(journal.begin(change).ok() && journal.write_patched().ok());
  ASSERT_TRUE(journal.write_originals(true).ok());
  EXPECT_EQ(shell("TZ=UTC stat -c %y src/k.cu"), "2020-01-02 03:04:05.123456789 +0000\n");
}

TEST_F(Journal, WritesAFileThatDoesNotChangeSoThatItIsCompiledAgain) {
  SourcePatch change = patch();
  const std::string text = read("build.sh");
  change.changes.push_back({root / "build.sh", "build.sh", text, text, false, text, text});
  PatchJournal journal = open();
  ASSERT_TRUE(journal.begin(change).ok());
  auto is_newer_after = [&](auto&& step) {
    shell("touch product && sleep 0.02");
    return step().ok() && shell("test build.sh -nt product && echo newer") == "newer\n";
  };
  EXPECT_TRUE(is_newer_after([&] { return journal.write_patched(); }));
  EXPECT_TRUE(is_newer_after([&] { return journal.write_originals(false); }));
  EXPECT_EQ(read("build.sh"), text);
}

TEST_F(Journal, RefusesASecondApply) {
  PatchJournal first = open();
  auto second = PatchJournal::open(request.state, leftovers);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().exit, Exit::Refused);
  EXPECT_EQ(PatchJournal::check_not_running(request.state).error().exit, Exit::Refused) << "builds are refused too";
}

TEST_F(Journal, ReportsNoRunningApplyIfNoneIsOpen) {
  EXPECT_TRUE(PatchJournal::check_not_running(request.state).ok());
  { PatchJournal ended = open(); }
  EXPECT_TRUE(PatchJournal::check_not_running(request.state).ok());
}

TEST_F(Journal, RefusesAReadOnlyFileByName) {
  SourcePatch change = patch();
  chmod((root / "src/k.cu").c_str(), 0444);
  Status writable = PatchJournal::check_writable(change);
  ASSERT_FALSE(writable.ok());
  EXPECT_NE(writable.error().message.find("src/k.cu is read-only"), std::string::npos);
}

TEST_F(Journal, RefusesAReadOnlyFolderByName) {
  SourcePatch change = patch();
  chmod((root / "src").c_str(), 0555);
  Status writable = PatchJournal::check_writable(change);
  chmod((root / "src").c_str(), 0755);
  ASSERT_FALSE(writable.ok());
  EXPECT_NE(writable.error().message.find("src is read-only"), std::string::npos);
}

TEST_F(Journal, SaysWhereTheOriginalsAreIfItIsDamaged) {
  interrupt();
  std::string file = ".kernelift/apply/journal.json", text = read(file);
  for (size_t cut : {size_t{0}, size_t{1}, text.size() / 2, text.size() - 2}) {
    write(file, text.substr(0, cut));
    auto journal = PatchJournal::open(request.state, leftovers);
    ASSERT_FALSE(journal.ok());
    EXPECT_NE(journal.error().message.find("its originals are under"), std::string::npos);
  }
}

TEST_F(Journal, WithFlippedBitsRestoresTheOriginalOrLeavesThePatchedFileAsItIs) {
  interrupt();
  const std::string file = ".kernelift/apply/journal.json", text = read(file), patched = read("src/k.cu");
  int restored = 0, refused = 0;
  for (size_t i = 0; i < 300; ++i) {
    std::string damaged = text;
    damaged[i * 7919 % damaged.size()] ^= static_cast<char>(1 << i % 7);
    write(file, damaged);
    write("src/k.cu", patched);
    auto journal = PatchJournal::open(request.state, leftovers);
    if (journal.ok() && !leftovers.restored.empty()) {
      ++restored;
      EXPECT_EQ(read("src/k.cu"), kKernelText) << damaged;
    } else {
      ++refused;
      EXPECT_EQ(read("src/k.cu"), patched) << damaged;
      EXPECT_TRUE(!journal.ok() || !leftovers.left.empty()) << "neither restored nor named: " << damaged;
    }
  }
  EXPECT_GT(restored, 0) << "a flipped bit in a time stamp does no harm";
  EXPECT_GT(refused, 0) << "a flipped bit in a hash or path must be noticed";
}

}  // namespace
}  // namespace kernelift::reintegrate
