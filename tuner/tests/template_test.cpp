// Templates written by hand in the tuning loop: the parameter tier searches them, slow first settings or not, and one
// that is never right is given up and named.
#include "tuner/source/template_proposer.h"

#include <gmock/gmock.h>

#include "tuner/space/kernel_template.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TemplateTest : public TunerTest {
 protected:
  Candidate written(const std::string& name, const std::string& set = "1..16") {
    auto original = original_candidate(mep_.mep, mep_.folder.path());
    auto made = candidate_of_template(mep_.mep, original->source,
                                      "#define T 4  // kernelift: tune T in " + set +
                                          "\n__global__ void k(float* data, int n) { f(T); }  // " + name + "\n",
                                      name);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    return *made;
  }

  TuneReport search(std::vector<Candidate> templates, FakeEvaluator& evaluator, bool params = true) {
    auto run = RunStore::create(file_, meta());
    std::vector<std::unique_ptr<Proposer>> all;
    all.push_back(std::make_unique<TemplateProposer>(mep_.mep, std::move(templates), params, 1));
    if (params) all.push_back(std::make_unique<ParameterProposer>(mep_.mep, "portfolio", 1));
    auto report = tune(mep_.mep, mep_.folder.path(), evaluator, *run, std::move(all), options_);
    EXPECT_TRUE(report.ok());
    return *report;
  }

  static bool is_of(const Candidate& candidate, const std::string& name) {
    return candidate.source.ends_with("// " + name + "\n");
  }
};

TEST_F(TemplateTest, IsSearchedThoughItsFirstSettingIsSlow) {
  FakeEvaluator evaluator([](const Candidate& candidate) {
    if (!is_of(candidate, "mine.cu")) return fake_ok(1);
    return fake_ok(candidate.values.at("T") == 13 ? 3 : 0.5);
  });
  options_.evaluations = 120;
  auto report = search({written("mine.cu")}, evaluator);
  ASSERT_TRUE(report.best);
  EXPECT_EQ(report.best->candidate.note(), "template mine.cu: T=13");
  EXPECT_EQ(report.best->candidate.tier, "params");
  EXPECT_EQ(report.best->parents.size(), 1u);
  EXPECT_THAT(report.notes, IsEmpty());
}

TEST_F(TemplateTest, IsGivenUpWhenNoneOfItsFirstSettingsIsRight) {
  FakeEvaluator evaluator([](const Candidate& candidate) -> Verdict {
    if (is_of(candidate, "wrong.cu")) return fake_failure(Outcome::Wrong, "data[0] is 1");
    return fake_ok(1);
  });
  options_.evaluations = 60;
  auto report = search({written("wrong.cu")}, evaluator);
  EXPECT_EQ(std::ranges::count_if(evaluator.submitted, [](auto& one) { return is_of(one, "wrong.cu"); }), 6);
  EXPECT_THAT(report.notes, ElementsAre(AllOf(HasSubstr("template wrong.cu: none of its first 6 settings is right"),
                                              HasSubstr("data[0] is 1"))));
}

TEST_F(TemplateTest, IsSearchedIfAnotherThanItsFirstSettingIsRight) {
  FakeEvaluator evaluator([](const Candidate& candidate) -> Verdict {
    if (!is_of(candidate, "mine.cu")) return fake_ok(1);
    if (candidate.values.at("T") == 4) return fake_failure(Outcome::OverResources);
    return fake_ok(candidate.values.at("T") == 13 ? 3 : 0.5);
  });
  options_.evaluations = 120;
  auto report = search({written("mine.cu")}, evaluator);
  ASSERT_TRUE(report.best);
  EXPECT_EQ(report.best->candidate.note(), "template mine.cu: T=13");
}

TEST_F(TemplateTest, SaysThatItsParametersAreNotSearched) {
  FakeEvaluator evaluator([](const Candidate&) { return fake_ok(1); });
  options_.evaluations = 10;
  auto report = search({written("mine.cu")}, evaluator, false);
  EXPECT_EQ(report.tried, 1u);
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("only its first setting was tried")));
}

TEST_F(TemplateTest, ContinuesInAResumedRunWithoutItsFile) {
  FakeEvaluator evaluator([](const Candidate& candidate) {
    return fake_ok(is_of(candidate, "mine.cu") && candidate.values.at("T") == 13 ? 3 : 0.5);
  });
  options_.evaluations = 2;
  search({written("mine.cu")}, evaluator);
  auto run = RunStore::resume(file_);
  ASSERT_TRUE(run.ok());
  options_.evaluations = 120;
  std::vector<std::unique_ptr<Proposer>> all;
  all.push_back(std::make_unique<ParameterProposer>(mep_.mep, "portfolio", 2));
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, *run, std::move(all), options_);
  ASSERT_TRUE(report.ok() && report->best);
  EXPECT_EQ(report->best->candidate.note(), "template mine.cu: T=13");
}

}  // namespace
}  // namespace kernelift::tuner
