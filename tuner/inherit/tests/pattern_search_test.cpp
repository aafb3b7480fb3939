// What the search of one application leaves, the search of another one begins from: real rules, a library on disk, and
// an evaluator in memory whose answer depends on the text alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/inherit/earlier_search.h"
#include "tuner/source/tests/rule_text.h"
#include "tuner/tests/fakes/tuner_fixture.h"
#include "tuner/tiers.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Two kernels of different applications, whose names and texts differ and which do the same with memory.
const std::string kFirst =
    "__global__ void k(float *data, int n) {\n  data[n] = 1;\n  float all = 0;\n  for (int i = 0; i < n; ++i)\n    all "
    "+= data[i];\n"
    "  data[0] = all;\n}\n";
const std::string kSecond =
    "__global__ void k(float *data, int n) {\n  data[n] = 1;\n  float product = 1;\n  for (int j = 0; j < n; ++j) {\n"
    "    product *= data[j];\n  }\n  data[0] = product;\n}\n";

/// Unrolling by 8 is what helps.
Verdict by_unrolling(const Candidate& candidate) {
  return fake_ok(candidate.source.find("#pragma unroll 8") != std::string::npos ? 1.8 : 1.0);
}

class PatternSearchTest : public TunerTest {
 protected:
  /// The trials of a search over the kernel's text that begins from the library, which learns from it.
  std::vector<RunTrial> search(const std::string& name, const std::string& text, bool inherits,
                               const FakeEvaluator::Landscape& landscape = by_unrolling) {
    EXPECT_TRUE(write_atomically(mep_.folder.path() / "kernel.cu", std::string_view(text)).ok());
    mep_.mep.kernel_key = name + "(float*, int)";
    auto run = *RunStore::create(folder_.path() / ("run-" + std::to_string(++runs_) + ".klrun"), meta());
    TierOptions tiers;
    tiers.clang_arguments = {arguments()};
    KernelFeatures features = KernelFeatures::of(mep_.mep.instances[0].geometry, nullptr, Bound::Unknown);
    inherited_ = std::make_shared<InheritedPatterns>();
    inherited_->context = PatternContext::of(mep_.mep, features, "cpu");
    if (inherits) {
      inherited_->offers = PatternLibrary::read(library_)->offers(inherited_->context, most_patterns(60));
      tiers.patterns = inherited_;
    }
    FakeEvaluator evaluator(landscape);
    options_.evaluations = 60;
    auto proposers = *make_proposers(mep_.mep, text, tiers);
    EXPECT_TRUE(tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(proposers), options_).ok());
    auto trials = *run.history();
    EXPECT_TRUE(
        PatternLibrary::update(library_, inherited_->outcomes(), patterns_of(trials, mep_.mep, inherited_->context))
            .ok());
    return trials;
  }

  std::filesystem::path library_ = folder_.path() / "patterns.json";
  std::shared_ptr<InheritedPatterns> inherited_;
  int runs_ = 0;
};

TEST_F(PatternSearchTest, ASecondApplicationFindsTheWinnerInFewerCandidates) {
  search("first", kFirst, false);
  ASSERT_THAT(PatternLibrary::read(library_)->patterns(), Not(IsEmpty()));
  const FirstClose without = first_close(search("second", kSecond, false));
  std::filesystem::remove(library_);
  search("first", kFirst, false);
  const FirstClose with = first_close(search("second", kSecond, true));
  EXPECT_GE(with.best, without.best);
  EXPECT_EQ(with.evaluations, 1u) << "the pattern is the first candidate";
  EXPECT_GT(without.evaluations, with.evaluations);
  ASSERT_THAT(inherited_->tried, SizeIs(1));
  EXPECT_TRUE(inherited_->tried[0].held && inherited_->tried[0].whole);
  EXPECT_EQ(inherited_->tried[0].pattern.context.kernel, "first");
  EXPECT_EQ(PatternLibrary::read(library_)->patterns()[0].held, 2);
}

TEST_F(PatternSearchTest, ALibraryThatMisleadsCostsAFewCandidates) {
  search("first", kFirst, false);
  auto here = [](const Candidate& candidate) {
    return fake_ok(candidate.source.find("#pragma unroll 8") != std::string::npos   ? 0.5
                   : candidate.source.find("#pragma unroll 2") != std::string::npos ? 1.6
                                                                                    : 1.0);
  };
  const FirstClose without = first_close(search("second", kSecond, false, here));
  const FirstClose with = first_close(search("second", kSecond, true, here));
  EXPECT_LE(with.evaluations, without.evaluations + most_patterns(60));
  EXPECT_FALSE(inherited_->tried.at(0).held);
}

TEST_F(PatternSearchTest, NothingIsTriedOfAChainNoneOfWhoseRewritesApplies) {
  search("first", kFirst, false);
  const std::string no_loop = "__global__ void other(float* x, int n) {\n  x[threadIdx.x] = n;\n}\n";
  search("other", no_loop, true);
  ASSERT_THAT(inherited_->offers, Not(IsEmpty()));
  EXPECT_THAT(inherited_->tried, IsEmpty());
}

}  // namespace
}  // namespace kernelift::tuner
