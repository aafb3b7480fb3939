// Tests of starting configurations that a model proposes, with every kind of model: what is asked and sent, what is
// taken of the answer, and that a search neither waits for it nor depends on it.
#include "tuner/source/llm/start/start_proposer.h"

#include "tuner/source/tests/llm_fixture.h"
#include "tuner/space/parameter_proposer.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kAnswer =
    "I would begin so:\n{\"configurations\": [{\"B\": 256, \"U\": 4}, {\"B\": 100}, {\"V\": 1}, {\"U\": 2}]}\n";

class StartProposerTest : public LlmTest {
 protected:
  void SetUp() override {
    LlmTest::SetUp();
    options_.prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
    options_.transcripts = folder_.path() / "transcripts";
    options_.limits.first_pause = 0.02;
    options_.state.keep = [this](const std::string& key, const std::string& value) { kept_[key] = value; };
  }
  std::unique_ptr<StartProposer> start(const std::string& model) {
    options_.specs = {*ModelSpec::parse(model)};
    auto calls = ModelCalls::open(options_);
    EXPECT_TRUE(calls.ok()) << calls.error().message;
    return std::make_unique<StartProposer>(mep_.mep, options_, *calls,
                                           [this](const ProposedStart& start) { taken_.push_back(start); });
  }
  void until_answered(StartProposer& proposer) {
    for (int polls = 0; polls < 2000 && taken_.empty(); ++polls) {
      EXPECT_TRUE(proposer.propose(history_, 1).empty());
      for (auto& note : proposer.take_notes()) notes_.push_back(note);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  Json state() const { return Json::parse(kept_.at(kStartState)); }

  std::vector<ProposedStart> taken_;
  std::map<std::string, std::string> kept_;
};

TEST_F(StartProposerTest, ServersAreAskedOnceWithTheSpaceAndWhatFitsItIsTaken) {
  for (auto* vendor : {"openai", "anthropic"}) {
    taken_.clear(), notes_.clear();
    ModelServer server({{200, kAnswer}});
    auto proposer = start(std::string(vendor) + ":" + server.url() + ",test-model");
    until_answered(*proposer);
    ASSERT_EQ(taken_.size(), 1u) << vendor;
    EXPECT_EQ(taken_[0].model, "test-model");
    ASSERT_EQ(taken_[0].configurations.size(), 2u);
    EXPECT_EQ(taken_[0].configurations[0].at("B"), 256);
    EXPECT_EQ(taken_[0].configurations[0].at("U"), 4);
    EXPECT_EQ(taken_[0].configurations[1].at("U"), 2);
    EXPECT_EQ(taken_[0].configurations[1].at("B"), 64) << "what it leaves out stays as it is";
    EXPECT_THAT(last_prompt(server, 0), AllOf(HasSubstr("- U in {"), HasSubstr("now 64"), HasSubstr("#define U 1")));
    EXPECT_THAT(notes_, Contains(HasSubstr("B has no value 100")));
    EXPECT_THAT(notes_, Contains(HasSubstr("there is no parameter V")));
    for (int poll = 0; poll < 5; ++poll) proposer->propose(history_, 1);
    EXPECT_EQ(server.requests.size(), 1u);
    EXPECT_EQ(state()["model"], "test-model");
    EXPECT_EQ(state()["configurations"][0]["B"], 256);
  }
}

TEST_F(StartProposerTest, ProgramsFoldersAndTranscriptsAnswerToo) {
  const auto answer = folder_.path() / "answer";
  ASSERT_TRUE(write_atomically(answer, std::string_view(kAnswer)).ok());
  until_answered(*start("command:cat " + answer.string()));
  ASSERT_EQ(taken_.size(), 1u);
  // The transcript of that is replayed.
  taken_.clear();
  const auto recorded = options_.transcripts;
  options_.transcripts = folder_.path() / "again";
  until_answered(*start("transcript:" + recorded.string()));
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0].configurations.size(), 2u);
  taken_.clear();
  const auto exchange = folder_.path() / "exchange";
  auto proposer = start("exchange:" + exchange.string());
  proposer->propose(history_, 1);
  while (!std::filesystem::exists(exchange / "0001.prompt.md"))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ASSERT_TRUE(write_atomically(exchange / "0001.answer.md", std::string_view(kAnswer)).ok());
  until_answered(*proposer);
  EXPECT_EQ(taken_.size(), 1u);
}

TEST_F(StartProposerTest, AnswersToIdeasAreNotUsedUpForIt) {
  const auto answer = folder_.path() / "1.answer.md";
  ASSERT_TRUE(write_atomically(answer, std::string_view(kGoodEdit)).ok());
  auto proposer = start("transcript:" + answer.string());
  EXPECT_TRUE(proposer->propose(history_, 1).empty());
  EXPECT_TRUE(proposer->closing_note().empty());
  EXPECT_FALSE(kept_.contains(kStartState));
}

TEST_F(StartProposerTest, NonsenseIsANoteAndNothingIsTaken) {
  ModelServer server({{200, "[[[{\"configurations\": 7"}});
  auto proposer = start("openai:" + server.url() + ",m");
  for (int polls = 0; polls < 400 && notes_.empty(); ++polls) {
    proposer->propose(history_, 1);
    notes_ = proposer->take_notes();
    EXPECT_FALSE(proposer->waiting()) << "a search that is over does not wait for it";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("no JSON object with a list 'configurations'")));
  EXPECT_TRUE(taken_.empty());
}

TEST_F(StartProposerTest, ARunThatGoesOnTakesWhatItWasAnsweredAndDoesNotAskAgain) {
  ModelServer server({{200, kAnswer}});
  until_answered(*start("openai:" + server.url() + ",m"));
  taken_.clear();
  options_.state.known = kept_;
  auto proposer = start("openai:" + server.url() + ",m");
  proposer->propose(history_, 1);
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0].configurations[0].at("B"), 256);
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST_F(StartProposerTest, ProposedConfigurationsAreTriedNextAndNameTheModel) {
  ParameterProposer parameters(mep_.mep, "portfolio", 1);
  auto judge_all = [&](const std::vector<Proposal>& proposals) {
    for (auto& one : proposals)
      parameters.learn(
          history_.add({static_cast<int64_t>(history_.size()) + 1, one.candidate, fake_ok(1), {}, one.parents, 0}));
  };
  while (true) {  // Until every parameter was probed.
    auto probes = parameters.propose(history_, 1);
    if (probes.empty()) break;
    judge_all(probes);
    if (history_.size() > 6) break;
  }
  ModelServer server({{200, R"({"configurations": [{"B": 256, "U": 4}]})"}});
  auto proposer = start("openai:" + server.url() + ",m");
  until_answered(*proposer);
  ASSERT_EQ(taken_.size(), 1u);
  parameters.begin_with(taken_[0].run, taken_[0].configurations, "llm/m");
  std::optional<Candidate> found;
  for (int asked = 0; asked < 8 && !found; ++asked) {
    auto next = parameters.propose(history_, 1);
    for (auto& one : next)
      if (one.candidate.values["B"] == 256 && one.candidate.values["U"] == 4) found = one.candidate;
    judge_all(next);
  }
  ASSERT_TRUE(found);
  EXPECT_EQ(found->proposer, "llm/m");
  proposer->learn({99, *found, fake_ok(1.5), {}, {1}, 0});
  EXPECT_EQ(state()["faster"], 1);
  EXPECT_THAT(proposer->closing_note(), HasSubstr("1 was tried, 1 right and 1 faster"));
}

}  // namespace
}  // namespace kernelift::tuner
