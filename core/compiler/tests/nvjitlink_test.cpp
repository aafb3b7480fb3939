// PTX to machine code by nvJitLink: facts about kernels, and refusals. Needs a toolkit or pip's wheel.
#include "core/compiler/nvjitlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kernelift {
namespace {

using ::testing::HasSubstr;

TEST(Cubin, ReadsPtxassFiguresOfEachKernel) {
  auto facts = facts_from_log(
      "ptxas info    : Compiling entry function 'kbig' for 'sm_90'\n"
      "ptxas info    : Function properties for kbig\n"
      "ptxas         .     160 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
      "ptxas info    : Used 31 registers, used 1 barriers, 80000 bytes smem\n"
      "ptxas info    : Compile time = 10.274 ms\n"
      "ptxas info    : Compiling entry function 'k3' for 'sm_90'\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 16 registers, used 0 barriers\n"
      "info    : used 99 registers, used 1 barriers, 160 stack, 9472 bytes smem\n");
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts["kbig"].registers, 31u);
  EXPECT_EQ(facts["kbig"].spill_stores, 24u);
  EXPECT_EQ(facts["kbig"].spill_loads, 28u);
  EXPECT_EQ(facts["kbig"].stack_bytes, 160u);
  EXPECT_EQ(facts["kbig"].shared_bytes, 80000u);
  EXPECT_EQ(facts["k3"].registers, 16u);
  EXPECT_EQ(facts["k3"].shared_bytes, 0u);
  const std::string giant(200'000, 'k');  // Templates of templates have such mangled names.
  EXPECT_EQ(facts_from_log("Compiling entry function '" + giant + "' for 'sm_90'\nUsed 7 registers\n")[giant].registers,
            7u);
}

TEST(Cubin, DistinguishesAnExceededLimitFromAnError) {
  EXPECT_EQ(
      exhausted_resource("error   : Entry function 'kbig' uses too much shared data (0x13880 bytes, 0xc000 max)\n"),
      "bytes of shared memory: 80000, limit 49152");
  EXPECT_EQ(exhausted_resource("error: syntax error"), "");
}

class WithNvJitLink : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto opened = open_cubin_compiler(); !opened.ok()) GTEST_SKIP() << opened.error().message;
  }
};

std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n" + body + "ret;\n}\n";
}

TEST_F(WithNvJitLink, FollowsFlagsOfTheFile) {
  // A hundred values, of which many live at once.
  std::string body = ".reg .b64 %a;\n.reg .f32 %v<101>;\nld.param.u64 %a, [p];\n";
  for (int i = 0; i < 100; ++i)
    body += "ld.volatile.global.f32 %v" + std::to_string(i) + ", [%a+" + std::to_string(4 * i) + "];\n";
  for (int i = 0; i < 100; ++i)
    body += "st.global.f32 [%a+" + std::to_string(4 * (99 - i)) + "], %v" + std::to_string(i) + ";\n";
  Cubin free = compile_cubin(kernel(body), "sm_90");
  Cubin bounded = compile_cubin(kernel(body), "sm_90", assembler_options({.most_registers = 32, .cache_loads = "cg"}));
  ASSERT_EQ(free.outcome, Outcome::Ok) << free.detail;
  ASSERT_EQ(bounded.outcome, Outcome::Ok) << bounded.detail;
  EXPECT_GT(free.kernels["k"].registers, 40u);
  EXPECT_LE(bounded.kernels["k"].registers, 32u);
}

TEST_F(WithNvJitLink, MakesMachineCode) {
  Cubin cubin = compile_cubin(kernel(".reg .b64 %a;\nld.param.u64 %a, [p];\nst.global.u32 [%a], 7;\n"), "sm_90");
  ASSERT_EQ(cubin.outcome, Outcome::Ok) << cubin.detail;
  EXPECT_EQ(cubin.image.substr(1, 3), "ELF");
  ASSERT_TRUE(cubin.kernels.contains("k"));
  EXPECT_GT(cubin.kernels["k"].registers, 0u);
}

TEST_F(WithNvJitLink, NamesAnExceededLimitAndReportsAnError) {
  Cubin big = compile_cubin(
      kernel(".shared .align 4 .b8 tile[80000];\n.reg .b32 %r;\nmov.u32 %r, tile;\nst.shared.u32 [%r], 1;\n"), "sm_90");
  EXPECT_EQ(big.outcome, Outcome::OverResources);
  EXPECT_THAT(big.detail, HasSubstr("80000, limit 49152"));
  Cubin broken = compile_cubin(kernel("nonsense;\n"), "sm_90");
  EXPECT_EQ(broken.outcome, Outcome::CompileFailed);
  EXPECT_FALSE(broken.detail.empty());
}

}  // namespace
}  // namespace kernelift
