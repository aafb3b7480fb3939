// A sample of the rewrites; the program rule_suite runs all of them.
#include <gtest/gtest.h>

#include <map>

#include "tuner/tests/executed/execution_suite.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kOfKernels = 4, kOfVariants = 12;
constexpr unsigned kOfRewrites = 6;

/// Rules whose results may be no result even where they were recorded, which verification then sees, and why.
const std::map<std::string, std::string> kSeenWrong = {{"fast_math", "__powf of a negative number is no number"}};
/// Rules that may be wrong where the comparison does not know it, and why. None may.
const std::map<std::string, std::string> kNotKnown = {};

std::vector<legality::SuiteKernel> kernels() {
  std::vector<legality::SuiteKernel> sample;
  size_t number = 0;
  for (auto* folder : {KERNELIFT_SUITE, KERNELIFT_EXECUTED_KERNELS})
    for (auto& kernel : legality::read_suite(folder))
      if (number++ % kOfKernels == 0) sample.push_back(std::move(kernel));
  return sample;
}

const std::vector<Executed>& executed() {
  static const auto suite = kernels();
  static const auto all = execute(suite, {.of = kOfRewrites});
  return all;
}

std::string text(const Executed& one) {
  return one.kernel->name + ": " + one.rewrite.candidate.note() + "\n" + one.why + "\n" + one.rewrite.candidate.source;
}

TEST(Rewrites, EqualTheOriginalAtAllSizesOrAreJudgedWrong) {
  for (auto& one : executed()) EXPECT_NE(one.fate, Fate::Unnoticed) << text(one);
}

TEST(Rewrites, Compile) {
  for (auto& one : executed()) EXPECT_NE(one.fate, Fate::Broken) << text(one);
}

TEST(Rewrites, OfRulesAreEqualAtTheRecordedSizes) {
  for (auto& one : executed())
    if (one.rewrite.rule != kBlockSize && !kSeenWrong.contains(one.rewrite.rule))
      EXPECT_NE(one.fate, Fate::SeenWrong) << text(one);
}

TEST(Rewrites, AreKnownWhereTheyDiffer) {
  for (auto& one : executed())
    if (!kNotKnown.contains(one.rewrite.rule)) EXPECT_NE(one.fate, Fate::NotKnown) << text(one);
}

TEST(Rewrites, RunAtSeveralSizes) {
  for (auto& one : executed())
    if (one.fate == Fate::Equal) EXPECT_GE(one.sizes, 3) << text(one);
}

/// What the executions would find: mistakes that were seeded.
TEST(Executions, ShowNearlyAllWrongVariantsOfTheSuite) {
  size_t all = 0, missed = 0;
  std::string texts;
  const auto suite = legality::read_suite(KERNELIFT_SUITE);
  for (size_t k = 0; k < suite.size(); k += kOfVariants) {
    for (auto& variant : suite[k].variants) all += variant.label != legality::Variant::Label::Right;
    for (auto& one : wrong_variants_not_seen(suite[k])) ++missed, texts += one + "\n";
  }
  EXPECT_GT(all, 10u);
  EXPECT_LE(missed * 10, all) << texts;
}

}  // namespace
}  // namespace kernelift::tuner
