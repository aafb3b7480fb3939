// Templates fitted to a MEP: their first setting, their space, their launches, and what is wrong with those that do not
// fit.
#include "tuner/space/kernel_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/model/launch_values.h"
#include "core/tests/expression_literal.h"
#include "tuner/space/mep_space.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

constexpr const char* kOriginal = "#define B 64\n__global__ void k(float* data, int n) { f(B); }\n";

/// k<<<(n + B - 1) / B, B>>>(data, n) with n = 1000 and B = 64.
Mep recorded() {
  Mep mep;
  mep.kernel_name = "k";
  mep.parameters = {{"data", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
  LaunchSite site;
  site.grid[0] = "(n + B - 1) / B"_e, site.block[0] = "B"_e;
  for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = "1"_e;
  site.argument_text = {"data", "n"};
  mep.launches = {site};
  MepInstance instance;
  instance.id = "i0", instance.geometry = {{16, 1, 1}, {64, 1, 1}};
  const int32_t n = 1000;
  instance.arguments.resize(12);
  std::memcpy(instance.arguments.data() + 8, &n, 4);
  instance.parameters = {{0, 8}, {8, 4}};
  mep.instances = {instance};
  Knob block;
  block.name = "B", block.value = 64, block.is_macro = block.in_kernel = block.in_geometry = true;
  mep.knobs = {block};
  return mep;
}

std::string error_of(const std::string& text) {
  auto made = candidate_of_template(recorded(), kOriginal, text, "mine.cu");
  return made.ok() ? "none" : made.error().message;
}

Candidate fitted(const Mep& mep, const std::string& text) {
  auto made = candidate_of_template(mep, kOriginal, text, "mine.cu");
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  return made.ok() ? *made : Candidate();
}

Geometry launched(const Mep& mep, const Candidate& candidate) {
  return *candidate.launches.at(0).evaluate(mep.instances[0].geometry,
                                            with_arguments(mep, mep.instances[0], candidate.values));
}

const std::string kTiled =
    "// kernelift: tune TILE in {16, 32, 128} where TILE <= U * 64; launch grid.x = ceil_div(n, TILE * U), block.x = "
    "TILE\n"
    "constexpr int TILE = 32;\n"
    "enum { U = 2 };  // kernelift: tune U in 1..4 times 2\n"
    "__global__ void k(float* data, int n) { f(TILE, U); }\n";

Candidate given(const std::string& text, Bindings values = {}) {
  Candidate candidate;
  candidate.source = text, candidate.values = std::move(values), candidate.tier = "source",
  candidate.proposer = "agent";
  return candidate;
}

TEST(KernelTemplate, OfAJsonCandidateIsJudgedAtTheSettingThatItNames) {
  const Mep mep = recorded();
  auto first = setting_as_given(mep, kOriginal, given(kTiled));
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(launched(mep, *first).text(), "<<<(16,1,1), (32,1,1)>>>");
  EXPECT_EQ(first->proposer, "agent");
  auto other = setting_as_given(mep, kOriginal, given(kTiled, {{"TILE", 128}}));
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_THAT(other->source, HasSubstr("constexpr int TILE = 128;"));
  EXPECT_EQ(launched(mep, *other).text(), "<<<(4,1,1), (128,1,1)>>>");
}

TEST(KernelTemplate, OfAJsonCandidateKeepsItsOwnLaunchWhoseExpressionsKnowTheParameters) {
  const Mep mep = recorded();
  Candidate written = given(kTiled);
  written.launches = {CandidateLaunch::as_recorded("k")};
  written.launches[0].block[0] = "TILE * 2"_e;
  written.recipe.level = "O2";
  auto made = setting_as_given(mep, kOriginal, written);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(launched(mep, *made).block.x, 64u);
  EXPECT_EQ(made->recipe.level, "O2");
  auto again = setting_as_given(mep, kOriginal, *made);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->key(), made->key()) << "a setting that was stored is the same when it is read again";
}

TEST(KernelTemplate, ATextThatSetsAKnobOtherwiseIsLaunchedAsTheApplicationWould) {
  const Mep mep = recorded();
  const std::string wide = "#define B 128\n__global__ void k(float* data, int n) { f(B); }\n";
  auto made = setting_as_given(mep, kOriginal, given(wide));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->source, wide);
  EXPECT_EQ(made->values.at("B"), 128);
  EXPECT_EQ(launched(mep, *made).text(), "<<<(8,1,1), (128,1,1)>>>");
  Candidate with_launch = given(wide);
  with_launch.launches = {CandidateLaunch::as_recorded("k")};
  auto kept = setting_as_given(mep, kOriginal, with_launch);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->key(), with_launch.key()) << "a launch of its own stays";
  auto same = setting_as_given(mep, kOriginal, given(kOriginal));
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->launches.empty() && same->values.empty());
}

TEST(KernelTemplate, OfAJsonCandidateIsRefusedAtAnUndeclaredSetting) {
  auto error = [&](Candidate written) {
    auto made = setting_as_given(recorded(), kOriginal, std::move(written));
    return made.ok() ? "none" : made.error().message;
  };
  EXPECT_EQ(error(given(kTiled, {{"TILE", 64}})),
            "line 1: TILE is 64 in `values`, which is none of its declared values");
  EXPECT_THAT(error(given(kTiled, {{"TILE", 128}, {"U", 1}})), HasSubstr("conditions do not permit"));
  EXPECT_THAT(error(given("#define T 4  // kernelift: tune S in 1..4\n" + std::string(kOriginal))),
              HasSubstr("'S' is not defined"));
  EXPECT_EQ(error(given(kOriginal, {{"x", 3}})), "none");
}

TEST(KernelTemplate, IsACandidateAtTheValuesOfItsText) {
  const Mep mep = recorded();
  const Candidate candidate = fitted(mep, kTiled);
  EXPECT_EQ(candidate.note(), "template mine.cu: TILE=32, U=2, block.x=32");
  EXPECT_EQ(candidate.tier, "source");
  EXPECT_THAT(candidate.source, HasSubstr("// kernelift: tune TILE in {16, 32, 128} where TILE <= U * 64\n"));
  EXPECT_THAT(candidate.source, testing::Not(HasSubstr("launch")));
  EXPECT_EQ(launched(mep, candidate).text(), "<<<(16,1,1), (32,1,1)>>>");
}

TEST(KernelTemplate, ItsSpaceIsWhatItDeclares) {
  const Mep mep = recorded();
  auto space = MepSpace::create(mep, fitted(mep, kTiled));
  ASSERT_EQ(space.space().parameters().size(), 2u);
  EXPECT_EQ(space.space().count(), 3 * 3 - 1) << "TILE = 128 needs U > 1";
  auto point = space.point_at({{"TILE", 128}, {"U", 4}});
  ASSERT_TRUE(point);
  const Candidate wide = space.materialise(*point);
  EXPECT_EQ(wide.note(), "template mine.cu: TILE=128, U=4, block.x=128");
  EXPECT_EQ(wide.tier, "params");
  EXPECT_THAT(wide.source, HasSubstr("constexpr int TILE = 128;\nenum { U = 4 };"));
  EXPECT_EQ(launched(mep, wide).text(), "<<<(2,1,1), (128,1,1)>>>");
  EXPECT_FALSE(space.point_at({{"TILE", 128}, {"U", 1}}));
}

TEST(KernelTemplate, BeginsAtTheNearestValuesThatAreDeclared) {
  const Candidate candidate = fitted(
      recorded(),
      "// kernelift: tune T in {8, 64} where T > 8\n#define T 9\n__global__ void k(float* data, int n) { f(T); }\n");
  EXPECT_THAT(candidate.source, HasSubstr("#define T 64\n"));
  EXPECT_EQ(candidate.values.at("T"), 64);
}

TEST(KernelTemplate, AKnobOfTheApplicationTakesItsLaunchWithIt) {
  const Mep mep = recorded();
  const Candidate candidate = fitted(
      mep, "// kernelift: tune B in {128, 256}\n#define B 128\n__global__ void k(float* data, int n) { g(B); }\n");
  EXPECT_EQ(launched(mep, candidate).text(), "<<<(8,1,1), (128,1,1)>>>");
  EXPECT_EQ(candidate.values.at("B"), 128);
  auto space = MepSpace::create(mep, candidate);
  auto point = space.point_at({{"B", 256}});
  ASSERT_TRUE(point);
  EXPECT_EQ(launched(mep, space.materialise(*point)).text(), "<<<(4,1,1), (256,1,1)>>>");
}

TEST(KernelTemplate, BlocksOfMoreThanTheLimitAreNoSettings) {
  const Mep mep = recorded();
  auto space = MepSpace::create(
      mep, fitted(mep,
                  "// kernelift: tune X in 16..64 times 2; tune Y in 16..64 times 2; launch block.x = X, block.y = Y\n"
                  "#define X 16\n#define Y 16\n__global__ void k(float* data, int n) { f(X, Y); }\n"));
  EXPECT_EQ(space.space().count(), 6);
}

TEST(KernelTemplate, TheApplicationsOwnTextMayDeclare) {
  Candidate original;
  original.source =
      "#define B 64\n#define U 4  // kernelift: tune U in {4, 5}\n__global__ void k(float* data, int n) { f(B, U); }\n";
  auto space = MepSpace::create(recorded(), original);
  ASSERT_TRUE(space.point_at({{"U", 5}}));
  EXPECT_FALSE(space.point_at({{"U", 2}}));
}

TEST(KernelTemplate, MistakesAreNamedWithTheirLine) {
  const std::string kernel = "__global__ void k(float* data, int n) { f(T); }\n", text = "#define T 8\n" + kernel;
  const std::pair<std::string, const char*> kWrong[] = {
      {"// kernelift: tune T in {8}\n" + kernel, "line 1: 'T' is not defined exactly once"},
      {"// kernelift: tune T in {8}\n#if A\n#define T 8\n#else\n#define T 4\n#endif\n" + kernel,
       "not defined exactly once"},
      {"// kernelift: tune T in {8}\n#define T sizeof(int)\n" + kernel, "not defined exactly once"},
      {"// kernelift: tune U in {8}\n#define U 8\n" + text, "line 1: 'U' is defined and never used"},
      {"\n// kernelift: tune T in {8} where T < M\n" + text,
       "line 2: the condition 'T < M' names 'M', which is no declared"},
      {"// kernelift: tune T in {8, 16} where T > 16\n" + text, "line 1: no values of the parameters meet 'T > 16'"},
      {"// kernelift: tune T in {8, 16} where T > 8, T < 16\n" + text,
       "no values of the parameters meet all conditions"},
      {"// kernelift: tune T in {8}; launch grid.x = m\n" + text,
       "line 1: grid.x is computed from 'm', which is neither a declared parameter, nor an integer constant of this "
       "text, "
       "nor an integer argument of the kernel (n)"},
      {"// kernelift: tune T in {8}; launch grid.x = data\n" + text, "'data', which is no integer argument"},
      {"// kernelift: tune T in {8}; launch grid.x = n - 1000\n" + text,
       "for launch i0: the launch expression 'n - 1000' gives 0"},
      {"// kernelift: tune T in {8}; launch grid.x = n / (T - 8)\n" + text, "division by zero"},
      {"// kernelift: tune T in {8}; launch block.x = 2000 + T\n" + text, "a block of at most 1024 threads"},
      {"// kernelift: tune n in {8}\n" + text, "not defined exactly once"},
      {std::string("// kernelift: tune B in {64, 128}; launch block.x = B, grid.x = n / B\n") + kOriginal,
       "the declared launch is <<<(15,1,1), (64,1,1)>>>, and <<<(16,1,1), (64,1,1)>>> was recorded"}};
  for (auto& [source, wrong] : kWrong) EXPECT_THAT(error_of(source), HasSubstr(wrong)) << source;
}

TEST(KernelTemplate, ALaunchOfTheOriginalThatGivesWhatWasRecordedIsTaken) {
  EXPECT_EQ(error_of(std::string("// kernelift: tune B in {64, 128}; launch block.x = B, grid.x = ceil_div(n, B)\n") +
                     kOriginal),
            "none");
}

}  // namespace
}  // namespace kernelift::tuner
