// Claims about extractor/record/process_rank.h and shared_mapping.h.
#include "extractor/record/process_rank.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "core/base/file.h"
#include "extractor/record/shared_mapping.h"

namespace kernelift::record {
namespace {

constexpr const char* kVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

class ProcessRank : public ::testing::Test {
 protected:
  ProcessRank() { clear(); }
  ~ProcessRank() override { clear(); }
  static void clear() {
    for (auto name : kVariables) unsetenv(name);
  }
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-rank-test"));
  RecordConfig config() const {
    RecordConfig config;
    config.folder = scratch_.path().string();
    return config;
  }
};

TEST_F(ProcessRank, EveryLaunchersVariableIsRead) {
  EXPECT_FALSE(rank_from_environment());
  for (auto name : kVariables) {
    setenv(name, "17", 1);
    EXPECT_EQ(rank_from_environment(), 17u) << name;
    unsetenv(name);
  }
  setenv("PMI_RANK", "-1", 1);
  EXPECT_FALSE(rank_from_environment()) << "as of a process that is no part of a job";
  setenv("SLURM_PROCID", "0", 1), setenv("OMPI_COMM_WORLD_RANK", "3", 1);
  EXPECT_EQ(rank_from_environment(), 3u) << "mpirun inside of a step of srun's";
}

TEST_F(ProcessRank, OnlyTheChosenRankTakesImages) {
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  EXPECT_TRUE(for_this_process(config()).profile_only) << "rank 0 is chosen where nothing was said";
  auto first = config();
  first.rank = 1;
  EXPECT_FALSE(for_this_process(first).profile_only);
  setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  EXPECT_FALSE(for_this_process(config()).profile_only);
  auto profile = config();
  profile.profile_only = true;
  EXPECT_TRUE(for_this_process(profile).profile_only);
}

TEST_F(ProcessRank, WithoutRanksAllTakeImagesUnlessOneIsAskedForByItsOrder) {
  EXPECT_FALSE(for_this_process(config()).profile_only);
  EXPECT_FALSE(for_this_process(config()).profile_only);
  auto second = config();
  second.rank = 1;
  EXPECT_TRUE(for_this_process(second).profile_only);
  EXPECT_FALSE(for_this_process(second).profile_only);
  EXPECT_TRUE(for_this_process(second).profile_only);
}

TEST_F(ProcessRank, NoTwoProcessesGetOneNumber) {
  std::vector<std::optional<uint64_t>> numbers(8);
  {
    std::vector<std::jthread> threads;
    for (auto& number : numbers) threads.emplace_back([&] { number = claim_order(scratch_.path().string()); });
  }
  std::set<uint64_t> all;
  for (auto& number : numbers) all.insert(number.value());
  EXPECT_EQ(all, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_FALSE(claim_order("/nonexistent"));
}

TEST(SharedMapping, TellsMemoryThatOthersSeeFromOnesOwn) {
  constexpr size_t kBytes = 1 << 16;
  for (int kind : {MAP_SHARED, MAP_PRIVATE}) {
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    EXPECT_EQ(is_shared_mapping(reinterpret_cast<uint64_t>(memory) + 4096, 64), kind == MAP_SHARED);
    munmap(memory, kBytes);
  }
  int local = 0;
  EXPECT_FALSE(is_shared_mapping(reinterpret_cast<uint64_t>(&local), sizeof local));
}

}  // namespace
}  // namespace kernelift::record
