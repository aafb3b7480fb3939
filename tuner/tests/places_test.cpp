// Tests of how many candidates are in flight at a time, and of which comes first where these are few.
#include "tuner/places.h"

#include <gtest/gtest.h>

#include "tuner/tests/fakes/tuner_fixture.h"

namespace kernelift::tuner {
namespace {

TEST(PlacesFor, AreFewWhereLaunchesTakeSoLongThatFewCandidatesCanBeTried) {
  Verdict original = fake_ok(1);
  original.timings = {{.instance = "a", .baseline_seconds = 0.9}, {.instance = "b", .baseline_seconds = 0.2}};
  EXPECT_EQ(places_for(original, 45, 16), 2u) << "some twenty candidates";
  EXPECT_EQ(places_for(original, 3600, 16), 16u);
  EXPECT_EQ(places_for(original, 90, 16), 5u);
  EXPECT_EQ(places_for(original, 45, 1), 1u);
  EXPECT_EQ(places_for(fake_ok(1), 1, 16), 16u) << "launches of a millisecond";
  EXPECT_EQ(places_for(Verdict(), 1, 16), 16u) << "nothing is known of launches";
}

/// Proposes one candidate, and says what it expects of it.
class Expecting : public Proposer {
 public:
  Expecting(std::string text, double gain) : text_(std::move(text)), gain_(gain) {}
  std::string name() const override { return text_; }
  std::string tier() const override { return "source"; }
  std::optional<double> expected_gain(const History&) override { return gain_; }
  std::vector<Proposal> propose(const History& history, size_t) override {
    if (std::exchange(asked_, true)) return {};
    Proposal proposal{history.baseline()->candidate, {history.baseline()->id}};
    proposal.candidate.source = text_, proposal.candidate.tier = "source";
    return {proposal};
  }

 private:
  std::string text_;
  double gain_;
  bool asked_ = false;
};

class ExpectingTest : public TunerTest {
 protected:
  std::vector<std::string> submitted(double launch_seconds) {
    FakeEvaluator evaluator(
        [&](const Candidate&) {
          Verdict verdict = fake_ok(1);
          verdict.timings[0].baseline_seconds = launch_seconds;
          return verdict;
        },
        8);
    options_.seconds = 2;
    auto run = *RunStore::create(folder_.path() / ("k-" + std::to_string(++runs_) + ".klrun"), meta());
    std::vector<std::unique_ptr<Proposer>> proposers;
    for (auto& [text, gain] : {std::pair("little", 0.1), std::pair("much", 2.0), std::pair("some", 1.0)})
      proposers.push_back(std::make_unique<Expecting>(text, gain));
    EXPECT_TRUE(tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(proposers), options_).ok());
    std::vector<std::string> texts;
    for (size_t i = 1; i < evaluator.submitted.size(); ++i) texts.push_back(evaluator.submitted[i].source);
    return texts;
  }
  int runs_ = 0;
};

TEST_F(ExpectingTest, TheMostPromisingComesFirstWhereFewCanBeTried) {
  EXPECT_EQ(submitted(0.5), (std::vector<std::string>{"much", "some", "little"}));
  EXPECT_EQ(submitted(1e-6), (std::vector<std::string>{"little", "much", "some"})) << "all will be tried";
}

}  // namespace
}  // namespace kernelift::tuner
