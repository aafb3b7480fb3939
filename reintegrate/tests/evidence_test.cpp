// What is known of a candidate beyond its recorded inputs, in words, and whether that is enough.
#include "reintegrate/evidence.h"

#include <gtest/gtest.h>

#include "core/tests/expression_literal.h"
#include "reintegrate/embed/shape_guard.h"

namespace kernelift::reintegrate {
namespace {

TEST(SettledSizes, NeedAProofOfMemoryAndOfValuesAndStepsThatTakeNothingElseForGranted) {
  Verdict verdict;
  verdict.timings.resize(1);
  Candidate candidate;
  EXPECT_FALSE(settled_sizes(candidate, verdict));
  OtherSizes& sizes = verdict.other_sizes.emplace();
  sizes.known = OtherSizes::Known::Proven;
  verdict.field.emplace().found = FieldEquality::Found::Equal;
  EXPECT_FALSE(settled_sizes(candidate, verdict)) << "values of recorded arguments alone";
  sizes.same_values = true;
  EXPECT_TRUE(settled_sizes(candidate, verdict));
  candidate.steps.push_back(Step::described("a counter between launches"));
  candidate.steps.back().premises.push_back({.words = "no two launches run at the same time"});
  EXPECT_FALSE(settled_sizes(candidate, verdict));
  candidate.steps.clear();
  sizes.known = OtherSizes::Known::Not;
  EXPECT_FALSE(settled_sizes(candidate, verdict));
}

TEST(SettledSizes, LeaveTheBlockAndThePremiseToTheGuardOfEmbeddedCode) {
  Mep mep;
  mep.kernel_name = "scale";
  mep.parameters = {{"n", "", "", false, "int"}};
  MepInstance& instance = mep.instances.emplace_back();
  instance.geometry = {{16, 1, 1}, {64, 1, 1}, 0};
  instance.parameters = {{0, 4}}, instance.arguments.resize(4);
  Candidate candidate;
  candidate.source = "another text";
  OtherSizes settled;
  settled.known = OtherSizes::Known::Proven, settled.same_values = true;
  settled.assumptions = {Premise::no_overlap({"data", "out"})};
  auto clauses = [&](const LaunchGuard& asked, const OtherSizes* known) {
    std::string all;
    auto guard = shape_guard(mep, "original", candidate, asked, known);
    for (auto& clause : guard->clauses) all += clause.text + "; ";
    for (auto& what : guard->unguarded) all += "not " + what + "; ";
    return all + (guard->any_arguments ? "any" : "");
  };
  EXPECT_EQ(clauses({}, nullptr), "block (64,1,1); dynamic shared memory 0 bytes; n == 0; grid (16,1,1); ");
  EXPECT_EQ(clauses({}, &settled),
            "block (64,1,1); dynamic shared memory 0 bytes; not that data and out do not overlap; any");
  EXPECT_EQ(clauses(LaunchGuard({Premise::holds("n % 4 == 0"_e)}), &settled),
            "block (64,1,1); dynamic shared memory 0 bytes; n % 4 == 0; not that data and out do not overlap; ");
  settled.premise = "n % 4 == 0"_e;
  EXPECT_EQ(clauses({}, &settled), clauses({}, nullptr)) << "--no-guards";
}

TEST(Evidence, SaysOfWhichPartOfAProofThereIsOne) {
  Verdict verdict;
  verdict.timings.resize(1);
  OtherSizes& sizes = verdict.other_sizes.emplace();
  sizes.known = OtherSizes::Known::UnderPremise, sizes.premise = "buckets > 0"_e;
  auto said = [&](bool guarded) { return evidence_notes(verdict, guarded).at(0); };
  EXPECT_EQ(said(true),
            "Proven where buckets > 0: it uses memory as the original does; its values were compared where it was run. "
            "The launch asks that; elsewhere the original launch runs.");
  sizes.same_values = true, sizes.why = "n = 3";
  EXPECT_EQ(said(false),
            "Proven where buckets > 0: it uses memory as the original does, and computes the same values. Nothing asks "
            "that (--no-guards); elsewhere it can be wrong: n = 3.");
  sizes.known = OtherSizes::Known::Proven, sizes.same_values = false;
  EXPECT_EQ(said(true),
            "Proven at all sizes: it uses memory as the original does; its values were compared where it was run.");
}

TEST(Evidence, NamesWhatTheVendorsToolsFound) {
  Verdict verdict;
  verdict.sanitized = Sanitized{{"memcheck", "racecheck"}, false, "synccheck takes more than 90 s for one launch"};
  EXPECT_EQ(
      evidence_notes(verdict, false).back(),
      "On a recorded input, NVIDIA's compute-sanitizer: memcheck and racecheck report nothing; others were not run: "
      "synccheck takes more than 90 s for one launch.");
}

}  // namespace
}  // namespace kernelift::reintegrate
