// Tests of what a run inherits from earlier ones of its kernel.
#include <gmock/gmock.h>

#include <fstream>

#include "tuner/inherit/inherited_proposer.h"
#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class InheritTest : public TunerTest {
 protected:
  std::filesystem::path runs() { return folder_.path() / "runs"; }
  /// Tunes into `<folder>/runs/<name>` as a run of kernel "k".
  std::filesystem::path tuned(const std::string& name, std::vector<std::unique_ptr<Proposer>> by) {
    std::filesystem::create_directories(runs());
    RunMeta about = meta();
    about.kernel = "k", about.device = "cpu";
    auto run = *RunStore::create(runs() / name, about);
    FakeEvaluator evaluator(landscape);
    options_.evaluations = 60;
    auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(by), options_);
    EXPECT_TRUE(report.ok());
    notes_ = report.ok() ? report->notes : std::vector<std::string>();
    return runs() / name;
  }
  std::vector<std::unique_ptr<Proposer>> heirs(std::vector<EarlierSearch> earlier) {
    auto all = proposers();
    auto shared = std::make_shared<const std::vector<EarlierSearch>>(std::move(earlier));
    all.insert(all.begin(),
               std::make_unique<InheritedProposer>(mep_.mep, shared, std::vector<std::string>{"params", "compiler"}));
    return all;
  }
  std::vector<std::string> notes_;
};

TEST_F(InheritTest, ARunBeginsWithWhatWonBeforeAndSaysSo) {
  auto first = *read_earlier(tuned("k-1.klrun", proposers()), "k");
  auto second = *read_earlier(tuned("k-2.klrun", heirs({first})), "k");
  EXPECT_EQ(second.trials.at(1).candidate.proposer, "inherited");
  FirstClose before = first_close(first.trials), after = first_close(second.trials);
  EXPECT_LE(after.evaluations, 3u);
  EXPECT_GT(before.evaluations, after.evaluations);
  EXPECT_GE(after.best, before.best);
  ASSERT_THAT(notes_, SizeIs(1));
  EXPECT_THAT(notes_[0], HasSubstr("inherited from 1 earlier run"));
}

TEST_F(InheritTest, AfterAnEditKnobsAndRecipesAreStillInherited) {
  auto earlier = *read_earlier(tuned("k-1.klrun", proposers()), "k");
  for (auto& trial : earlier.trials) trial.candidate.source = "// before an edit\n" + trial.candidate.source;
  auto heir = *read_earlier(tuned("k-2.klrun", heirs({earlier})), "k");
  EXPECT_EQ(heir.trials.at(1).candidate.proposer, "inherited");
  for (auto& trial : heir.trials) EXPECT_EQ(trial.candidate.source.find("before an edit"), std::string::npos);
  EXPECT_LE(first_close(heir.trials).evaluations, first_close(earlier.trials).evaluations);
}

TEST_F(InheritTest, OnlyRunsOfTheSameKernelOnTheSameKindOfDeviceAreFound) {
  tuned("k-1.klrun", proposers());
  std::vector<std::string> notes;
  EXPECT_THAT(find_earlier(folder_.path(), "k", true, notes), SizeIs(1));
  EXPECT_THAT(find_earlier(folder_.path(), "k", false, notes), IsEmpty());
  EXPECT_THAT(find_earlier(folder_.path(), "other", true, notes), IsEmpty());
  EXPECT_THAT(notes, IsEmpty());
  std::ofstream(runs() / "k-2.klrun") << "damaged";
  EXPECT_THAT(find_earlier(folder_.path(), "k", true, notes), SizeIs(1));
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("k-2.klrun"));
  auto other = read_earlier(runs() / "k-1.klrun", "other");
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("is a run of 'k', not of 'other'"));
}

TEST_F(InheritTest, ParametersOfARunAreThoseWithValuesAndTheDefaultRecipe) {
  auto earlier = *read_earlier(tuned("k-1.klrun", proposers()), "k");
  EarlierRun run = earlier.parameters();
  EXPECT_GE(run.parameters.size(), 2u);
  ASSERT_FALSE(run.trials.empty());
  for (auto& trial : run.trials) EXPECT_EQ(trial.point.size(), run.parameters.size());
}

}  // namespace
}  // namespace kernelift::tuner
