// Tests of how the model proposer spends its calls (repairs, repetitions, limits) and of answers in unusual forms, with
// an HTTP server on loopback.
#include "core/tests/expression_literal.h"
#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string edit_to(int value) {
  return "IDEA: try " + std::to_string(value) + "\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U " +
         std::to_string(value) + "\n>>>>>>> REPLACE\n";
}

TEST_F(LlmTest, SendsAWrongAnswerBackOnce) {
  ModelServer server({{200, edit_to(2), {}, 0, 0}, {200, edit_to(3), {}, 0, 0}});
  options_.most_calls = 3;
  auto model = proposer(server);
  Verdict wrong = fake_failure(Outcome::Wrong, "9 elements differ");
  wrong.buffer = "data", wrong.index = 5, wrong.expected = "1", wrong.got = "2";
  judge(*model, next(*model), wrong);
  auto repaired = next(*model);
  ASSERT_EQ(repaired.size(), 1u);
  EXPECT_THAT(last_prompt(server, 1), AllOf(HasSubstr("data[5]: expected 1, got 2"), HasSubstr("2 times")));
  judge(*model, repaired, wrong);
  EXPECT_FALSE(model->waiting()) << "a second wrong result is not sent back";
}

TEST_F(LlmTest, SaysNothingOfValuesOnALaunchThatIsHeldOut) {
  ModelServer server({{200, edit_to(2), {}, 0, 0}, {200, edit_to(3), {}, 0, 0}});
  options_.most_calls = 3;
  auto model = proposer(server);
  Verdict wrong = fake_failure(Outcome::Wrong, "9000 of 16384 elements differ");
  wrong.buffer = "data", wrong.index = 5, wrong.expected = "15", wrong.got = "7", wrong.held_out = true;
  judge(*model, next(*model), wrong);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_THAT(last_prompt(server, 1), AllOf(HasSubstr("held"), Not(HasSubstr("data[5]")), Not(HasSubstr("16384"))));
}

TEST_F(LlmTest, CountsRepairsAndRepetitionsAgainstItsCalls) {
  ModelServer server({{500, "", "{}", 0, 0}, {200, "no edit", {}, 0, 0}});
  options_.most_calls = 5;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 5u);
  EXPECT_THAT(model->closing_note(), HasSubstr("5 of 5 requests"));
  EXPECT_THAT(notes_, Contains(HasSubstr("budget of calls is spent (--llm-calls)")));
}

TEST_F(LlmTest, TellsTheModelThatItRepeatsItself) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server);
  judge(*model, next(*model), fake_failure(Outcome::CompileFailed, "bad line"));
  EXPECT_TRUE(next(*model).empty());
  EXPECT_FALSE(model->waiting());
  EXPECT_EQ(server.requests.size(), 7u) << "one new answer, and six that repeat it";
  EXPECT_THAT(last_prompt(server, 2),
              AllOf(HasSubstr("exactly the same text and launch as an earlier one:\n```\ncandidate #2 (faster)"),
                    HasSubstr("bad line")));
  EXPECT_THAT(model->closing_note(), HasSubstr("1 new candidate, of which 0 were right"));
  EXPECT_THAT(model->closing_note(), HasSubstr("6 answers repeated earlier candidates"));
}

TEST_F(LlmTest, StopsWhenItsWaitingTimeIsSpent) {
  ModelServer server({{200, kGoodEdit, {}, 0, 20000}});
  options_.most_seconds = 0.2;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("budget of waiting time is spent (--llm-seconds)")));
}

TEST_F(LlmTest, KeepsAnAnswerThatComesWhenTheRunIsOver) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  std::string saved;
  keep_spent_in(saved);
  const auto transcript = folder_.path() / "transcripts" / "0001-hypotheses.json";
  auto model = proposer(server);
  EXPECT_TRUE(model->propose(history_, 1).empty());
  while (server.requests.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(Json::parse(saved)["tokens"], 0) << "nobody took it";
  model.reset();
  EXPECT_EQ(Json::parse(saved)["tokens"], 120);
  EXPECT_TRUE(std::filesystem::exists(transcript));
  EXPECT_EQ(Json::parse(saved)["calls"], 1);
}

TEST_F(LlmTest, DoesNotCallAgainAfterARefusedKey) {
  ModelServer server({{401, "", R"({"error": {"message": "bad key"}})", 0, 0}});
  auto model = proposer(server);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("cannot be called any more")));
}

TEST_F(LlmTest, IsNotCalledAgainIfTheServerWantsALongerRest) {
  ModelServer server({{429, "", "{}", 3600, 0}});
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("asks to be left alone for 3600 s")));
}

TEST_F(LlmTest, SaysWhatAReplyWithoutAnAnswerLacks) {
  const std::pair<const char*, const char*> kReplies[] = {
      {R"({"choices":[],"usage":{"prompt_tokens":1}})", "had no choices"},
      {R"({"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"run_code"}}]},"finish_reason":"tool_calls"}]})",
       "You called the tool 'run_code'"}};
  for (auto& [reply, what] : kReplies) {
    ModelServer server({{200, "", reply, 0, 0}, {200, kGoodEdit, {}, 0, 0}});
    auto model = proposer(server);
    EXPECT_EQ(next(*model).size(), 1u) << "the repair of it";
    EXPECT_THAT(notes_, Contains(HasSubstr(what)));
    notes_.clear();
  }
}

TEST_F(LlmTest, UsesAnAnswerWithAnUnknownFinishReason) {
  const std::string reply =
      R"({"choices":[{"message":{"content":)" + json_text(kGoodEdit) + R"(},"finish_reason":"because"}]})";
  ModelServer server({{200, "", reply, 0, 0}});
  EXPECT_EQ(next(*proposer(server)).size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("ended by 'because'")));
}

TEST_F(LlmTest, SurvivesAnAnswerOfTenMegabytes) {
  const std::string large(10 << 20, 'x');
  ModelServer server({{200, "<<<<<<< SEARCH\n" + large + "\n=======\nshort\n>>>>>>> REPLACE\n", {}, 0, 0},
                      {200, "```\n__global__ void k() {}\n" + large + "\n```\n", {}, 0, 0},
                      {200, kGoodEdit, {}, 0, 0}});
  call_seconds_ = 60;
  auto model = proposer(server);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("the reply is larger than 2 MiB")));
  EXPECT_LT(server.requests.at(2).body.size(), 1u << 20) << "it is not sent back as a whole";
}

TEST_F(LlmTest, AsksForIdeasAboutTheTextsOwnLaunch) {
  Candidate jammed;
  jammed.source = "#define U 1\n__global__ void k(float* data, int n) { /* jammed */ }\n", jammed.tier = "baseline";
  CandidateLaunch launch = CandidateLaunch::as_recorded("k");
  launch.grid[0] = "ceil_div(gx, 4)"_e;
  jammed.launches = {launch};
  history_ = {};
  history_.add({1, jammed, fake_ok(1), {}, {}, 0});
  const std::string whole = "IDEA: x\n```cuda\n__global__ void k(float* data, int n) { /* whole */ }\n```\n";
  ModelServer server({{200, whole, {}, 0, 0}, {200, "LAUNCH recorded\n" + whole, {}, 0, 0}});
  auto model = proposer(server);
  auto proposals = next(*model);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_THAT(last_prompt(server, 0), HasSubstr("grid (ceil_div(gx, 4), gy, gz)"));
  EXPECT_THAT(last_prompt(server, 1), HasSubstr("does not say how it is launched"));
  EXPECT_TRUE(proposals[0].candidate.launches.empty()) << "it is launched as recorded";
}

}  // namespace
}  // namespace kernelift::tuner
