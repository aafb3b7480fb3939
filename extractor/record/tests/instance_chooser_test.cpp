// Claims about extractor/record/instance_chooser.h.
#include "extractor/record/instance_chooser.h"

#include <gmock/gmock.h>

namespace kernelift::record {
namespace {

Geometry grid(uint32_t blocks) { return {{blocks, 1, 1}, {128, 1, 1}, 0, false}; }

/// Feeds launches to a chooser and remembers which were captured.
struct Feed {
  explicit Feed(uint64_t slots, uint64_t skip = 0) : chooser(slots, skip) {}
  void launch(uint32_t blocks, uint64_t scalars, double microseconds, ArgumentSet rewritten = 0, bool changed = true) {
    LaunchTraits traits{grid(blocks), scalars};
    bool wanted = chooser.wants(traits);
    std::string id = std::to_string(count++);
    if (wanted) chooser.captured(traits, id, changed, bytes), captures.push_back(id);
    chooser.note(traits, microseconds, wanted ? id : "", rewritten);
  }
  void idle_launch(uint32_t blocks, double microseconds) { launch(blocks, 0, microseconds, 0, false); }
  InstanceChooser chooser;
  uint64_t bytes = 1 << 20;  ///< Of memory that a launch needs.
  int count = 0;
  std::vector<std::string> captures;
};

TEST(InstanceChooser, SpreadsInstancesOverALongRun) {
  Feed feed(4);
  for (int i = 0; i < 5000; ++i) feed.launch(64, 0, 10);
  auto shares = feed.chooser.shares();
  EXPECT_EQ(shares.size(), 4u);
  EXPECT_TRUE(shares.contains("0")) << "the first launch stays";
  EXPECT_TRUE(shares.contains("4096")) << "a late one is there";
  EXPECT_LE(feed.captures.size(), 8u) << "captures are bounded however long the run";
}

TEST(InstanceChooser, KeepsFewerInstancesWhereTheyNeedMuchMemory) {
  auto kept = [](uint64_t gibibytes) {
    Feed feed(4);
    feed.bytes = gibibytes << 30;
    for (uint32_t i = 0; i < 100; ++i) feed.launch(64 + i % 4, 0, 10);  // Four kinds, which take as long.
    EXPECT_EQ(feed.captures.size(), feed.chooser.shares().size()) << "none was captured in vain";
    return feed.chooser.shares().size();
  };
  EXPECT_EQ(kept(1), 4u);
  EXPECT_EQ(kept(2), 2u);
  EXPECT_EQ(kept(7), 2u) << "one to tune on, one to hold out";
}

TEST(InstanceChooser, CapturesALaunchOfManyTimesTheThreadsHoweverMuchMemoryTheOthersNeed) {
  Feed feed(4);
  feed.bytes = uint64_t(3) << 30;
  for (int i = 0; i < 10; ++i) feed.launch(64, 0, 10);
  for (int i = 0; i < 10; ++i) feed.launch(4096, 0, 900);
  EXPECT_TRUE(feed.chooser.shares().contains("10"));
}

TEST(InstanceChooser, LetsTheSkippedLaunchesPass) {
  Feed feed(2, 100);
  for (int i = 0; i < 150; ++i) feed.launch(64, 0, 10);
  EXPECT_EQ(feed.captures.front(), "100");
}

TEST(InstanceChooser, GivesEveryGeometryAnInstance) {
  Feed feed(3);
  for (int i = 0; i < 100; ++i) feed.launch(64, 0, 10);  // Fills all slots.
  for (int i = 0; i < 100; ++i) feed.launch(512, 0, 80);
  std::set<uint32_t> seen;
  for (auto& [id, share] : feed.chooser.shares()) seen.insert(std::stoi(id) < 100 ? 64 : 512);
  EXPECT_EQ(seen.size(), 2u);
}

TEST(InstanceChooser, FollowsASizeThatGrowsWithEveryLaunch) {
  Feed feed(4);
  auto blocks = [](int i) { return uint32_t(64 + 10 * i); };
  for (int i = 0; i < 200; ++i) feed.launch(blocks(i), uint64_t(i), blocks(i));
  double late = 0;
  for (auto& [id, share] : feed.chooser.shares())
    if (std::stoi(id) >= 40) late += share.weight;
  EXPECT_GT(late, 0.5) << "most of the time goes into launches that are several times the size of the first ones";
  EXPECT_LE(feed.captures.size(), 8u);
}

TEST(InstanceChooser, TakesTheOneLargeLaunchAmongSmallOnes) {
  Feed feed(4);
  for (uint32_t blocks : {1, 3, 17, 400, 9000, 8000, 300, 10, 2})
    feed.launch(blocks, blocks, 2 + 0.1 * blocks);  // A frontier.
  auto shares = feed.chooser.shares();
  ASSERT_TRUE(shares.contains("4"));
  EXPECT_FALSE(shares.at("4").held_out) << "it is nearly all of the time";
  EXPECT_GT(shares.at("4").weight, 0.9);
}

TEST(InstanceChooser, CapturesAnotherKindOfScalarArguments) {
  Feed feed(4);
  for (int i = 0; i < 9; ++i) feed.launch(64, 1, 10);
  feed.launch(64, 2, 10);  // A mode flag changed.
  EXPECT_THAT(feed.captures, ::testing::ElementsAre("0", "1", "8", "9"));
}

TEST(InstanceChooser, DoesNotChaseAScalarThatChangesWithEveryLaunch) {
  Feed feed(4);
  for (uint64_t i = 0; i < 500; ++i) feed.launch(64, i, 10);
  EXPECT_LE(feed.captures.size(), 6u);
  EXPECT_TRUE(feed.chooser.shares().size() == 4);
}

TEST(InstanceChooser, LooksForALaunchOfTheDurationThatTakesTheTime) {
  Feed feed(4);
  feed.launch(64, 0, 1);
  feed.launch(64, 0, 1);
  for (int i = 0; i < 5; ++i) feed.launch(64, 0, 100);
  EXPECT_THAT(feed.captures, ::testing::Contains("3")) << "the launch after the first long one";
}

TEST(InstanceChooser, WeighsByTimeAndHoldsOutTheLeast) {
  Feed feed(4);
  for (int i = 0; i < 200; ++i) feed.launch(64, 0, 10), feed.launch(512, 0, 90);
  double small = 0, large = 0;
  int held_out = 0;
  for (auto& [id, share] : feed.chooser.shares()) {
    (std::stoi(id) % 2 ? large : small) += share.weight;
    held_out += share.held_out;
    if (share.held_out) EXPECT_EQ(share.weight, 0);
    EXPECT_EQ(share.microseconds, std::stoi(id) % 2 ? 90 : 10);
  }
  EXPECT_EQ(held_out, 1);
  EXPECT_NEAR(small, 0.1, 0.02);
  EXPECT_NEAR(large, 0.9, 0.02);
}

TEST(InstanceChooser, TakesTheDurationFromAllLaunchesLikeItAndNotFromOneSideOfABorder) {
  Feed feed(2);
  // A snapshotted launch is often slower than those like it; 16 us is a border between classes.
  for (int i = 0; i < 200; ++i)
    feed.launch(64, 1, i == 0 ? 18 : i % 10 == 0 ? 17 : 12 + i % 3), feed.launch(64, 2, 400);
  auto share = feed.chooser.shares().at("0");
  EXPECT_EQ(share.microseconds, 13) << "not 17, the median of those past 16";
  EXPECT_EQ(share.like.low, 12);
  EXPECT_EQ(share.like.high, 14);
  EXPECT_EQ(share.like.own, 18);
  EXPECT_GT(share.like.count, 180u);
  EXPECT_LT(share.like.count, 200u) << "snapshotted launches do not count";
}

TEST(InstanceChooser, ComparesALaunchThatTakesManyTimesLongerWithItsLike) {
  Feed feed(4);
  for (int i = 0; i < 200; ++i) feed.launch(64, 1, i % 4 == 0 ? 500 : 10);
  for (auto& [id, share] : feed.chooser.shares())
    EXPECT_EQ(share.microseconds, std::stoi(id) % 4 == 0 ? 500 : 10) << id;
}

TEST(InstanceChooser, ComparesALaunchWithNoneIfAllOthersHadOtherNumbersThatComeOften) {
  Feed feed(4);
  feed.launch(1, 10, 2);        // A size inside a structure, say.
  feed.launch(1, 100000, 600);  // Captured, too, and the only one of its size.
  for (int i = 0; i < 6; ++i) feed.launch(1, 10, 2);
  auto shares = feed.chooser.shares();
  EXPECT_EQ(shares.at("1").like.count, 0u);
  EXPECT_EQ(shares.at("1").microseconds, 600);
  EXPECT_EQ(shares.at("0").like.count, 6u);
}

TEST(InstanceChooser, ComparesALaunchWithThoseBeforeWhichOtherWorkTouchedTheSame) {
  Feed feed(4);
  for (int i = 0; i < 60; ++i) feed.launch(1, 0, i % 3 == 0 ? 17 : 12, i % 3 == 0 ? 1 : 0);
  for (auto& [id, share] : feed.chooser.shares()) {
    bool after_other_work = std::stoi(id) % 3 == 0;
    EXPECT_EQ(share.microseconds, after_other_work ? 17 : 12) << id;
    EXPECT_EQ(share.like.rewritten.size(), after_other_work) << id;
  }
}

TEST(InstanceChooser, ComparesALaunchWithAllThatOnlyACounterTellsApart) {
  Feed feed(1);
  for (uint64_t step = 0; step < 10; ++step) feed.launch(1, step, step ? 10 : 300);  // The first is slow.
  EXPECT_EQ(feed.chooser.shares().at("0").like.count, 9u);
  EXPECT_EQ(feed.chooser.shares().at("0").microseconds, 10);
}

TEST(InstanceChooser, AloneInstanceStandsForAllAndIsNotHeldOut) {
  Feed feed(1);
  for (int i = 0; i < 50; ++i) feed.launch(64, 0, i);
  auto shares = feed.chooser.shares();
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares.begin()->second.weight, 1);
  EXPECT_FALSE(shares.begin()->second.held_out);
}

TEST(InstanceChooser, KeepsALaunchThatChangedMemoryThoughLargerOnesChangedNothing) {
  Feed feed(4);
  for (uint32_t blocks = 1; blocks <= 4; ++blocks) feed.launch(blocks, 0, blocks);  // Small ones fill all slots.
  for (int i = 0; i < 1000; ++i) feed.idle_launch(5 + uint32_t(i % 4), 100);
  auto shares = feed.chooser.shares();
  int small = 0;
  for (auto& [id, share] : shares) small += std::stoi(id) < 4;
  EXPECT_EQ(small, 1);
  EXPECT_EQ(shares.size(), 4u);
  EXPECT_LE(feed.captures.size(), 8u);
}

TEST(InstanceChooser, LetsTheOnlyLaunchThatChangedMemoryGoForAnotherThatDid) {
  Feed feed(1);
  feed.launch(1, 0, 1);
  feed.launch(64, 0, 50);
  EXPECT_TRUE(feed.chooser.shares().contains("1"));
  feed.idle_launch(512, 400);
  EXPECT_THAT(feed.captures, ::testing::ElementsAre("0", "1", "2"));
  EXPECT_TRUE(feed.chooser.shares().contains("1"));
  EXPECT_THAT(feed.chooser.superseded(), ::testing::ElementsAre("0", "2"));
}

TEST(InstanceChooser, LooksForALaunchThatChangesMemory) {
  for (uint64_t slots : {1, 4}) {
    Feed feed(slots);
    for (int i = 0; i < 200; ++i) i < 20 ? feed.idle_launch(64, 10) : feed.launch(64, 0, 10);
    EXPECT_TRUE(feed.chooser.shares().contains("32")) << "not 64, when launches are looked at anyway";
    EXPECT_EQ(feed.chooser.shares().size(), slots);
  }
}

TEST(InstanceChooser, GivesUpLookingForALaunchThatChangesMemory) {
  Feed feed(4);
  for (int i = 0; i < 1 << 20; ++i) feed.idle_launch(64, 10);
  EXPECT_LE(feed.captures.size(), 16u);
  EXPECT_TRUE(feed.chooser.shares().contains("0"));
  EXPECT_EQ(feed.chooser.shares().size(), 4u);
}

TEST(InstanceChooser, NamesInstancesThatMadeRoom) {
  Feed feed(2);
  for (int i = 0; i < 1000; ++i) feed.launch(64, 0, 10);
  auto shares = feed.chooser.shares();
  for (auto& id : feed.captures) {
    bool gone = std::ranges::find(feed.chooser.superseded(), id) != feed.chooser.superseded().end();
    EXPECT_NE(shares.contains(id), gone) << id;
  }
}

}  // namespace
}  // namespace kernelift::record
