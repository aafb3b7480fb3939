// Which launches of a kernel stand in code that a build may leave out.
#include "reintegrate/patch/launch/unseen_launches.h"

#include <gtest/gtest.h>

namespace kernelift::reintegrate {
namespace {

using Lines = std::vector<uint32_t>;

Lines lines_of(std::string_view text, const std::vector<std::pair<uint64_t, uint64_t>>& seen = {}) {
  Lines lines;
  for (auto& one : launches_in_conditionals(text, "scale", seen)) lines.push_back(one.line);
  return lines;
}

const std::string kUnseen =
    "#include \"k.h\"\n"                                     // 1
    "void all(float* a) { app::scale<<<8, 128>>>(a); }\n"    // 2
    "#ifdef SMALL  // or scale<<<1, 1>>>(a)\n"               // 3
    "void one(float* a) { app::scale<<<1, 32>>>(a); }\n"     // 4
    "#  if FLOAT\n"                                          // 5
    "void two(float* a) { scale<float, (3 > 2)>\n"           // 6
    "  <<<1, 32>>>(a); }\n"                                  // 7
    "#  endif\n"                                             // 8
    "#else\n"                                                // 9
    "// scale<<<2, 32>>>(a)\n"                               // 10
    "const char* text = \"scale<<<2, 32>>>(a)\";\n"          // 11
    "#define SCALE(a) \\\n"                                  // 12
    "  scale<<<2, 32>>>(a)\n"                                // 13
    "bool three = scale < 3, four = scale2<<<1, 1>>>(a);\n"  // 14
    "#endif\n"                                               // 15
    "void end(float* a) { scale<<<8, 128>>>(a); }\n";

TEST(LaunchesInConditionals, AreFoundByTheKernelsNameWithOrWithoutTemplateArguments) {
  EXPECT_EQ(lines_of(kUnseen), (Lines{4, 6}));
}

TEST(LaunchesInConditionals, HaveTheTextOfTheirConfiguration) {
  auto found = launches_in_conditionals("#if A\nscale<float><<<n / B, B>>>(a);\n#endif\n", "scale", {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].configuration, "n / B, B");
}

TEST(LaunchesInConditionals, AreNotThoseThatTheScanHasSeen) {
  const size_t begin = kUnseen.find("app::scale<<<1, 32");
  EXPECT_EQ(lines_of(kUnseen, {{begin, begin + 30}}), Lines{6});
}

TEST(LaunchesInConditionals, AreThoseOfTheRuntimesFunctionsAndOfMacrosToo) {
  const std::string text =
      "#if A\n"
      "cudaLaunchKernel((void*)scale, n / 64, 64, args);\n"                 // 2
      "hipLaunchKernelGGL(HIP_KERNEL_NAME(scale<1>), n / 64, 64, 0, 0);\n"  // 3
      "LAUNCH(scale, n / 64, 64)(a);\n"                                     // 4
      "CHECK(cudaFuncSetAttribute(scale, kCarveout, 50));\n"                // 5
      "wait(scale); auto k = scale; x.scale(2);\n"                          // 6
      "#endif\n"
      "cudaLaunchKernel((void*)scale, n / 64, 64, args);\n";
  EXPECT_EQ(lines_of(text), (Lines{2, 3, 4}));
  EXPECT_EQ(launches_in_conditionals(text, "scale", {})[2].configuration, "scale, n / 64, 64");
  const size_t begin = text.find("cudaLaunch");
  EXPECT_EQ(lines_of(text, {{begin, begin + 40}}), (Lines{3, 4}));
}

TEST(LaunchesInConditionals, OfTextThatIsCutAnywhereAreNoneThatTheWholeDoesNotHave) {
  for (size_t end = 0; end < kUnseen.size(); ++end)
    for (uint32_t line : lines_of(std::string_view(kUnseen).substr(0, end)))
      EXPECT_TRUE(line == 4 || line == 6) << line << " of the first " << end << " bytes";
}

}  // namespace
}  // namespace kernelift::reintegrate
