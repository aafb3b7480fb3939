// Tests of what models cost a search that answer nonsense or nothing: they are asked less and less, and nobody waits
// for them. useless_model_bench measures it.
#include "tuner/source/tests/llm_fixture.h"
#include "tuner/space/parameter_proposer.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {
namespace {

using testing::Contains;
using testing::HasSubstr;

class UselessModelTest : public LlmTest {
 protected:
  /// Another candidate of the search is judged.
  void judge_another() {
    Candidate other = history_.baseline()->candidate;
    other.source += "// " + std::to_string(history_.size()) + "\n", other.tier = "source", other.proposer = "rules/x";
    history_.add({static_cast<int64_t>(history_.size()) + 1, other, fake_ok(1), {}, {1}, 0});
  }
  /// Lets the proposer do what it can without a new verdict.
  std::vector<Proposal> settle(LlmProposer& proposer) {
    std::vector<Proposal> all;
    for (int quiet = 0; quiet < (proposer.waiting() ? 100 : 4); ++quiet) {
      for (auto& one : proposer.propose(history_, 1)) all.push_back(std::move(one)), quiet = 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(proposer.waiting() ? 10 : 1));
    }
    return all;
  }
};

TEST_F(UselessModelTest, IsAskedLessAndLess) {
  ModelServer server({{200, "The weather is nice.", {}, 0, 0}});
  auto model = proposer(server);
  std::vector<size_t> asked_at;  // Trials that the run had at each request.
  for (int trial = 0; trial < 160; ++trial) {
    settle(*model);
    while (asked_at.size() < server.requests.size()) asked_at.push_back(history_.size());
    judge_another();
  }
  ASSERT_GE(asked_at.size(), 6u);
  EXPECT_LE(asked_at.size(), 8u);
  EXPECT_EQ(asked_at[2], 1u) << "an idea and its repairs";
  for (size_t i = 5; i < asked_at.size(); ++i)
    EXPECT_GE(asked_at[i] - asked_at[i - 1], 2 * (asked_at[i - 1] - asked_at[i - 2]) - 2) << "pause " << i;
}

TEST_F(UselessModelTest, IsAskedAgainWhereNothingElseIsLeftToTry) {
  ModelServer server({{200, "The weather is nice.", {}, 0, 0}});
  auto model = proposer(server);
  settle(*model);
  const size_t before = server.requests.size();
  settle(*model);
  EXPECT_EQ(server.requests.size(), before) << "it rests";
  model->when_idle();
  settle(*model);
  EXPECT_GT(server.requests.size(), before);
}

TEST_F(UselessModelTest, RegainsTrustByARightCandidate) {
  const std::string nonsense = "The weather is nice.";
  ModelServer server({{200, nonsense}, {200, nonsense}, {200, nonsense}, {200, kGoodEdit}, {200, nonsense}});
  auto model = proposer(server);
  settle(*model);
  EXPECT_EQ(server.requests.size(), 3u);
  for (int trial = 0; trial < 8; ++trial) judge_another();
  auto proposals = settle(*model);
  ASSERT_EQ(proposals.size(), 1u);
  judge(*model, proposals, fake_ok(1.2));
  settle(*model);
  EXPECT_GE(server.requests.size(), 6u) << "the next idea, and its repairs, come at once";
}

TEST_F(UselessModelTest, HasItsFirstCandidatesJudgedOneAfterTheOther) {
  std::vector<Scripted> script;
  for (int value = 2; value < 9; ++value)
    script.push_back({200, "IDEA: it\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U " + std::to_string(value) +
                               "\n>>>>>>> REPLACE\n"});
  ModelServer server(script);
  auto model = proposer(server);
  auto proposals = settle(*model);
  EXPECT_EQ(proposals.size(), 1u) << "whatever it does to the judge, it does once";
  judge(*model, proposals, fake_failure(Outcome::TimedOut));
  EXPECT_TRUE(settle(*model).empty()) << "and then it rests";
}

TEST_F(UselessModelTest, LetsTheSearchGoOnWhileItIsSilent) {
  ModelServer server({{200, "half of it", {}, 0, 0, true}});
  RunMeta meta;
  meta.mep_hash = *hash_mep(mep_.folder.path(), mep_.mep);
  auto run = *Run::create(folder_.path() / "k-1.klrun", meta);
  std::vector<std::unique_ptr<Proposer>> proposers;
  call_seconds_ = 600;
  proposers.push_back(proposer(server));
  proposers.push_back(std::make_unique<ParameterProposer>(mep_.mep, "random", 1));
  FakeEvaluator evaluator([](const Candidate&) { return fake_ok(1); });
  TuneOptions tuning;
  tuning.evaluations = 10;
  auto report = tune(mep_.mep, mep_.folder.path(), evaluator, run, std::move(proposers), tuning);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->tried, 10u);
  EXPECT_GE(server.requests.size(), 1u);
  EXPECT_THAT(report->notes, Contains(HasSubstr("the last answer had not come yet")));
}

TEST_F(UselessModelTest, SendsMoreThanAnybodyWritesAndIsRefusedUnread) {
  std::string definitions, blocks;
  for (int i = 0; i < 500; ++i) {
    definitions += "#define A" + std::to_string(i) + " 1\n";
    blocks += "<<<<<<< SEARCH\n#define B 64\n=======\n#define B 64\n>>>>>>> REPLACE\n";
  }
  auto edit = [](const std::string& to) {
    return "<<<<<<< SEARCH\n#define U 1\n=======\n#define U 1\n" + to + "\n>>>>>>> REPLACE\n";
  };
  ModelServer server({{200, edit(std::string(200'000, '\n'))},
                      {200, edit(definitions)},
                      {200, edit("// " + std::string(5000, 'x'))},
                      {200, blocks}});
  auto model = proposer(server);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(next(*model).empty());
  for (auto* what : {"far too long", "defines more than 64", "a line of more than 2000", "has 500 edits"})
    EXPECT_THAT(notes_, Contains(HasSubstr(what)));
}

}  // namespace
}  // namespace kernelift::tuner
