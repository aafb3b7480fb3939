// The grade of a MEP: how it is computed, and where it is stored.
#include "core/model/fidelity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"

namespace kernelift {
namespace {

using ::testing::HasSubstr;

Fidelity replayed(const std::string& device = "cuda: NVIDIA H200") {
  Fidelity fidelity;
  fidelity.device = device, fidelity.code = "clang";
  fidelity.instances["a-0"] = {Fidelity::Changed::Exactly, "", 20, 21, "warm", true};
  return fidelity;
}

TEST(Fidelity, IsFullOnlyWhereAddressesMemoryAndDurationsAreTheApplications) {
  EXPECT_EQ(replayed().grade(), Fidelity::Grade::Full) << replayed().text();
  Fidelity moved = replayed();
  moved.relocated = true;
  EXPECT_EQ(moved.grade(), Fidelity::Grade::Limited);
  EXPECT_THAT(moved.text(), HasSubstr("addresses RELOCATED"));
  Fidelity slow = replayed();
  slow.instances["a-0"].replayed_us = 30, slow.instances["a-0"].reproduced = false;
  EXPECT_EQ(slow.grade(), Fidelity::Grade::Limited);
  EXPECT_THAT(slow.text(), HasSubstr("0 of 1 durations reproduced (a-0: 30.000 us warm here, 20.000 us there)"));
  Fidelity untimed = replayed();
  untimed.instances["a-1"] = {};
  EXPECT_EQ(untimed.grade(), Fidelity::Grade::Limited) << "a duration that was not compared may be wrong";
  Fidelity wrong = replayed();
  wrong.instances["a-0"].changed = Fidelity::Changed::Otherwise,
  wrong.instances["a-0"].trouble = "out, 3 of 9 elements differ";
  EXPECT_EQ(wrong.grade(), Fidelity::Grade::None) << "whatever its duration";
  EXPECT_THAT(wrong.text(), HasSubstr("NOT what the application got (a-0: out, 3 of 9 elements differ)"));
}

TEST(Fidelity, IsStoredPerDeviceBesideTheMepAndInItsReadme) {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fidelity"));
  ASSERT_TRUE(write_atomically(folder.path() / "README.md", "# k\n" + fidelity_text({}) + "- Tolerance\n").ok());
  EXPECT_THAT(*read_text(folder.path() / "README.md"), HasSubstr("Grade: not known"));
  EXPECT_TRUE(read_fidelity(folder.path())->empty());
  ASSERT_TRUE(keep_fidelity(folder.path(), replayed()).ok());
  ASSERT_TRUE(keep_fidelity(folder.path(), replayed("cpu: some")).ok());
  Fidelity later = replayed();
  later.relocated = true, later.instances["a-0"].changed = Fidelity::Changed::WithinTolerance;
  ASSERT_TRUE(keep_fidelity(folder.path(), later).ok());
  auto read = read_fidelity(folder.path());
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2u) << "one result per device, the latest";
  EXPECT_EQ(to_json((*read)[0]), to_json(replayed("cpu: some")));
  EXPECT_EQ(to_json((*read)[1]), to_json(later));
  EXPECT_EQ(*read_text(folder.path() / "README.md"), "# k\n" + fidelity_text(*read) + "- Tolerance\n");
  ASSERT_TRUE(forget_fidelity(folder.path()).ok());
  EXPECT_TRUE(read_fidelity(folder.path())->empty()) << "a new MEP was never replayed";
}

TEST(Fidelity, KeepsDurationsWhenAReplayUsesTheOtherCacheMode) {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fidelity"));
  ASSERT_TRUE(keep_fidelity(folder.path(), replayed()).ok());
  Fidelity untimed = replayed();
  untimed.instances["a-0"] = {};
  ASSERT_TRUE(keep_fidelity(folder.path(), untimed).ok());
  EXPECT_EQ(read_fidelity(folder.path())->at(0).grade(), Fidelity::Grade::Full);
  untimed.code = "nvcc";
  ASSERT_TRUE(keep_fidelity(folder.path(), untimed).ok());
  EXPECT_EQ(read_fidelity(folder.path())->at(0).grade(), Fidelity::Grade::Limited) << "they are another build's";
}

TEST(Fidelity, NamesADamagedFileAndReplacesIt) {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fidelity"));
  ASSERT_TRUE(write_atomically(folder.path() / "fidelity.json", "{\"format\": 3").ok());
  auto read = read_fidelity(folder.path());
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("fidelity.json"));
  ASSERT_TRUE(keep_fidelity(folder.path(), replayed()).ok());
  EXPECT_EQ(read_fidelity(folder.path())->size(), 1u);
}

}  // namespace
}  // namespace kernelift
