// The message of a patch's commit.
#include "reintegrate/commit_message.h"

#include <gtest/gtest.h>

#include "reintegrate/kernel_change.h"

#include <sstream>

namespace kernelift::reintegrate {
namespace {

Step rule(const std::string& name, const std::string& place, std::vector<Premise> premises = {}) {
  Step step;
  step.origin = Step::Origin::Rule, step.rule = name, step.place = place, step.premises = std::move(premises);
  return step;
}
Step knob(const std::string& name, int64_t before, int64_t after) {
  Step step;
  step.origin = Step::Origin::Knob, step.parameters = {{name, after}}, step.replaced = {{name, before}};
  return step;
}

TEST(CommitMessage, HasOneChangeALineThenWhatIsTakenForGrantedKnownAndMeasured) {
  CommitMessage message;
  message.kernel = "smooth";
  Step rounded = rule("fast_math", "whole text");
  rounded.effects = {"lowers the precision of sinf"};
  message.steps = {knob("block_x", 32, 64), rule("unroll", "k", {Premise::no_overlap({"out"}, 2)}), rounded,
                   knob("block_x", 64, 128)};
  message.knowledge = {"Proven at all sizes: it uses memory as the original does, and computes the same values."};
  message.measured = "The whole application, measured: 1.2x.";
  message.trailers = {{"Kernelift-Run", "smooth-1.klrun #7"}};
  EXPECT_EQ(message.text(), R"(Tune smooth

- unroll k
- fast_math whole text
- block_x 32 -> 128

Assumed:
- out overlaps no other array, as in all 2 recorded launches

Beside its speed:
- it lowers the precision of sinf

Proven at all sizes: it uses memory as the original does, and computes
the same values.

The whole application, measured: 1.2x.

Kernelift-Run: smooth-1.klrun #7
)");
}

TEST(CommitMessage, NamesNoLineOfATextThatItsReadersDoNotHave) {
  KernelChange change;
  change.figures.emplace();
  change.figures->other_sizes.emplace();
  change.figures->other_sizes->why = "threads store to one element of y in line 23, and whether the same is not known";
  const CommittedKernel kernel = committed_kernel(change, SourcePatch(), true);
  ASSERT_FALSE(kernel.knowledge.empty());
  EXPECT_EQ(kernel.knowledge[0],
            "It was judged at the recorded sizes. Of others nothing is proven: threads store to one element of y, and "
            "whether the same is not known.");
}

TEST(CommitMessage, CountsEqualStepsAndKeepsDifferentKnobsApart) {
  const Step unroll = rule("unroll", "k");
  EXPECT_EQ(changes_of({unroll, unroll, knob("A", 1, 2), knob("B", 3, 4), knob("A", 2, 8)}),
            (std::vector<std::string>{"unroll k, twice", "B 3 -> 4", "A 1 -> 8"}));
}

TEST(CommitMessage, NothingFromOutsideMakesAForgeAct) {
  CommitMessage message;
  message.kernel = "smooth";
  Step step;
  step.origin = Step::Origin::Model, step.rule = "m",
  step.summary = "Closes #12, fixes GH-3 and https://forge/o/r/issues/1, thanks @somebody; a[i] @ 2 #pragma";
  message.steps = {step};
  message.measured = "1.2x";
  const std::string text = message.text();
  for (const char* part : {"#12", "GH-3", "://forge", "@somebody"}) EXPECT_EQ(text.find(part), text.npos) << text;
  EXPECT_NE(text.find("#pragma"), text.npos) << text;
}

TEST(CommitMessage, NoLineIsLongerThan72ColumnsAndTextFromOutsideBeginsNone) {
  CommitMessage message;
  message.kernel = "k";
  message.steps = {Step::described("faster\nSigned-off-by: Someone " + std::string(300, 'x') + " and then äöü " +
                                   std::string(60, 'y') + " z z z z z z z z z z")};
  message.measured = "m";
  std::istringstream lines(message.text());
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= 72 || line.find(' ', 2) == line.npos) << line;
    EXPECT_FALSE(line.starts_with("Signed")) << line;
  }
}

}  // namespace
}  // namespace kernelift::reintegrate
