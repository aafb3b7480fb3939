// Tests of the model proposer with an HTTP server on loopback that replies from a script: prose, wrong edits, half a
// reply, 429, 500, nothing, a hang. Each of them becomes a repair or a note, the run goes on, and the key is not
// written.
#include "tuner/source/llm/llm_proposer.h"

#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST_F(LlmTest, TurnsAGoodAnswerIntoACandidate) {
  for (auto* vendor : {"openai", "anthropic"}) {
    ModelServer server({{200, kGoodEdit, {}, 0, 0}});
    auto model = proposer(server, vendor);
    auto proposals = next(*model);
    ASSERT_EQ(proposals.size(), 1u) << vendor;
    EXPECT_THAT(proposals[0].candidate.source, HasSubstr("#define U 2"));
    EXPECT_EQ(proposals[0].candidate.note(), "faster");
    EXPECT_EQ(proposals[0].parents, std::vector<int64_t>{1});
  }
}

TEST_F(LlmTest, PromptsWithSourceGeometryAndHistory) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  Candidate tried;
  tried.source = "x", tried.tier = "source", tried.proposer = "llm/test-model",
  tried.steps = {Step::described("a bold attempt")};
  history_.add({2, tried, fake_failure(Outcome::Wrong), {}, {1}, 0});
  next(*proposer(server));
  EXPECT_THAT(server.requests.at(0).body, HasSubstr("#define B 64"));
  EXPECT_THAT(server.requests.at(0).body, HasSubstr("<<<(16,1,1), (64,1,1)>>>"));
  EXPECT_THAT(server.requests.at(0).body, HasSubstr("a bold attempt: wrong at verify"));
}

TEST_F(LlmTest, IncludesTheProfileInThePrompt) {
  options_.profile = "It is bound by DRAM, at 71 % of that roof.\nregisters 40";
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  next(*proposer(server));
  EXPECT_THAT(server.requests.at(0).body, HasSubstr("It is bound by DRAM, at 71 % of that roof.\\nregisters 40"));
}

TEST_F(LlmTest, SendsWrongEditsBackWithTheNearestLines) {
  ModelServer server({{200, "<<<<<<< SEARCH\n#define UU 1\n=======\n#define U 2\n>>>>>>> REPLACE\n", {}, 0, 0},
                      {200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server);
  ASSERT_EQ(next(*model).size(), 1u);
  EXPECT_THAT(server.requests.at(1).body, HasSubstr("does not occur in the source"));
  EXPECT_THAT(server.requests.at(1).body, HasSubstr("#define U 1"));
}

TEST_F(LlmTest, DropsAnIdeaAfterBoundedRepairs) {
  ModelServer server({{200, "Use shared memory.", {}, 0, 0}});
  options_.most_calls = 3;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 3u);
  EXPECT_THAT(notes_, Contains(HasSubstr("an idea was dropped after 2 repairs")));
}

TEST_F(LlmTest, RepairsWithCompilerDiagnostics) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0},
                      {200, "<<<<<<< SEARCH\n#define U 1\n=======\n#define U 4\n>>>>>>> REPLACE\n", {}, 0, 0}});
  auto model = proposer(server);
  auto proposals = next(*model);
  EXPECT_TRUE(next(*model).empty()) << "a new idea waits for the verdict";
  judge(*model, proposals, fake_failure(Outcome::CompileFailed, "line 3: use of undeclared identifier 'zz'"));
  ASSERT_EQ(next(*model).size(), 1u);
  EXPECT_EQ(server.requests.size(), 2u);
  EXPECT_THAT(server.requests.at(1).body, HasSubstr("undeclared identifier 'zz'"));
}

TEST_F(LlmTest, RetriesAfter429And500) {
  ModelServer server({{429, "", "{}", 1, 0}, {500, "", "oops", 0, 0}, {200, kGoodEdit, {}, 0, 0}});
  auto begin = std::chrono::steady_clock::now();
  auto model = proposer(server);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_EQ(server.requests.size(), 3u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(950));  // Retry-After was respected.
}

TEST_F(LlmTest, RetriesAfterHalfAReply) {
  ModelServer server({{200, "", R"({"choices":[{"message":{"cont)", 0, 0}, {200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server);
  EXPECT_EQ(next(*model).size(), 1u);
}

TEST_F(LlmTest, GivesUpOnAModelThatNeverAnswers) {
  ModelServer server({{503, "", "{\"error\": {\"message\": \"overloaded\"}}", 0, 0}});
  attempts_ = 2;
  auto model = proposer(server);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(next(*model).empty());
  EXPECT_FALSE(model->waiting());
  EXPECT_THAT(notes_, Contains(HasSubstr("HTTP 503 and said: overloaded")));
  EXPECT_THAT(notes_, Contains(HasSubstr("is not called again after 3 failed calls")));
}

TEST_F(LlmTest, DoesNotRepeatARefusedKey) {
  ModelServer server({{401, "", "{\"error\": {\"message\": \"bad key\"}}", 0, 0}});
  options_.most_calls = 1;
  auto model = proposer(server);
  next(*model);
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("check OPENAI_API_KEY")));
}

TEST_F(LlmTest, GivesUpOnAHangWithinItsDeadline) {
  ModelServer server({{200, kGoodEdit, {}, 0, 20000}});
  attempts_ = 1, call_seconds_ = 0.3;
  options_.most_calls = 1;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_THAT(notes_, Contains(HasSubstr("no complete reply within")));
}

TEST_F(LlmTest, ReportsTheResultAtTheEnd) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}, {200, "Use shared memory.", {}, 0, 0}});
  options_.most_calls = 3;
  auto model = proposer(server);
  EXPECT_THAT(model->closing_note(), HasSubstr("the model was not asked: there was no time for it"));
  judge(*model, next(*model), fake_ok(1.5));
  EXPECT_TRUE(next(*model).empty());
  EXPECT_THAT(model->closing_note(), HasSubstr("of which 1 were right and 1 faster"));
  EXPECT_THAT(model->closing_note(),
              HasSubstr("was asked for 2 ideas and 1 repair and answered 3 times: 1 new candidate"));
  EXPECT_THAT(model->closing_note(), HasSubstr("3 of 3 requests, 360 of 2000000 tokens"));
}

TEST_F(LlmTest, StopsAtOnceWhenTheRunEnds) {
  ModelServer server({{200, kGoodEdit, {}, 0, 20000}});
  auto model = proposer(server);
  EXPECT_TRUE(model->propose(history_, 1).empty());
  EXPECT_THAT(model->closing_note(), HasSubstr("asked for 1 idea and 0 repairs and answered 0 times"));
  EXPECT_THAT(model->closing_note(), HasSubstr("the last answer had not come yet"));
  while (server.requests.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto begin = std::chrono::steady_clock::now();
  model.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << "the server takes 20 s to answer";
}

TEST_F(LlmTest, DoesNotRetryAfterATimeout) {
  ModelServer server({{200, kGoodEdit, {}, 0, 20000}});
  call_seconds_ = 0.2;
  options_.most_calls = 1;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 1u) << "a second call would take as long";
}

TEST_F(LlmTest, DoesNotRetryIfTheQuotaIsSpent) {
  ModelServer server({{429, "", R"({"error": {"code": "insufficient_quota", "message": "check your plan"}})", 30, 0}});
  options_.most_calls = 1;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("check your plan")));
}

TEST_F(LlmTest, RequestsAShorterAnswerIfTheContextIsSmall) {
  // vLLM sends the error as the document itself.
  const char* const kTooLong =
      R"({"object": "error", "message": "This model's maximum context length is 8192 tokens. However, you requested 17000 tokens", "code": 400})";
  ModelServer server({{400, "", kTooLong, 0, 0}, {400, "", kTooLong, 0, 0}, {200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server);
  auto proposals = next(*model);
  EXPECT_EQ(proposals.size(), 1u);
  int64_t first = Json::parse(server.requests.at(0).body)["max_tokens"],
          last = Json::parse(server.requests.at(2).body)["max_tokens"];
  EXPECT_EQ(last * 4, first);
  judge(*model, proposals);
  next(*model);
  EXPECT_EQ(Json::parse(server.requests.at(3).body)["max_tokens"], last) << "later calls request the same";
}

TEST_F(LlmTest, ReportsThatThePromptIsTooLong) {
  ModelServer server(
      {{400, "", R"({"error": {"message": "input length and `max_tokens` exceed context limit"}})", 0, 0}});
  options_.most_calls = 1;
  auto model = proposer(server, "anthropic");
  EXPECT_TRUE(next(*model).empty());
  EXPECT_LE(server.requests.size(), 6u);
  EXPECT_THAT(notes_, Contains(HasSubstr("exceed context limit")));
}

TEST_F(LlmTest, UsesTheNewerNameOfTheLimitIfTheServerRequiresIt) {
  ModelServer server(
      {{400, "",
        R"({"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}})", 0, 0},
       {200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server);
  EXPECT_EQ(next(*model).size(), 1u);
  EXPECT_TRUE(Json::parse(server.requests.at(1).body).contains("max_completion_tokens"));
  EXPECT_FALSE(Json::parse(server.requests.at(1).body).contains("max_tokens"));
}

TEST_F(LlmTest, DoesNotRepairARefusal) {
  const std::pair<const char*, const char*> kRefusals[] = {
      {"openai", R"({"choices":[{"message":{"content":null,"refusal":"I will not"},"finish_reason":"stop"}]})"},
      {"anthropic", R"({"content":[{"type":"text","text":"I will not"}],"stop_reason":"refusal"})"}};
  for (auto& [vendor, reply] : kRefusals) {
    ModelServer server({{200, "", reply, 0, 0}});
    options_.most_calls = 1;
    auto model = proposer(server, vendor);
    EXPECT_TRUE(next(*model).empty());
    EXPECT_EQ(server.requests.size(), 1u) << vendor;
    EXPECT_THAT(notes_, Contains(HasSubstr("refused to answer: I will not")));
    notes_.clear();
  }
}

TEST_F(LlmTest, RepairsAnEmptyAnswerWithoutAnEmptyMessage) {
  const char* const kEmpty =
      R"({"content":[{"type":"thinking","thinking":"…"}],"stop_reason":"max_tokens","usage":{"input_tokens":1,"output_tokens":9}})";
  ModelServer server({{200, "", kEmpty, 0, 0}, {200, kGoodEdit, {}, 0, 0}});
  auto model = proposer(server, "anthropic");
  EXPECT_EQ(next(*model).size(), 1u);
  Json messages = Json::parse(server.requests.at(1).body)["messages"];
  for (auto& message : messages) EXPECT_NE(message["content"], "");
  EXPECT_THAT(messages.back()["content"].get<std::string>(), HasSubstr("cut off at the token limit"));
}

TEST_F(LlmTest, IgnoresTheReasoning) {
  const std::string draft = "<<<<<<< SEARCH\n#define U 1\n=======\n#define U 8\n>>>>>>> REPLACE\n";
  for (std::string opening : {"<think>\n", ""}) {
    ModelServer server({{200, opening + "First I try\n" + draft + "</think>\n\n" + kGoodEdit, {}, 0, 0}});
    auto model = proposer(server);
    auto proposals = next(*model);
    ASSERT_EQ(proposals.size(), 1u);
    EXPECT_THAT(proposals[0].candidate.source, HasSubstr("#define U 2"));
  }
}

TEST_F(LlmTest, ReadsTextInPartsAndCountsCachedTokens) {
  std::string edit = json_text(kGoodEdit);
  const std::pair<const char*, std::string> kReplies[] = {
      {"openai",
       R"({"choices":[{"message":{"content":[{"type":"text","text":)" + edit +
           R"(}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":300,"completion_tokens":12,"prompt_tokens_details":{"cached_tokens":250}}})"},
      {"anthropic",
       R"({"content":[{"type":"thinking","thinking":"…"},{"type":"text","text":)" + edit +
           R"(}],"stop_reason":"end_turn","usage":{"input_tokens":50,"cache_creation_input_tokens":null,"cache_read_input_tokens":250,"output_tokens":12}})"}};
  for (auto& [vendor, reply] : kReplies) {
    ModelServer server({{200, "", reply, 0, 0}});
    std::string saved;
    keep_spent_in(saved);
    auto model = proposer(server, vendor);
    EXPECT_EQ(next(*model).size(), 1u) << vendor;
    EXPECT_EQ(Json::parse(saved)["tokens"], 312) << vendor;
  }
}

TEST_F(LlmTest, CountsNoTokensThatNoCallCanHaveTaken) {
  for (const char* tokens : {"-5000", "9223372036854775807"}) {
    const std::string reply = R"({"choices":[{"message":{"content":)" + json_text(kGoodEdit) +
                              R"(},"finish_reason":"stop"}],"usage":{"prompt_tokens":)" + tokens +
                              R"(,"completion_tokens":)" + tokens + "}}";
    ModelServer server({{200, "", reply, 0, 0}});
    std::string saved;
    keep_spent_in(saved);
    auto model = proposer(server);
    EXPECT_EQ(next(*model).size(), 1u) << tokens;
    const int64_t counted = Json::parse(saved)["tokens"];
    EXPECT_GT(counted, 0) << tokens;
    EXPECT_LT(counted, 1'000'000) << tokens;
  }
}

TEST_F(LlmTest, ReadsNoReplyThatIsMadeToTakeForever) {
  std::string keys = "{", deep(1'000'000, '[');
  for (int i = 0; i < 200'000; ++i) keys += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":0";
  for (const std::string& reply : {keys + "}", deep + std::string(deep.size(), ']')}) {
    ModelServer server({{200, "", reply, 0, 0}});
    options_.most_calls = 1;
    auto model = proposer(server);
    EXPECT_TRUE(next(*model).empty());
    EXPECT_EQ(server.requests.size(), 1u);
  }
}

TEST_F(LlmTest, ReportsThatAWebPageIsNoModel) {
  ModelServer server({{200, "", "<!doctype html><html></html>", 0, 0}});
  options_.most_calls = 1;
  auto model = proposer(server);
  EXPECT_TRUE(next(*model).empty());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("check the URL")));
}

TEST_F(LlmTest, StartsCountingAtZeroIfItsStateIsDamaged) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  for (auto* damaged : {"{\"calls\": \"many\"}", "[1]", "{\"tokens\": null}", "{"}) {
    options_.state.known["llm"] = damaged;
    EXPECT_EQ(next(*proposer(server)).size(), 1u) << damaged;
  }
}

TEST_F(LlmTest, KeepsItsTokenBudgetAcrossSittings) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}});
  std::string saved;
  options_.most_tokens = 100;
  keep_spent_in(saved);
  auto first = proposer(server);
  EXPECT_EQ(next(*first).size(), 1u);
  EXPECT_TRUE(next(*first).empty());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_THAT(notes_, Contains(HasSubstr("budget of tokens is spent")));
  options_.state.known["llm"] = saved;
  auto second = proposer(server);
  EXPECT_TRUE(next(*second).empty());
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST_F(LlmTest, SendsTheKeyAndNeverWritesIt) {
  ModelServer server({{200, kGoodEdit, {}, 0, 0}, {400, "", "bad request", 0, 0}});
  auto model = proposer(server);
  judge(*model, next(*model)), next(*model);
  EXPECT_EQ(server.requests.at(0).get_header_value("Authorization"), std::string("Bearer ") + kKey);
  size_t transcripts = 0;
  for (auto& entry : std::filesystem::directory_iterator(folder_.path() / "transcripts")) {
    ++transcripts;
    EXPECT_THAT(*read_text(entry.path()), Not(HasSubstr(kKey)));
  }
  EXPECT_GE(transcripts, 2u);
  for (auto& note : notes_) EXPECT_THAT(note, Not(HasSubstr(kKey)));
}

/// A server that says what it was sent: every way in which one could, in errors, answers and edits.
TEST_F(LlmTest, KeepsNoSecretThatTheServerSaysBack) {
  const std::string key = "sk-canary-0a1b2c3d4e5f", password = "canary-of-the-url-77";
  ::setenv("OPENAI_API_KEY", (key + "\n").c_str(), 1);  // As read from a file.
  std::string escaped, edit = std::string("IDEA: use ") + key +
                              "\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U 2  // " + key + " " + password +
                              "\n>>>>>>> REPLACE\n";
  for (char c : key) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", c);
    escaped += code;
  }
  const std::string half = key.substr(0, 11), rest = key.substr(11), seventy = std::string(195, 'x');
  const std::vector<Scripted> script = {
      {401, "", R"({"error":{"message":"Incorrect API key provided: )" + key + R"("}})", 0, 0},
      {401, "", "Authorization: Bearer " + key + " of " + password, 0, 0},
      {403, "", R"({"error":{"message":")" + escaped + R"("}})", 0, 0},
      {403, "", R"({"error":"\u001b[2Jfor )" + half + "\\n" + rest + R"("})", 0, 0},
      {400, "", seventy + key, 0, 0},  // Cut off in its middle when it is quoted.
      {200, "", "<html>" + key, 0, 0},
      {200, key, {}, 0, 0},
      {200, "", R"({"error":{"message":")" + key + R"("}})", 0, 0},
      {200, "",
       R"({"choices":[{"message":{"content":null,"refusal":"not for )" + key + R"("},"finish_reason":"stop"}]})", 0, 0},
      {200, "",
       R"({"choices":[{"message":{"content":[{"type":"text","text":")" + half + R"("},{"type":"text","text":")" + rest +
           R"("}]},"finish_reason":"stop"}]})",
       0, 0},
      {200, edit, {}, 0, 0}};
  std::vector<std::string> seen;
  attempts_ = 1;
  for (auto& reply : script) {
    ModelServer server({reply});
    std::string url = server.url();
    url.insert(7, "joe:" + password + "@");
    LlmOptions options;
    options.specs = {*ModelSpec::parse("openai:" + url + "/v1?api-version=" + password + ",test-model")};
    options.prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
    options.transcripts = folder_.path() / ("transcripts-" + std::to_string(seen.size()));
    options.limits.attempts = 1, options.limits.call_seconds = 5, options.limits.first_pause = 0.02;
    options.most_calls = 2, options.profile = "measured with " + key;
    options.state.keep = [&](const std::string&, const std::string& value) { seen.push_back(value); };
    auto made = LlmProposer::create(mep_.mep, options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    for (int round = 0; round < 3; ++round)
      for (auto& proposal : next(**made)) {
        seen.push_back(to_json(proposal.candidate).dump());
        seen.push_back(proposal.candidate.note());
        seen.push_back(proposal.candidate.source);
      }
    seen.push_back((*made)->closing_note());
    ASSERT_FALSE(server.requests.empty());
    EXPECT_EQ(server.requests[0].get_header_value("Authorization"), "Bearer " + key) << "it is given to the server";
    for (auto& request : server.requests) seen.push_back(request.body);
    ASSERT_TRUE(std::filesystem::exists(options.transcripts)) << reply.raw;
    for (auto& entry : std::filesystem::directory_iterator(options.transcripts))
      seen.push_back(*read_text(entry.path()));
  }
  EXPECT_THAT(notes_, Contains(HasSubstr("Incorrect API key provided: [secret]; check OPENAI_API_KEY")));
  seen.insert(seen.end(), notes_.begin(), notes_.end());
  for (auto& text : seen)
    for (const std::string& piece : {key, key.substr(0, 14), key.substr(8), password, escaped, std::string("\x1b")})
      EXPECT_THAT(text, Not(HasSubstr(piece)));
}

TEST(ModelSpec, KeepsTheQueryBehindThePath) {
  EXPECT_EQ(ModelSpec::parse("openai:https://h/v1/?api-version=1,m")->url,
            "https://h/v1/chat/completions?api-version=1");
  EXPECT_EQ(ModelSpec::parse("openai:https://joe:pw@h/v1?key=2,m")->shown(), "https://h/v1/chat/completions");
}

TEST(ModelSpec, FillsInTheVendorsAddress) {
  EXPECT_EQ(ModelSpec::parse("openai:,gpt-x")->url, "https://api.openai.com/v1/chat/completions");
  EXPECT_EQ(ModelSpec::parse("anthropic:,claude-x")->url, "https://api.anthropic.com/v1/messages");
  EXPECT_EQ(ModelSpec::parse("openai:http://h:1/v1/,m")->url, "http://h:1/v1/chat/completions");
}

TEST(ModelSpec, ShowsItsSyntax) {
  for (auto* wrong : {"", "gpt", "openai", "openai:http://h", "openai:http://h,", "mistral:,m", "openai:ftp://h,m"}) {
    auto spec = ModelSpec::parse(wrong);
    ASSERT_FALSE(spec.ok()) << wrong;
    EXPECT_THAT(spec.error().message, HasSubstr("openai:URL,MODEL"));
    EXPECT_EQ(spec.error().exit, Exit::Usage);
  }
}

TEST(ModelSpec, NamesAMissingKey) {
  ::unsetenv("OPENAI_API_KEY");
  EXPECT_THAT(open_model(*ModelSpec::parse("openai:,m"), {}).error().message, HasSubstr("OPENAI_API_KEY is not set"));
  ::setenv("OPENAI_API_KEY", "\n", 1);
  EXPECT_THAT(open_model(*ModelSpec::parse("openai:,m"), {}).error().message, HasSubstr("OPENAI_API_KEY is not set"));
}

}  // namespace
}  // namespace kernelift::tuner
