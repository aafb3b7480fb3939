// A constant of the kernel's own in place of one that others use.
#include "reintegrate/patch/constants/own_constants.h"

#include <gtest/gtest.h>

#include "core/base/words.h"
#include "reintegrate/patch/constants/kernel_text.h"
#include "reintegrate/tests/application.h"

namespace kernelift::reintegrate {
namespace {

struct Given {
  Mep mep;
  std::string original;
  Candidate candidate;

  /// `definition` has BLOCK as 128; the candidate's text has 256 in its place.
  explicit Given(const std::string& definition, const std::string& rest =
                                                    "// Smooths.\n"
                                                    "__global__ void smooth(float* a) {\n"
                                                    "  a[blockIdx.x * BLOCK + threadIdx.x] = BLOCK;\n"
                                                    "}\n") {
    original = definition + rest;
    mep.kernel_name = "app::smooth";
    mep.knobs.resize(1), mep.knobs[0].name = "BLOCK", mep.knobs[0].value = 128;
    mep.knobs[0].is_macro = definition.find("#define") != definition.npos;
    mep.instances.resize(1), mep.instances[0].geometry = {{8, 4, 1}, {128, 1, 1}};
    candidate.source = original, candidate.values = {{"BLOCK", 256}, {"factor", 2}};
    if (const size_t at = original.find("128"); at != original.npos) candidate.source.replace(at, 3, "256");
  }
  std::string text() const {
    auto made = with_own_constants(mep, original, candidate);
    return made.ok() ? made->source : made.error().message;
  }
};

TEST(OwnConstants, OfAMacroAreAMacroInFrontOfTheKernelAndItsComment) {
  EXPECT_EQ(Given("#define BLOCK 128\n").text(),
            "#define BLOCK 128\n"
            "#define smooth_BLOCK 256\n"
            "// Smooths.\n"
            "__global__ void smooth(float* a) {\n"
            "  a[blockIdx.x * smooth_BLOCK + threadIdx.x] = smooth_BLOCK;\n"
            "}\n");
}

TEST(OwnConstants, HaveTheTypeOfTheApplications) {
  EXPECT_NE(Given("constexpr unsigned BLOCK = 128;\n").text().find("\nconstexpr decltype(BLOCK) smooth_BLOCK = 256;\n"),
            std::string::npos);
  const std::string of_enum = Given("enum { OTHER, BLOCK = 128 };\n").text();
  EXPECT_NE(of_enum.find("\nconstexpr int smooth_BLOCK = 256;\n"), std::string::npos) << of_enum;
  const std::string with_suffix = Given("#define BLOCK 128u\n").text();
  EXPECT_NE(with_suffix.find("#define BLOCK 128u\n"), std::string::npos) << with_suffix;
}

TEST(OwnConstants, LeaveAMacrosGuardAlone) {
  const std::string text = Given("#if !defined(BLOCK)\n#define BLOCK 128\n#endif\n").text();
  EXPECT_TRUE(text.starts_with("#if !defined(BLOCK)\n#define BLOCK 128\n#endif\n#define smooth_BLOCK 256\n")) << text;
}

TEST(OwnConstants, AreRefusedWhereTheTextUsesTheConstantOutsideOfTheKernel) {
  const std::string kernel = "__global__ void smooth(float* a) { at(a) = BLOCK; }\n";
  for (const char* user : {"__device__ float& at(float* a) { return a[BLOCK - 1]; }\n", "#define TWICE (2 * BLOCK)\n",
                           "#if BLOCK > 64\n#endif\n"})
    EXPECT_NE(Given("#define BLOCK 128\n", user + kernel).text().find("'BLOCK' is used outside of the kernel, too"),
              std::string::npos)
        << user;
  Given member("struct P { static constexpr int BLOCK = 128; };\n");
  member.mep.knobs[0].name = "P::BLOCK", member.candidate.values = {{"P::BLOCK", 256}};
  EXPECT_NE(member.text().find("is a member of a type"), std::string::npos) << member.text();
}

TEST(OwnConstants, TakeANameThatTheTextDoesNotUse) {
  EXPECT_NE(Given("int smooth_BLOCK;\n#define BLOCK 128\n").text().find("#define smooth_BLOCK2 256"),
            std::string::npos);
}

TEST(OwnConstants, ThatTheKernelDefinesItselfStayThere) {
  Given given("", "__global__ void smooth(float* a) {\n  const int BLOCK = 128;\n  a[BLOCK] = 1;\n}\n");
  EXPECT_EQ(given.text(), given.candidate.source);
}

TEST(OwnConstants, AreNumbersInTheLaunchWhichNamesTheOriginalsBlock) {
  Given given("", "__global__ void smooth(float* a) {}\n");
  CandidateLaunch launch = CandidateLaunch::as_recorded("smooth");
  launch.grid[0] = *Expression::parse("ceil_div(gx * 128, BLOCK)"), launch.block[0] = *Expression::parse("BLOCK");
  launch.grid[1] = *Expression::parse("ceil_div(gy, factor)");
  given.candidate.launches = {launch};
  auto made = with_own_constants(given.mep, given.original, given.candidate);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->source, given.original);
  EXPECT_EQ(made->launches[0].grid[0], *Expression::parse("ceil_div(gx * bx, 256)"));
  EXPECT_EQ(made->launches[0].block[0], *Expression::parse("256"));
  EXPECT_EQ(made->launches[0].grid[1], launch.grid[1]) << "factor is no constant of the application";
  EXPECT_EQ(made->values, (Bindings{{"factor", 2}}));
  EXPECT_TRUE(changes_constants(given.mep, given.candidate));
  EXPECT_FALSE(changes_constants(given.mep, *made));
}

TEST(KernelTextTest, KnowsWhereADeclarationCanBeAdded) {
  const std::string text =
      "namespace a::b { /*1*/ struct S { /*2*/ }; void f(int /*3*/) { /*4*/ }\nextern \"C\" { /*5*/ } /*6*/ }\n"
      "namespace { /*7*/ }\n#define M \\\n /*8*/ 1\n/*9*/";
  std::string added;
  for (char place = '1'; place <= '9'; ++place)
    if (is_at_namespace_scope(text, text.find(std::string("/*") + place))) added += place;
  EXPECT_EQ(added, "15679");
}

}  // namespace
}  // namespace kernelift::reintegrate
