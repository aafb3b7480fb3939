// Claims about extractor/record/reach.h.
#include "extractor/record/reach.h"

#include <gmock/gmock.h>

#include "extractor/record/tests/fake_runtime.h"

namespace kernelift::record {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReachTest : public ::testing::Test {
 protected:
  AllocationMap live() {
    std::vector<LiveMemory> list;
    for (auto& [address, size] : runtime_.live) list.push_back({address, size, MemoryKind::Device});
    return AllocationMap(std::move(list));
  }
  std::vector<ReachedRegion> reach(const std::vector<unsigned char>& arguments, std::vector<Parameter> parameters) {
    OwnMemory memory;
    return *reachable(std::as_bytes(std::span(arguments)), parameters, roots_, live(), memory);
  }
  fake::Runtime runtime_;
  std::vector<ReachRoot> roots_;
};

TEST_F(ReachTest, FindsWholeAllocationsBehindInteriorAndEndPointers) {
  auto* a = runtime_.allocate<float>(1000);
  auto* b = runtime_.allocate<float>(1000);
  auto found = reach(fake::pack(a + 10, b + 1000), {{0, 8}, {8, 8}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].address, reinterpret_cast<uint64_t>(a));
  EXPECT_EQ(found[0].size, 4000u);
  EXPECT_EQ(found[0].reached_from.text(), "arg 0");
  EXPECT_EQ(found[1].address, reinterpret_cast<uint64_t>(b));
}

TEST_F(ReachTest, FindsPointersInsideStructsPackedOrNot) {
  auto* a = runtime_.allocate<int>(10);
  auto* b = runtime_.allocate<int>(10);
  struct __attribute__((packed)) Packed {
    char tag;
    int* first;
    short more;
    int* second;
  } packed{1, a, 2, b};
  std::vector<unsigned char> bytes(sizeof packed);
  std::memcpy(bytes.data(), &packed, sizeof packed);
  auto found = reach(bytes, {{0, uint32_t(bytes.size())}});
  ASSERT_EQ(found.size(), 2u);
  std::set<std::string> from = {found[0].reached_from.text(), found[1].reached_from.text()};
  EXPECT_EQ(from, (std::set<std::string>{"arg 0 +1", "arg 0 +11"}));
}

TEST_F(ReachTest, FollowsLinkedMemoryAndEndsOnCycles) {
  struct Node {
    double payload[4];
    Node* next;
  };
  auto* first = runtime_.allocate<Node>(1);
  auto* second = runtime_.allocate<Node>(1);
  runtime_.allocate<Node>(1);  // Live, but not linked.
  first->next = second, second->next = first;
  auto found = reach(fake::pack(first), {{0, 8}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[1].reached_from.text(), HasSubstr(" +32"));
}

TEST_F(ReachTest, StartsFromModuleVariablesToo) {
  auto* table = runtime_.allocate<int>(10);
  static int* holder[2];
  holder[1] = table;
  roots_ = {{reinterpret_cast<uint64_t>(holder), sizeof holder, "_ZL5table"}};
  auto found = reach({}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reached_from.text(), "variable _ZL5table +8");
}

TEST_F(ReachTest, StopsWalkingOnceItIsTooMuch) {
  auto** first = runtime_.allocate<void*>(1000);
  auto** second = runtime_.allocate<void*>(1000);
  first[0] = second, second[0] = runtime_.allocate<int>(1000);
  OwnMemory memory;
  auto bytes = fake::pack(first);
  std::vector<Parameter> parameters = {{0, 8}};
  auto found = reachable(std::as_bytes(std::span(bytes)), parameters, {}, live(), memory, 10'000);
  EXPECT_EQ(found->size(), 2u);
}

TEST_F(ReachTest, TakesAllMemoryIfToldSoAndElseNamesWhatIsLeftOut) {
  auto** first = runtime_.allocate<void*>(10);
  auto* second = runtime_.allocate<int>(10);
  auto* hidden = runtime_.allocate<int>(25);
  first[0] = second;
  OwnMemory memory;
  auto bytes = fake::pack(first);
  std::vector<Parameter> parameters = {{0, 8}};
  auto some = reachable(std::as_bytes(std::span(bytes)), parameters, {}, live(), memory);
  EXPECT_EQ(some->size(), 2u);
  EXPECT_THAT(unreached(live(), *some), ElementsAre(MemoryRange{reinterpret_cast<uint64_t>(hidden), 100}));
  auto all = reachable(std::as_bytes(std::span(bytes)), parameters, {}, live(), memory, ~uint64_t(0), true);
  ASSERT_EQ(all->size(), 3u);
  EXPECT_EQ(all->at(1).reached_from.text().substr(0, 2), "0x") << "how it is reached is said where it is known";
  EXPECT_EQ(all->at(2).reached_from.text(), "alive at the launch");
  EXPECT_TRUE(unreached(live(), *all).empty());
}

TEST_F(ReachTest, SlicesOfOneMemoryFindTheSameAddressesAsTheWhole) {
  auto** table = runtime_.allocate<void*>(64);
  for (int i = 0; i < 64; i += 7) table[i] = runtime_.allocate<int>(4);
  auto map = live();
  auto bytes = std::as_bytes(std::span(table, 64));
  auto base = reinterpret_cast<uint64_t>(table);
  auto whole = find_addresses(bytes, base, base, map);
  std::vector<AddressFound> pieces;
  for (size_t at = 0; at < bytes.size(); at += 128)
    for (auto& found : find_addresses(bytes.subspan(at, 128), base + at, base, map)) pieces.push_back(found);
  ASSERT_EQ(whole.size(), 10u);
  ASSERT_EQ(pieces.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(pieces[i].offset, whole[i].offset);
}

TEST_F(ReachTest, NeverMistakesAnAddressForANumberHoweverSharpItLooks) {
  std::vector<LiveMemory> list;
  for (uint64_t i = 1; i < 200; ++i)
    list.push_back({i * 0x3456789000, (i % 7 + 1) << (10 + i % 15), MemoryKind::Device});
  AllocationMap map(list);
  auto all_maybe = [&] {
    for (auto& memory : list)
      for (uint64_t at : {memory.address, memory.address + memory.size / 3, memory.address + memory.size})
        if (!map.maybe(at) || !map.find(at)) return false;
    return true;
  };
  EXPECT_TRUE(all_maybe());
  EXPECT_TRUE(map.maybe(list[3].address - (uint64_t(1) << 30)));
  map.sharpen();
  EXPECT_TRUE(all_maybe());
  EXPECT_FALSE(map.maybe(list[3].address - (uint64_t(1) << 30)));
}

TEST_F(ReachTest, KernelWithoutMemoryReachesNothing) {
  runtime_.allocate<int>(10);
  EXPECT_TRUE(reach(fake::pack(1, 2.5), {{0, 4}, {8, 8}}).empty());
  OwnMemory memory;
  EXPECT_TRUE(reachable({}, {}, {}, AllocationMap(), memory)->empty());
}

TEST_F(ReachTest, ScalarHashIgnoresWhereMemoryIsButNotWhetherThereIsAny) {
  auto* a = runtime_.allocate<float>(10);
  auto* b = runtime_.allocate<float>(10);
  auto hash = [&](const std::vector<unsigned char>& bytes) {
    return scalar_hash(std::as_bytes(std::span(bytes)), live());
  };
  EXPECT_EQ(hash(fake::pack(a, 5)), hash(fake::pack(b, 5)));
  EXPECT_NE(hash(fake::pack(a, 5)), hash(fake::pack(a, 6)));
  EXPECT_NE(hash(fake::pack(a, 5)), hash(fake::pack(static_cast<float*>(nullptr), 5)));
}

TEST_F(ReachTest, PointerOffsetsDoNotOverlap) {
  auto* a = runtime_.allocate<char>(16);
  auto bytes = fake::pack(a, a);
  EXPECT_THAT(pointer_offsets(std::as_bytes(std::span(bytes)), live()), ElementsAre(0, 8));
}

}  // namespace
}  // namespace kernelift::record
