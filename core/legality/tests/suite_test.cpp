// The suite's answers agree with its labels.
#include <gtest/gtest.h>

#include <algorithm>
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

/// What a patch does not have to ask anything about, at any launch.
bool is_plain_proof(const Answer& answer) {
  const bool asked = std::ranges::any_of(answer.assumptions,
                                         [](auto& assumption) { return assumption.kind == Assumption::Kind::Aligned; });
  return answer.kind == Answer::Kind::Proven && !asked;
}

TEST(LegalitySuite, NoWrongVariantIsProvenAndNoRightOneRefuted) {
  for (auto& one : judged())
    EXPECT_EQ(one.fault, "") << one.kernel->name << ": " << one.variant->what << ": " << one.memory.why;
}

/// Wrong rewrites that differ from the original by what a model may easily lose: the memory that a value was read from
/// in the meantime, the width of an integer, who reaches a barrier. What is not known of them is as good as refuted.
TEST(LegalitySuite, NoTrapIsProven) {
  const auto traps = read_suite(KERNELIFT_TRAPS);
  EXPECT_GE(traps.size(), 70u);
  for (auto& one : judge_suite(traps)) {
    const bool values = one.variant->label == Variant::Label::Values;
    if (!values) EXPECT_FALSE(is_plain_proof(one.memory)) << one.kernel->name << ": " << one.variant->what;
    if (!one.variant->at.empty()) EXPECT_EQ(one.fault, "") << one.kernel->name << ": " << one.variant->what;
    EXPECT_FALSE(one.memory.same_values) << one.kernel->name << ": " << one.variant->what;
    if (one.values) EXPECT_NE(one.values->kind, Answer::Kind::Proven) << one.kernel->name << ": " << one.variant->what;
  }
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
