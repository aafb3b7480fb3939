// The host program as nvcc makes it, before and after a patch; with the real nvcc.
#include "reintegrate/proof/nvcc_host.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/file.h"
#include "core/compiler/paths.h"
#include "reintegrate/tests/host_proof_fixture.h"
#include "sandbox/jail/layers.h"

namespace kernelift::reintegrate {
namespace {

using Lines = std::pair<std::string, std::string>;

TEST(EqualLines, AreEmptyOnesWhereTheOtherTextHasMore) {
  const FileVersion same{"a.cu", "1\n2\n3\n", {}};
  EXPECT_EQ(with_equal_lines(same, same), Lines("1\n2\n3\n", "1\n2\n3\n"));
  // Line 2 became three lines; the third begins at byte 8, and line 3 of the original follows it.
  const FileVersion longer{"a.cu", "1\n2a\n2b\n2c\n3\n", {{8, 3}}};
  EXPECT_EQ(with_equal_lines(same, longer), Lines("1\n2\n\n\n3\n", longer.text));
  EXPECT_EQ(with_equal_lines(longer, same), Lines(longer.text, "1\n2\n\n\n3\n"));
  // Lines 1 and 2 became one.
  const FileVersion shorter{"a.cu", "12\n3\n", {{0, 3}}};
  EXPECT_EQ(with_equal_lines(same, shorter), Lines("1\n2\n3\n", "12\n\n3\n"));
  EXPECT_EQ(with_equal_lines(longer, shorter), Lines(longer.text, "12\n\n\n\n3\n"));
}

class NvccHostTest : public HostProofTest {
 protected:
  void SetUp() override {
    HostProofTest::SetUp();
    if (!cuda_toolkit()) GTEST_SKIP() << "no CUDA toolkit is installed";
    const auto layers = sandbox::jail_layers();
    const bool mounts = std::ranges::any_of(layers, [](auto& one) { return one.name == "private disk" && one.works; });
    if (!mounts) GTEST_SKIP() << "no mounts are permitted here";
    request.host.by_nvcc = true;
  }
  /// The two texts of the application, of which nothing but nvcc is asked.
  std::optional<std::string> difference(const std::string& what, const std::string& instead) {
    std::string after = kApplication;
    const size_t at = after.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    after.replace(at, what.size(), instead);
    HostUnit unit;
    unit.file = (root / "src/app.cu").string(), unit.folder = root.string();
    unit.words = {"nvcc", "-O2", "-c", "src/app.cu", "-o", "app.o"};
    auto found =
        difference_by_nvcc(unit, {{root / "src/app.cu", kApplication, {}}}, {{root / "src/app.cu", after, {}}});
    EXPECT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(read("src/app.cu"), kApplication);
    return found.ok() ? *found : found.error().message;
  }
};

TEST_F(NvccHostTest, TheBodyOfAKernelIsNoPartOfIt) {
  EXPECT_EQ(difference("a[i] = scaled(a[i])", "a[i] = 2 * a[i] + \"\\n#endif\\nint more = 1;\\n\"[0]"), std::nullopt);
}

TEST_F(NvccHostTest, UnusedFunctionsAndVariablesOfTheDeviceLeaveTheAssemblyAsItIs) {
  EXPECT_EQ(
      difference("// The kernel.\n",
                 "static __device__ float helper(float x) { return 2 * x; } static __constant__ float w[2] = {1}; "
                 "template <int N> __device__ float power(float x) { return x * N; }\n"),
      std::nullopt);
}

TEST_F(NvccHostTest, WhatTheHostSeesOfItIs) {
  // sizeof(threadIdx) is 12 for nvcc's host and 1 for clang's.
  auto changed = difference("constexpr int kScale = 2;", "constexpr int kScale = sizeof(threadIdx) == 12 ? 3 : 2;");
  ASSERT_TRUE(changed);
  EXPECT_NE(changed->find("the host's compiler gets another program from nvcc in or behind '"), std::string::npos)
      << *changed;
  changed = difference("// The kernel.\n", "static __device__ int smaller(int a, int b) { return 0; }\n");
  EXPECT_TRUE(changed) << "a better match for the host's call";
  changed = difference("// The kernel.\n", "#error never\n");
  ASSERT_TRUE(changed);
  EXPECT_NE(changed->find("nvcc does not compile it with the patch"), std::string::npos) << *changed;
}

TEST_F(NvccHostTest, APatchIsProvenForBothCompilers) {
  prepend("__device__ __forceinline__ float helper(float x) { return x * 2; }\n\n");
  candidate("a[i] = scaled(a[i])", "a[i] = helper(a[i])");
  EXPECT_PROVEN(verdict());
  ASSERT_TRUE(proof_.ok());
  EXPECT_NE(proof_->text().find("as it was, for clang and for nvcc"), std::string::npos) << proof_->text();
  EXPECT_TRUE(proof_->notes.empty());
}

TEST_F(NvccHostTest, ALaunchOfOtherBlocksIsAsDeclared) {
  launch_blocks_of(128);
  candidate("blockIdx.x * BLOCK", "blockIdx.x * 128");
  EXPECT_PROVEN(verdict());
  EXPECT_TRUE(proof_.ok() && proof_->by_nvcc);
}

}  // namespace
}  // namespace kernelift::reintegrate
