// The suite's answers agree with its labels.
#include <gtest/gtest.h>

#include <set>

#include "core/legality/tests/suite.h"

namespace kernelift::legality {
namespace {

constexpr double kLeastWrongSettled = 0.98, kLeastRightProven = 0.70;

const std::vector<SuiteKernel>& kernels() {
  static const auto all = read_suite(KERNELIFT_SUITE);
  return all;
}

const std::vector<Judged>& judged() {
  static const auto all = judge_suite(kernels());
  return all;
}

double settled(Variant::Label label) {
  double all = 0, settled = 0;
  for (auto& one : judged())
    if (one.variant->label == label) ++all, settled += one.settled;
  return settled / all;
}

TEST(LegalitySuite, NoWrongVariantIsProvenAndNoRightOneRefuted) {
  for (auto& one : judged())
    EXPECT_EQ(one.fault, "") << one.kernel->name << ": " << one.variant->what << ": " << one.memory.why;
}

/// Wrong rewrites that differ from the original by what a model may easily lose: the memory that a value was read from
/// in the meantime, the width of an integer, who reaches a barrier. What is not known of them is as good as refuted.
TEST(LegalitySuite, NoTrapIsProven) {
  const auto traps = read_suite(KERNELIFT_TRAPS);
  EXPECT_GE(traps.size(), 30u);
  for (auto& one : judge_suite(traps)) {
    const bool values = one.variant->label == Variant::Label::Values;
    if (!values) EXPECT_NE(one.memory.kind, Answer::Kind::Proven) << one.kernel->name << ": " << one.variant->what;
    if (one.values) EXPECT_NE(one.values->kind, Answer::Kind::Proven) << one.kernel->name << ": " << one.variant->what;
  }
}

/// Traps that are proven and are wrong, which docs/verification.md tells users. A list that says more than is so would
/// be as false as one that says less: what is mended goes to the other folder.
TEST(LegalitySuite, WhatIsStillProvenWronglyIsListedAndNothingElse) {
  const auto open = read_suite(KERNELIFT_OPEN_TRAPS);
  ASSERT_FALSE(open.empty());
  std::set<std::string> proven;
  for (auto& one : judge_suite(open))
    if (one.memory.kind == Answer::Kind::Proven || (one.values && one.values->kind == Answer::Kind::Proven))
      proven.insert(one.kernel->name);
  for (auto& kernel : open) EXPECT_TRUE(proven.contains(kernel.name)) << kernel.name << " is mended: move it to traps";
}

TEST(LegalitySuite, NearlyAllWrongVariantsAreRefutedOrExcludedByAPremise) {
  EXPECT_GE(settled(Variant::Label::Wrong), kLeastWrongSettled);
}

TEST(LegalitySuite, EveryKernelHasVariants) {
  for (auto& kernel : kernels()) EXPECT_FALSE(kernel.variants.empty()) << kernel.name;
}

TEST(LegalitySuite, MostRightVariantsAreProven) { EXPECT_GE(settled(Variant::Label::Right), kLeastRightProven); }

TEST(LegalitySuite, EveryAnswerButProvenSaysWhy) {
  for (auto& one : judged()) {
    if (one.memory.kind == Answer::Kind::Proven) continue;
    EXPECT_NE(one.memory.why, "") << one.kernel->name << ": " << one.variant->what;
    EXPECT_EQ(one.memory.why.find("_ZZ"), std::string::npos) << "a mangled name in: " << one.memory.why;
  }
}

TEST(LegalitySuite, EveryKernelEqualsItself) {
  for (auto& kernel : kernels()) {
    auto model = suite_model(kernel.text, kernel.launch.block);
    const Side side{model, kernel.launch};
    EXPECT_EQ(compare_memory(side, side, kernel.names).kind, Answer::Kind::Proven) << kernel.name;
    model.whole_code.clear();  // By its accesses alone.
    auto answer = compare_memory(side, side, kernel.names);
    EXPECT_NE(answer.kind, Answer::Kind::Refuted) << kernel.name << ": " << answer.why;
  }
}

}  // namespace
}  // namespace kernelift::legality
