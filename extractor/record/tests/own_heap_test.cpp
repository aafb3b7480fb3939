// The recorder's own heap.
#include "extractor/record/library/own_heap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace kernelift::record {
namespace {

struct Block {
  unsigned char* memory;
  size_t bytes;
  unsigned char mark;
  bool intact() const {
    for (size_t i = 0; i < bytes; ++i)
      if (memory[i] != mark) return false;
    return true;
  }
};

TEST(OwnHeap, KeepsBlocksOfAllSizesApartInAllThreads) {
  auto work = [](unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Block> blocks;
    bool good = true;
    for (int step = 0; step < 20000; ++step) {
      if (blocks.size() < 200 && random() % 2) {
        size_t bytes = random() % 100 ? random() % 600 : random() % (100 << 10);
        auto* memory = static_cast<unsigned char*>(own_allocate(bytes));
        good &= memory && reinterpret_cast<uintptr_t>(memory) % alignof(std::max_align_t) == 0;
        blocks.push_back({memory, bytes, static_cast<unsigned char>(random())});
        std::memset(memory, blocks.back().mark, bytes);
      } else if (!blocks.empty()) {
        std::swap(blocks[random() % blocks.size()], blocks.back());
        good &= blocks.back().intact();
        own_free(blocks.back().memory);
        blocks.pop_back();
      }
    }
    for (auto& block : blocks) good &= block.intact(), own_free(block.memory);
    return good;
  };
  std::atomic<bool> good{true};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) threads.emplace_back([&, seed] { good = work(seed) && good; });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(good);
}

TEST(OwnHeap, GivesLargeBlocksBackAndRefusesWhatIsNotToBeHad) {
  // More than this machine has, were it kept.
  for (int i = 0; i < 100; ++i) {
    void* memory = own_allocate(size_t(4) << 30);
    ASSERT_NE(memory, nullptr);
    static_cast<char*>(memory)[0] = 1;
    own_free(memory);
  }
  EXPECT_EQ(own_allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(own_allocate(SIZE_MAX / 2), nullptr);
  own_free(nullptr);
  EXPECT_NE(own_allocate(0), own_allocate(0));
}

TEST(OwnHeap, ServesAForkedChildWhateverOtherThreadsWereDoing) {
  std::atomic<bool> over{false};
  std::thread busy([&] {
    while (!over) own_free(own_allocate(100));
  });
  int bad = 0;
  for (int i = 0; i < 200; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      own_free(own_allocate(100));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    bad += status != 0;
  }
  over = true;
  busy.join();
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace kernelift::record
