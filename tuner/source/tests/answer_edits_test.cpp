// Tests of applying a model's answer: exactly once, or not at all with a useful complaint.
#include "tuner/source/llm/answer_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "core/base/file.h"
#include "core/model/candidate/tune_declarations.h"
#include "core/model/launch_values.h"
#include "core/tests/expression_literal.h"
#include "tuner/source/hypotheses/hypothesis.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;

Candidate parent() {
  Candidate candidate;
  candidate.source = "__global__ void k(float *y) {\n  y[0] = 1;\n  y[1] = 1;\n}\n";
  return candidate;
}

Mep mep() {
  Mep made;
  made.kernel_name = "k";
  return made;
}

std::string edit(const std::string& search, const std::string& replace) {
  return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n";
}

AnswerEdits applied(const std::string& answer, bool cut_off = false) {
  return apply_answer(mep(), parent(), answer, cut_off);
}

TEST(AnswerEdits, ApplyAnExactMatch) {
  auto result = applied("IDEA: twice as much\n" + edit("  y[0] = 1;\n", "  y[0] = 2;\n"));
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_THAT(result.candidate->source, HasSubstr("y[0] = 2;\n  y[1] = 1;"));
  EXPECT_EQ(result.idea, "twice as much");
}

TEST(AnswerEdits, AreReadInTheFormThatThePromptShows) {
  const auto prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
  const auto system = read_text(prompts / "system.txt"), cards = read_text(prompts / "task_hypotheses.txt");
  ASSERT_TRUE(system.ok() && cards.ok());
  Mep taken = mep();
  taken.parameters.resize(1);
  taken.parameters[0].name = "n", taken.parameters[0].type = taken.parameters[0].scalar = "int";
  Candidate shown = parent();
  shown.source = "constexpr int TILE = 32, WIDE = 4;\n__global__ void k(int n) {\nlines as they are\n}\n";
  const size_t form = system->find("How to answer");
  ASSERT_NE(form, system->npos);
  auto result = apply_answer(taken, shown, system->substr(system->find("IDEA: ", form)), false);
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_THAT(result.candidate->source, HasSubstr("{\nlines as they shall be\n}"));
  EXPECT_EQ(result.idea, "what you change and why it should be faster");
  // As a model fills it in: of a list its first word, of an explanation the example behind it.
  std::string card = cards->substr(cards->find("CARD\n"));
  card = std::regex_replace(card, std::regex("(FAMILY|RISK): (\\w+), .*"), "$1: $2");
  card = std::regex_replace(card, std::regex("(MOVES|GAIN): .*: "), "$1: ");
  const Cards read = read_cards(card, 3);
  const auto declared = TuneDeclarations::parse(*system);
  ASSERT_TRUE(declared.ok()) << declared.error().message;
  EXPECT_EQ(declared->parameters.size(), 2u);
  ASSERT_EQ(read.hypotheses.size(), 1u) << read.complaint;
  EXPECT_THAT(read.hypotheses[0].change, HasSubstr("what would be changed"));
}

TEST(AnswerEdits, ComplainWithTheMostSimilarLines) {
  auto result = applied(edit("  y[0]=11;\n", "  y[0] = 2;\n"));
  EXPECT_FALSE(result.candidate);
  EXPECT_THAT(result.complaint, HasSubstr("does not occur"));
  EXPECT_THAT(result.complaint, HasSubstr("  y[0] = 1;\n"));
}

TEST(AnswerEdits, ApplyAMatchButForBlanksIfItIsTheOnlyOne) {
  auto result = applied(edit("\ty[0]=1;\ny[1] =1;\n", "  y[0] = 2;\n"));
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_EQ(result.candidate->source, "__global__ void k(float *y) {\n  y[0] = 2;\n}\n");
  Candidate twice = parent();
  twice.source += "y[0] = 1 ;\n";
  EXPECT_FALSE(apply_answer(mep(), twice, edit("y[0]=1;\n", "\n"), false).candidate) << "which of the two?";
  EXPECT_FALSE(applied(edit("y[0] = 1; y[1] = 1;\n", "\n")).candidate) << "whole lines only";
}

TEST(AnswerEdits, RefuseAnAmbiguousMatch) {
  Candidate twice = parent();
  twice.source += "  y[0] = 1;\n";
  EXPECT_THAT(apply_answer(mep(), twice, edit("  y[0] = 1;\n", "\n"), false).complaint, HasSubstr("occurs 2 times"));
}

TEST(AnswerEdits, DoNotMatchInsideAName) {
  Candidate counts = parent();
  counts.source += "  mcount++;\n";
  EXPECT_THAT(apply_answer(mep(), counts, edit("count++;\n", "count += 2;\n"), false).complaint,
              HasSubstr("does not occur"));
  counts.source += "  count++;\n";
  auto result = apply_answer(mep(), counts, edit("count++;\n", "count += 2;\n"), false);
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_THAT(result.candidate->source, HasSubstr("  mcount++;\n  count += 2;\n"));
}

TEST(AnswerEdits, ApplyAllOrNothing) {
  auto result = applied(edit("  y[0] = 1;\n", "  y[0] = 2;\n") + edit("  y[9] = 1;\n", "\n"));
  EXPECT_FALSE(result.candidate);
  EXPECT_THAT(result.complaint, HasSubstr("SEARCH block 2"));
}

TEST(AnswerEdits, AcceptAWholeFileInOneFence) {
  auto result = applied("Here it is.\n```cuda\n__global__ void k(float *y) { y[0] = 3; }\n```\nEnjoy.");
  ASSERT_TRUE(result.candidate);
  EXPECT_EQ(result.candidate->source, "__global__ void k(float *y) { y[0] = 3; }\n");
}

TEST(AnswerEdits, AWholeFileHasNoneOfItsParentsPremisesAndAnEditHasAll) {
  Candidate assuming = parent();
  assuming.steps = {
      {.origin = Step::Origin::Rule, .rule = "restrict_pointers", .effects = {"lowers the precision of y"}}};
  assuming.steps[0].premises = {Premise::no_overlap({"y"})};
  auto whole =
      apply_answer(mep(), assuming, "IDEA: anew\n```\n__global__ void k(float *y) { y[0] = 3; }\n```\n", false);
  ASSERT_TRUE(whole.candidate) << whole.complaint;
  EXPECT_TRUE(whole.candidate->steps[0].premises.empty()) << "the judge finds those of its own text";
  EXPECT_EQ(whole.candidate->steps[0].effects.size(), 1u) << "what a patch must disclose stays";
  auto edited = apply_answer(mep(), assuming, edit("  y[0] = 1;\n", "  y[0] = 2;\n"), false);
  ASSERT_TRUE(edited.candidate) << edited.complaint;
  EXPECT_EQ(edited.candidate->steps[0].premises.size(), 1u);
}

TEST(AnswerEdits, ComplainAboutProse) {
  EXPECT_THAT(applied("I would use shared memory.").complaint, HasSubstr("contains no edit"));
}

TEST(AnswerEdits, ComplainAboutHalfAReply) {
  auto result = applied("<<<<<<< SEARCH\n  y[0] = 1;\n=======\n  y[0", true);
  EXPECT_THAT(result.complaint, HasSubstr("ends inside a SEARCH/REPLACE block"));
  EXPECT_THAT(result.complaint, HasSubstr("cut off"));
  EXPECT_THAT(applied("```\n__global__ void k(").complaint, HasSubstr("ends inside a fenced block"));
}

TEST(AnswerEdits, ComplainIfNothingChanges) {
  EXPECT_THAT(applied(edit("  y[0] = 1;\n", "  y[0] = 1;\n")).complaint, HasSubstr("change nothing"));
}

TEST(AnswerEdits, ChangeTheLaunch) {
  auto result =
      applied("IDEA: two per thread\nLAUNCH grid.x = ceil_div(gx, 2)\n" + edit("  y[0] = 1;\n", "  y[0] = 2;\n"));
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_EQ(result.candidate->launches.at(0).grid[0].text(), "ceil_div(gx, 2)");
  EXPECT_EQ(result.candidate->launches.at(0).kernel, "k");
}

TEST(AnswerEdits, ComplainAboutALaunchOverUnknownNames) {
  EXPECT_THAT(applied("LAUNCH grid.x = n / 2\n" + edit("  y[0] = 1;\n", "\n")).complaint,
              HasSubstr("grid.x is computed from 'n', which is neither"));
}

TEST(AnswerEdits, ApplyToASourceWithCarriageReturnsAndKeepThem) {
  Candidate windows = parent();
  windows.source = "__global__ void k(float *y) {\r\n  y[0] = 1;\r\n}\r\n";
  for (std::string answer : {edit("  y[0] = 1;\n", "  y[0] = 2;\n"), edit("  y[0] = 1;\r\n", "  y[0] = 2;\r\n"),
                             std::string("```\n__global__ void k(float *y) {\n  y[0] = 2;\n}\n```\n")}) {
    auto result = apply_answer(mep(), windows, answer, false);
    ASSERT_TRUE(result.candidate) << result.complaint;
    EXPECT_EQ(result.candidate->source, "__global__ void k(float *y) {\r\n  y[0] = 2;\r\n}\r\n");
  }
  EXPECT_THAT(apply_answer(mep(), windows, edit("  y[0] = 1;\n", "  y[0] = 1;\n"), false).complaint,
              HasSubstr("change nothing"));
}

TEST(AnswerEdits, AcceptMiscountedMarkersAndFencesAroundHalves) {
  const char* const kAnswers[] = {
      "<<<<<< SEARCH\n  y[0] = 1;\n======\n  y[0] = 2;\n>>>>>> REPLACE\n",
      "```cpp\n<<<<<<<< SEARCH\n  y[0] = 1;\n========\n  y[0] = 2;\n>>>>>>> REPLACE\n```\n",
      "<<<<<<< SEARCH\n```cuda\n  y[0] = 1;\n```\n=======\n```cuda\n  y[0] = 2;\n```\n>>>>>>> REPLACE\n"};
  for (auto* answer : kAnswers) {
    auto result = applied(answer);
    ASSERT_TRUE(result.candidate) << answer << result.complaint;
    EXPECT_THAT(result.candidate->source, HasSubstr("{\n  y[0] = 2;\n  y[1] = 1;"));
  }
}

TEST(AnswerEdits, AcceptFencesOfEveryStyle) {
  const std::string file = "__global__ void k(float *y) { y[0] = 3; }\n";
  for (std::string answer :
       {"~~~\n" + file + "~~~\n", "````cpp\n" + file + "````\n", "  ```c++ title=\"k.cu\"\n" + file + "  ```\n",
        "\xef\xbb\xbf```\r\n" + file + "```\r\n", "```\nint shown;\n```\n~~~cuda\n" + file + "~~~~\n"}) {
    auto result = applied(answer);
    ASSERT_TRUE(result.candidate) << answer << result.complaint;
    EXPECT_EQ(result.candidate->source, file);
  }
  EXPECT_FALSE(applied("````\n" + file + "```\n").candidate) << "a shorter fence does not close a longer one";
}

TEST(AnswerEdits, AWholeFileMustSayItsLaunchWhereTheSourceHasItsOwn) {
  Candidate jammed = parent();
  CandidateLaunch launch = CandidateLaunch::as_recorded("k");
  launch.grid[0] = *Expression::parse("ceil_div(gx, 4)");
  jammed.launches = {launch};
  const std::string file = "```\n__global__ void k(float *y) {}\n```\n";
  EXPECT_THAT(apply_answer(mep(), jammed, file, false).complaint, HasSubstr("does not say how it is launched"));
  auto same = apply_answer(mep(), jammed, "LAUNCH unchanged\n" + file, false);
  ASSERT_TRUE(same.candidate);
  EXPECT_EQ(same.candidate->launches.at(0).grid[0].text(), "ceil_div(gx, 4)");
  auto recorded = apply_answer(mep(), jammed, "LAUNCH recorded\nLAUNCH block.x = 32\n" + file, false);
  ASSERT_TRUE(recorded.candidate);
  EXPECT_EQ(recorded.candidate->launches.at(0).grid[0].text(), "gx");
  EXPECT_EQ(recorded.candidate->launches.at(0).block[0].text(), "32");
  EXPECT_TRUE(apply_answer(mep(), jammed, edit("  y[0] = 1;\n", "  y[0] = 2;\n"), false).candidate)
      << "edits stay with the launch of what they edit";
}

TEST(AnswerEdits, KeepNewConstantsAsValuesThatLaunchesMayUse) {
  auto result =
      applied("LAUNCH block.x = TILE\n" + edit("  y[0] = 1;\n", "  constexpr int TILE = 32;\n  y[0] = TILE;\n"));
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_EQ(result.candidate->values, (Bindings{{"TILE", 32}}));
  EXPECT_EQ(result.candidate->launches.at(0).block[0].text(), "TILE");
}

TEST(AnswerEdits, LaunchWithTheNewValueOfAConstantThatTheParentHad) {
  const std::string changed = edit("  y[0] = 1;\n", "  constexpr int TILE = 32;\n  y[0] = TILE;\n");
  auto tiled = applied("LAUNCH block.x = TILE\n" + changed);
  ASSERT_TRUE(tiled.candidate) << tiled.complaint;
  auto smaller = apply_answer(mep(), *tiled.candidate, edit("int TILE = 32;\n", "int TILE = 16;\n"), false);
  ASSERT_TRUE(smaller.candidate) << smaller.complaint;
  EXPECT_EQ(smaller.candidate->values, (Bindings{{"TILE", 16}}));
}

TEST(AnswerEdits, AcceptALineOfEqualSignsInTheText) {
  Candidate ruled = parent();
  ruled.source += "/*\n=====\n*/\n";
  auto result = apply_answer(mep(), ruled, edit("/*\n=====\n*/\n", "// no rule\n"), false);
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_THAT(result.candidate->source, HasSubstr("}\n// no rule\n"));
}

TEST(AnswerEdits, ComplainAboutATruncatedAnswer) {
  std::string answer =
      "IDEA: x\nLAUNCH grid.x = (gx + 1) / 2\n" + edit("  y[0] = 1;\n", "  y[0] = 2;\n") + "```\n__global__\n```\n";
  for (size_t cut = 0; cut <= answer.size(); ++cut) {
    auto result = applied(answer.substr(0, cut));
    EXPECT_NE(result.candidate.has_value(), !result.complaint.empty());
  }
}

/// k<<<(n + B - 1) / B, B>>>(y, n), recorded with 16 blocks of 64.
Mep recorded_mep() {
  Mep made = mep();
  made.parameters = {{"y", "float *", "float", false, ""}, {"n", "int", "", false, "int"}};
  LaunchSite site;
  site.grid[0] = "(n + B - 1) / B"_e, site.block[0] = "B"_e;
  for (int axis : {1, 2}) site.grid[axis] = site.block[axis] = "1"_e;
  site.argument_text = {"y", "n"};
  made.launches = {site};
  Knob block;
  block.name = "B", block.value = 64, block.is_macro = block.in_kernel = block.in_geometry = true;
  made.knobs = {block};
  MepInstance instance;
  instance.geometry = {{16, 1, 1}, {64, 1, 1}};
  instance.arguments.resize(12), instance.arguments[9] = std::byte{4};  // n = 1024
  instance.parameters = {{0, 8}, {8, 4}};
  made.instances = {instance};
  return made;
}

Candidate recorded_parent() {
  Candidate candidate;
  candidate.source = "#define B 64\n__global__ void k(float *y, int n) {\n  y[0] = B;\n}\n";
  return candidate;
}

TEST(AnswerEdits, TakeDeclarationsWithTheLaunchThatFollowsThem) {
  const Mep mep = recorded_mep();
  const std::string tiled =
      edit("  y[0] = B;\n",
           "  constexpr int TILE = 48;  // kernelift: tune TILE in {32, 64} where TILE < B\n  y[0] = TILE;\n");
  for (auto* launch : {"LAUNCH grid.x = ceil_div(n, TILE)\nLAUNCH block.x = TILE\n", ""}) {
    const std::string answer =
        *launch
            ? launch + tiled
            : edit("  y[0] = B;\n",
                   "  // kernelift: launch grid.x = ceil_div(n, TILE), block.x = TILE\n  constexpr int TILE = 48;  // "
                   "kernelift: tune TILE in {32, 64} where TILE < B\n  y[0] = TILE;\n");
    auto result = apply_answer(mep, recorded_parent(), answer, false);
    ASSERT_TRUE(result.candidate) << result.complaint;
    EXPECT_THAT(result.candidate->source,
                HasSubstr("  constexpr int TILE = 32;  // kernelift: tune TILE in {32, 64} where"));
    EXPECT_THAT(result.candidate->source, testing::Not(HasSubstr("kernelift: launch")));
    auto& instance = mep.instances[0];
    auto made = result.candidate->launches.at(0).evaluate(instance.geometry,
                                                          with_arguments(mep, instance, result.candidate->values));
    EXPECT_EQ(made->text(), "<<<(32,1,1), (32,1,1)>>>");
  }
  EXPECT_THAT(
      apply_answer(mep, recorded_parent(), edit("  y[0] = B;\n", "  y[0] = B;  // kernelift: tune T in {2}\n"), false)
          .complaint,
      HasSubstr("line 3: 'T' is not defined exactly once"));
}

TEST(AnswerEdits, ChangeKnobsAsTheApplicationLaunchesThem) {
  const Mep mep = recorded_mep();
  auto result = apply_answer(mep, recorded_parent(), edit("#define B 64\n", "#define B 256\n"), false);
  ASSERT_TRUE(result.candidate) << result.complaint;
  EXPECT_EQ(result.candidate->values.at("B"), 256);
  auto made = result.candidate->launches.at(0).evaluate(mep.instances[0].geometry, result.candidate->values);
  EXPECT_EQ(made->text(), "<<<(4,1,1), (256,1,1)>>>");
  auto own =
      apply_answer(mep, recorded_parent(), "LAUNCH block.x = 32\n" + edit("#define B 64\n", "#define B 256\n"), false);
  ASSERT_TRUE(own.candidate) << own.complaint;
  EXPECT_EQ(own.candidate->launches.at(0).evaluate(mep.instances[0].geometry, own.candidate->values)->block.x, 32u);
}

}  // namespace
}  // namespace kernelift::tuner
