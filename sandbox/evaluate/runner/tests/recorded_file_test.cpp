// A MEP's data files as the runner opens them.
#include "sandbox/evaluate/runner/memory/recorded_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "core/base/file.h"
#include "core/model/mep.h"

namespace kernelift::sandbox {
namespace {

class RecordedFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_->path() / "data");
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = std::byte(i % 251);
    auto stored = Mep::store(folder_->path(), bytes_);
    ASSERT_TRUE(stored.ok());
    name_ = *stored;
  }
  std::filesystem::path path() const { return folder_->path() / "data" / name_; }

  Result<TemporaryFolder> folder_ = TemporaryFolder::create("recorded");
  std::vector<std::byte> bytes_ = std::vector<std::byte>(10'000);
  std::string name_;
};

TEST_F(RecordedFiles, HaveTheBytesThatWereStored) {
  auto file = RecordedFile::open(folder_->path(), name_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE(std::ranges::equal(file->bytes(), bytes_));
}

TEST_F(RecordedFiles, AreChangedInACopyOfTheSizeThatIsWanted) {
  auto file = RecordedFile::open(folder_->path(), name_);
  ASSERT_TRUE(file.ok());
  file->own(12'000)[3] = std::byte(99);
  ASSERT_EQ(file->bytes().size(), 12'000u);
  EXPECT_EQ(file->bytes()[3], std::byte(99));
  EXPECT_EQ(file->bytes()[9'999], bytes_[9'999]);
  EXPECT_EQ(file->bytes()[11'999], std::byte(0)) << "what the file lacks";
  EXPECT_TRUE(RecordedFile::open(folder_->path(), name_).ok()) << "the file itself is as it was";
}

TEST_F(RecordedFiles, ThatAreDamagedOrMissingAreNamed) {
  std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  std::ofstream(path(), std::ios::binary | std::ios::in | std::ios::out) << "x";
  auto damaged = RecordedFile::open(folder_->path(), name_);
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().message.find("is damaged"), std::string::npos) << damaged.error().message;
  std::filesystem::remove(path());
  EXPECT_FALSE(RecordedFile::open(folder_->path(), name_).ok());
  EXPECT_FALSE(RecordedFile::open(folder_->path(), "../../etc/passwd").ok());
}

}  // namespace
}  // namespace kernelift::sandbox
