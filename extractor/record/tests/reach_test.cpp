// Claims about extractor/record/reach.h.
#include "extractor/record/reach.h"

#include <gmock/gmock.h>

#include "extractor/record/tests/fake_runtime.h"

namespace kernelift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReachTest : public ::testing::Test {
 protected:
  AllocationMap live() {
    std::vector<kl_allocation> list(runtime_.live.size());
    fake::Runtime::list(list.data(), list.size());
    return AllocationMap(std::move(list));
  }
  std::vector<ReachedRegion> reach(const std::vector<unsigned char>& arguments, std::vector<kl_parameter> parameters) {
    return reachable(std::as_bytes(std::span(arguments)), parameters, runtime_.variables, live());
  }
  fake::Runtime runtime_;
};

TEST_F(ReachTest, FindsWholeAllocationsBehindInteriorAndEndPointers) {
  auto* a = runtime_.allocate<float>(1000);
  auto* b = runtime_.allocate<float>(1000);
  auto found = reach(fake::pack(a + 10, b + 1000), {{0, 8}, {8, 8}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].address, reinterpret_cast<uint64_t>(a));
  EXPECT_EQ(found[0].size, 4000u);
  EXPECT_EQ(found[0].reached_from, "arg 0");
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
  std::set<std::string> from = {found[0].reached_from, found[1].reached_from};
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
  EXPECT_THAT(found[1].reached_from, HasSubstr(" +32"));
}

TEST_F(ReachTest, StartsFromModuleVariablesToo) {
  auto* table = runtime_.allocate<int>(10);
  static int* holder[2];
  holder[1] = table;
  runtime_.variables = {{"_ZL5table", holder, sizeof holder, 0}};
  auto found = reach({}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reached_from, "variable _ZL5table +8");
}

TEST_F(ReachTest, KernelWithoutMemoryReachesNothing) {
  runtime_.allocate<int>(10);
  EXPECT_TRUE(reach(fake::pack(1, 2.5), {{0, 4}, {8, 8}}).empty());
  EXPECT_TRUE(reachable({}, {}, {}, AllocationMap({})).empty());
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
}  // namespace kernelift
