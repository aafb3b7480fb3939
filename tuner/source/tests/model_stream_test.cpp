// Tests of answers that come as streams of events, in all three wire formats, from a server on loopback whose streams
// are broken, silent, endless or hostile.
#include <gmock/gmock.h>

#include "tuner/source/tests/llm_fixture.h"

namespace kernelift::tuner {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const char* const kFormats[] = {"openai", "anthropic", "responses"};
using Pieces = std::vector<std::string>;

std::string event(const Json& data) { return "data: " + data.dump() + "\n\n"; }
/// As vendors that repeat its type in a line of its own.
std::string typed_event(const Json& data) {
  return "event: " + data.at("type").get<std::string>() + "\ndata: " + data.dump() + "\n\n";
}

/// Of chat completions.
std::string piece(const Json& delta, const Json& finish_reason = nullptr) {
  Json choice{{"delta", delta}, {"finish_reason", finish_reason}};
  return event({{"choices", Json::array({choice})}, {"usage", nullptr}});
}
/// Of responses: one that has `delta`.
std::string delta_event(const char* type, const std::string& delta) {
  return typed_event({{"type", type}, {"delta", delta}});
}
/// Of messages: one that begins a block, or goes on with it.
std::string block_event(const char* type, const char* member, const Json& block) {
  return typed_event({{"type", type}, {member, block}});
}

/// The events of an answer, without those that end it.
Pieces events_of(const std::string& format, const Pieces& texts) {
  Pieces events;
  if (format == "anthropic") {
    Json usage{{"input_tokens", 60}, {"cache_read_input_tokens", 40}}, message{{"usage", usage}};
    events.push_back(typed_event({{"type", "message_start"}, {"message", message}}));
    events.push_back(
        block_event("content_block_delta", "delta", {{"type", "thinking_delta"}, {"thinking", "a thought"}}));
    events.push_back(block_event("content_block_start", "content_block", {{"type", "text"}, {"text", ""}}));
    for (auto& text : texts)
      events.push_back(block_event("content_block_delta", "delta", {{"type", "text_delta"}, {"text", text}}));
  } else if (format == "responses") {
    events.push_back(typed_event({{"type", "response.created"}, {"response", {{"error", nullptr}}}}));
    events.push_back(delta_event("response.reasoning_summary_text.delta", "a thought"));
    for (auto& text : texts) events.push_back(delta_event("response.output_text.delta", text));
  } else {
    events.push_back(piece({{"role", "assistant"}, {"content", ""}}));
    events.push_back(piece({{"reasoning_content", "a thought"}}));
    for (auto& text : texts) events.push_back(piece({{"content", text}}));
  }
  return events;
}

/// `how`: as the format spells that it ended; "": as it spells that all is well.
Pieces end_of(const std::string& format, const std::string& how = "") {
  const bool well = how.empty();
  if (format == "anthropic") {
    Json delta{{"stop_reason", well ? "end_turn" : how}}, usage{{"output_tokens", 20}};
    return {typed_event({{"type", "message_delta"}, {"delta", delta}, {"usage", usage}}),
            typed_event({{"type", "message_stop"}})};
  }
  if (format == "responses") {
    Json usage{{"input_tokens", 100}, {"output_tokens", 20}};
    Json response{{"status", well ? "completed" : "incomplete"}, {"output", Json::array()}, {"usage", usage}};
    if (!well) response["incomplete_details"] = {{"reason", how}};
    return {typed_event({{"type", well ? "response.completed" : "response.incomplete"}, {"response", response}})};
  }
  Json usage{{"prompt_tokens", 100}, {"completion_tokens", 20}};
  return {piece(Json::object(), well ? "stop" : how), event({{"choices", Json::array()}, {"usage", usage}}),
          "data: [DONE]\n\n"};
}

Pieces operator+(Pieces first, const Pieces& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Pieces stream_of(const std::string& format, const Pieces& texts) { return events_of(format, texts) + end_of(format); }

std::string together(const Pieces& pieces) {
  std::string all;
  for (auto& piece : pieces) all += piece;
  return all;
}

Pieces cut_into(const std::string& text, size_t bytes) {
  Pieces pieces;
  for (size_t at = 0; at < text.size(); at += bytes) pieces.push_back(text.substr(at, bytes));
  return pieces;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

class ModelStream : public LlmTest {
 protected:
  void SetUp() override {
    LlmTest::SetUp();
    limits_.first_pause = 0.01, limits_.attempts = 2, limits_.call_seconds = 30;
  }
  std::unique_ptr<LanguageModel> open(const ModelServer& server, const std::string& format = "openai") {
    return *open_model(*ModelSpec::parse(format + ":" + server.url() + ",m"), limits_);
  }
  ModelReply ask(LanguageModel& model) {
    return model.ask({"optimise", "system text", {{false, "user text"}, {true, "earlier"}, {false, "more"}}}, {9, 60},
                     stop_);
  }
  ModelReply ask(const ModelServer& server, const std::string& format = "openai") { return ask(*open(server, format)); }
  static Json sent(const ModelServer& server, size_t request) { return Json::parse(server.requests.at(request).body); }

  ChatLimits limits_;
  std::atomic<bool> stop_ = false;
};

TEST_F(ModelStream, IsAskedForAndPutTogether) {
  for (auto* format : kFormats) {
    ModelServer server({{.pieces = stream_of(format, {"One", " and ", "two\n"})}});
    auto reply = ask(server, format);
    ASSERT_TRUE(reply.answer.ok()) << format << reply.answer.error().message;
    EXPECT_EQ(reply.answer->text, "One and two\n") << format;
    EXPECT_EQ(reply.answer->input_tokens, 100) << format;
    EXPECT_EQ(reply.answer->output_tokens, 20) << format;
    EXPECT_FALSE(reply.answer->cut_off || reply.answer->refused) << format;
    EXPECT_EQ(reply.answer->remark, "") << format;
    EXPECT_EQ(sent(server, 0)["stream"], true) << format;
    EXPECT_EQ(sent(server, 0).contains("stream_options"), format == std::string("openai"));
  }
}

TEST_F(ModelStream, MayBeSplitAnywhereAndBrokenIntoLinesInEveryWay) {
  const std::string text = "é 🚀 ‹x›\nline";
  for (auto* format : kFormats) {
    const std::string plain = together(stream_of(format, {text, "", text}));
    const std::string ways[] = {plain,
                                replaced(plain, "\n", "\r\n"),
                                replaced(plain, "\n", "\r"),
                                "\xef\xbb\xbf" + plain,
                                ": keep-alive\n\n" + replaced(plain, "\n\n", "\n: keep-alive\nid: 7\nretry\n\n\n"),
                                replaced(plain, "data: {", "data:{\ndata:"),
                                replaced(replaced(plain, "data: {", "data:{\ndata: "), "\n", "\r\n")};
    for (auto& way : ways)
      for (size_t bytes : {size_t(1), size_t(7), way.size()}) {
        ModelServer server({{.pieces = cut_into(way, bytes)}});
        auto reply = ask(server, format);
        ASSERT_TRUE(reply.answer.ok()) << reply.answer.error().message << "\n" << way;
        EXPECT_EQ(reply.answer->text, text + text) << way;
        EXPECT_EQ(server.requests.size(), 1u) << way;
      }
  }
}

TEST_F(ModelStream, OfAServerThatIgnoresThatItIsAskedForIsReadAsOneReply) {
  for (auto* format : kFormats) {
    ModelServer server({{200, "in one piece"}});
    auto reply = ask(server, format);
    EXPECT_EQ(reply.answer->text, "in one piece") << format;
    EXPECT_EQ(reply.answer->input_tokens, 100) << format;
    EXPECT_EQ(reply.requests, 1) << format;
  }
}

TEST_F(ModelStream, WithAnotherContentTypeIsRead) {
  for (auto* type : {"application/json", "text/plain; charset=utf-8"}) {
    ModelServer server({{.pieces = stream_of("openai", {"text"}), .type = type}});
    EXPECT_EQ(ask(server).answer->text, "text") << type;
  }
}

TEST_F(ModelStream, ThatFallsSilentIsEndedAndAskedForAgain) {
  limits_.stall_seconds = 0.5;
  for (auto* format : kFormats) {
    ModelServer server({{.pieces = events_of(format, {"half"}), .then = Scripted::IsSilent},
                        {.pieces = stream_of(format, {"whole"})}});
    const auto begin = std::chrono::steady_clock::now();
    auto reply = ask(server, format);
    EXPECT_EQ(reply.answer->text, "whole") << format;
    EXPECT_EQ(reply.requests, 2) << format;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8)) << format;
  }
  ModelServer server({{.pieces = events_of("openai", {"half"}), .then = Scripted::IsSilent}});
  EXPECT_THAT(ask(server).answer.error().message,
              HasSubstr(": the server sent nothing for 0.5 s, after 4 bytes of the answer (asked 2 times)"));
}

TEST_F(ModelStream, MayBeSilentForLongerWhileTheModelThinks) {
  limits_.stall_seconds = 0.2;
  const Pieces late = stream_of("openai", {"text"});
  const Pieces thinking = {late[0], together(Pieces(late.begin() + 1, late.end()))};
  ModelServer slow({{.pieces = thinking, .pause_ms = 1600}});
  EXPECT_EQ(ask(slow).answer->text, "text");
  EXPECT_EQ(slow.requests.size(), 1u);
  limits_.first_seconds = 0.3, limits_.attempts = 1;
  for (auto& first : {std::string(), late[0]}) {  // Only its head, or an event without text.
    ModelServer silent({{.pieces = {first}, .then = Scripted::IsSilent}});
    EXPECT_THAT(ask(silent).answer.error().message, HasSubstr("the server sent nothing for 0.3 s"));
  }
}

TEST_F(ModelStream, IsKeptAliveByComments) {
  limits_.stall_seconds = 1;
  Pieces pieces = events_of("openai", {"text"});
  for (int i = 0; i < 12; ++i) pieces.push_back(": keep-alive\n\n");
  ModelServer server({{.pieces = pieces + end_of("openai"), .pause_ms = 150}});
  EXPECT_EQ(ask(server).answer->text, "text");
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST_F(ModelStream, ThatBreaksOffIsAskedForAgain) {
  for (auto* format : kFormats)
    for (auto then : {Scripted::Breaks, Scripted::Ends}) {
      Pieces half = events_of(format, {"half"});
      half.push_back(end_of(format)[0].substr(0, 30));
      ModelServer server({{.pieces = half, .then = then}, {.pieces = stream_of(format, {"whole"})}});
      auto reply = ask(server, format);
      ASSERT_TRUE(reply.answer.ok()) << format << reply.answer.error().message;
      EXPECT_EQ(reply.answer->text, "whole") << format;
      EXPECT_EQ(reply.requests, 2) << format;
      ModelServer never({{.pieces = half, .then = then}});
      EXPECT_THAT(
          ask(never, format).answer.error().message,
          AllOf(HasSubstr("after 4 bytes of the answer (asked 2 times)"),
                HasSubstr(then == Scripted::Ends ? "half a reply: the stream broke off before the answer ended" : "")));
    }
}

TEST_F(ModelStream, IsAnAnswerOnceItsEndWasSaidWhateverFollows) {
  limits_.stall_seconds = 0.5;
  for (auto* format : kFormats)
    for (auto then : {Scripted::Breaks, Scripted::Ends, Scripted::IsSilent}) {
      ModelServer server({{.pieces = events_of(format, {"whole"}) + Pieces{end_of(format)[0]}, .then = then}});
      auto reply = ask(server, format);
      ASSERT_TRUE(reply.answer.ok()) << format << reply.answer.error().message;
      EXPECT_EQ(reply.answer->text, "whole") << format;
      EXPECT_EQ(reply.requests, 1) << format;
    }
  ModelServer junk({{.pieces = stream_of("openai", {"whole"}) + Pieces{"data: {{{\n\n"}}});
  EXPECT_EQ(ask(junk).answer->text, "whole");
  ModelServer brief({{.pieces = events_of("openai", {"whole"}) + Pieces{"data: [DONE]"}}});
  EXPECT_EQ(ask(brief).answer->text, "whole") << "no reason, no blank line";
}

TEST_F(ModelStream, QuotesTheErrorsThatComeInIt) {
  const std::pair<const char*, std::string> kErrors[] = {
      {"openai", event({{"error", {{"message", "out of memory"}}}})},
      {"openai", "event: error\ndata: out of memory\n\n"},
      {"anthropic", typed_event({{"type", "error"}, {"error", {{"message", "out of memory"}}}})},
      {"responses", typed_event({{"type", "error"}, {"code", "x"}, {"message", "out of memory"}})},
      {"responses", typed_event({{"type", "response.failed"},
                                 {"response", {{"status", "failed"}, {"error", {{"message", "out of memory"}}}}}})}};
  for (auto& [format, error] : kErrors) {
    Pieces failing = events_of(format, {"half"});
    failing.push_back(error);
    ModelServer server({{.pieces = failing}, {.pieces = stream_of(format, {"whole"})}});
    EXPECT_EQ(ask(server, format).answer->text, "whole") << error;
    ModelServer never({{.pieces = failing}});
    EXPECT_THAT(ask(never, format).answer.error().message,
                HasSubstr("the server answered and said: out of memory, after 4 bytes of the answer (asked 2 times)"));
  }
}

TEST_F(ModelStream, OfWhichOneEventCannotBeReadIsAskedForAgain) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"data: {\"choices\": [{\"del\n\n", "is not a complete JSON object"},
      {"data: 7\n\n", "is not a complete JSON object"},
      {"data: {\"choices\": [{\"delta\": {\"content\": \"\xff\"}}]}\n\n", "is not a complete JSON object"},
      {"data: {\"choices\": [{\"delta\": {\"content\": [{}]}}]}\n\n", "is not in the expected form"}};
  for (auto& [wrong, said] : kWrong) {
    Pieces pieces = events_of("openai", {"half"});
    pieces.push_back(wrong);
    ModelServer server({{.pieces = pieces + end_of("openai")}, {.pieces = stream_of("openai", {"whole"})}});
    EXPECT_EQ(ask(server).answer->text, "whole") << wrong;
    ModelServer never({{.pieces = pieces + end_of("openai")}});
    EXPECT_THAT(ask(never).answer.error().message, AllOf(HasSubstr("an event of the stream "), HasSubstr(said)));
  }
  ModelServer deep({{.pieces = {"data: " + std::string(1'000'000, '[') + "\n\n"}}});
  EXPECT_THAT(ask(deep).answer.error().message, HasSubstr("is not a complete JSON object"));
}

TEST_F(ModelStream, ThatNeverEndsIsLeft) {
  const std::string long_text(64 << 10, 'x');
  for (auto* format : kFormats) {
    ModelServer server({{.pieces = events_of(format, {long_text}), .then = Scripted::Repeats}});
    auto reply = ask(server, format);
    EXPECT_THAT(reply.answer.error().message, HasSubstr("the reply is larger than 2 MiB")) << format;
    EXPECT_EQ(reply.requests, 1) << format;
  }
  ModelServer line({{.pieces = {"data: ", long_text}, .then = Scripted::Repeats}});
  EXPECT_THAT(ask(line).answer.error().message, HasSubstr("the reply is larger than 2 MiB"));
  ModelServer comments({{.pieces = {": " + long_text + "\n"}, .then = Scripted::Repeats}});
  EXPECT_THAT(ask(comments).answer.error().message, HasSubstr("the reply is larger than 2 MiB"));
  limits_.call_seconds = 0.5;
  ModelServer slow({{.pieces = {": keep-alive\n"}, .pause_ms = 20, .then = Scripted::Repeats}});
  EXPECT_THAT(ask(slow).answer.error().message, HasSubstr("no complete reply within"));
}

TEST_F(ModelStream, EndsAtOnceWithTheRun) {
  ModelServer server({{.pieces = {": keep-alive\n"}, .pause_ms = 20, .then = Scripted::Repeats}});
  auto model = open(server);
  auto asked = std::async(std::launch::async, [&] { return ask(*model); });
  while (server.requests.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto begin = std::chrono::steady_clock::now();
  stop_ = true;
  EXPECT_EQ(asked.get().answer.error().message, "stopped");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(ModelStream, SaysWhyAnAnswerEnded) {
  const std::pair<const char*, const char*> kCut[] = {
      {"openai", "length"}, {"anthropic", "max_tokens"}, {"responses", "max_output_tokens"}};
  for (auto& [format, how] : kCut) {
    ModelServer server({{.pieces = events_of(format, {"half an answer"}) + end_of(format, how)}});
    auto reply = ask(server, format);
    EXPECT_EQ(reply.answer->text, "half an answer") << format;
    EXPECT_TRUE(reply.answer->cut_off) << format;
  }
  const std::pair<const char*, const char*> kRefused[] = {
      {"openai", "content_filter"}, {"anthropic", "refusal"}, {"responses", "content_filter"}};
  for (auto& [format, how] : kRefused) {
    ModelServer server({{.pieces = events_of(format, {"no"}) + end_of(format, how)}});
    EXPECT_TRUE(ask(server, format).answer->refused) << format;
  }
  for (auto* format : kFormats) {
    ModelServer server({{.pieces = events_of(format, {"text"}) + end_of(format, "boredom")}});
    EXPECT_THAT(ask(server, format).answer->remark, HasSubstr("ended by 'boredom'")) << format;
  }
}

TEST_F(ModelStream, HoldsRefusalsAndCallsOfToolsInPieces) {
  Pieces refusal;
  for (auto* words : {"I will ", "not"}) refusal.push_back(piece({{"refusal", words}}));
  ModelServer openai({{.pieces = refusal + end_of("openai")}});
  refusal.clear();
  for (auto* words : {"I will ", "not"}) refusal.push_back(delta_event("response.refusal.delta", words));
  ModelServer responses({{.pieces = refusal + end_of("responses")}});
  for (auto reply : {ask(openai), ask(responses, "responses")}) {
    EXPECT_EQ(reply.answer->text, "I will not");
    EXPECT_TRUE(reply.answer->refused);
  }
  Pieces tool;
  for (auto& function : {Json{{"name", "read_file"}, {"arguments", ""}}, Json{{"arguments", "{}"}}})
    tool.push_back(piece({{"tool_calls", Json::array({Json{{"function", function}}})}}));
  ModelServer calling({{.pieces = tool + end_of("openai", "tool_calls")}});
  EXPECT_EQ(ask(calling).answer->called_tool, "read_file");
  tool = {block_event("content_block_start", "content_block", {{"type", "tool_use"}, {"name", "bash"}})};
  ModelServer using_tool({{.pieces = tool + end_of("anthropic", "tool_use")}});
  EXPECT_EQ(ask(using_tool, "anthropic").answer->called_tool, "bash");
}

TEST_F(ModelStream, ThatIsRefusedIsAskedForWithoutItOnceAndNeverAgain) {
  const char* const kNoOptions =
      R"({"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]})";
  const char* const kNoStream = R"({"error":{"message":"Unsupported value: 'stream' must be false","param":"stream"}})";
  ModelServer server({{400, "", kNoOptions}, {400, "", kNoStream}, {200, "first"}, {200, "second"}});
  auto model = open(server);
  EXPECT_EQ(ask(*model).answer->text, "first");
  EXPECT_EQ(ask(*model).answer->text, "second");
  ASSERT_EQ(server.requests.size(), 4u);
  EXPECT_TRUE(sent(server, 1).contains("stream"));
  for (size_t at : {1, 2, 3}) EXPECT_FALSE(sent(server, at).contains("stream_options")) << at;
  for (size_t at : {2, 3}) EXPECT_FALSE(sent(server, at).contains("stream")) << at;

  ModelServer stubborn({{400, "", kNoStream}});
  EXPECT_THAT(ask(stubborn, "anthropic").answer.error().message, HasSubstr("HTTP 400 and said: Unsupported value"));
  EXPECT_EQ(stubborn.requests.size(), 2u);
  ModelServer other({{400, "", R"({"error":{"message":"the upstream is misconfigured"}})"}});
  EXPECT_FALSE(ask(other).answer.ok());
  EXPECT_EQ(other.requests.size(), 1u);
}

TEST_F(ModelStream, KeepsNoSecretThatComesInPieces) {
  const std::string key = "sk-canary-in-pieces-7f6e5d";
  ::setenv("OPENAI_API_KEY", key.c_str(), 1);
  const Pieces kinds[] = {stream_of("openai", {"for " + key.substr(0, 9), key.substr(9, 6), key.substr(15)}),
                          stream_of("openai", {"for " + key.substr(0, 20), key.substr(20)}),
                          {event({{"error", {{"message", "no: " + key}}}})},
                          {"data: {\"" + key + "\n\n"},
                          events_of("openai", {"text"}) + end_of("openai", "length of " + key)};
  for (auto& pieces : kinds) {
    ModelServer server({{.pieces = pieces}});
    auto reply = ask(server);
    const std::string said =
        reply.answer.ok() ? reply.answer->text + reply.answer->remark : reply.answer.error().message;
    EXPECT_FALSE(said.empty());
    for (size_t at = 0; at + 6 <= key.size(); ++at) EXPECT_THAT(said, Not(HasSubstr(key.substr(at, 6))));
  }
}

TEST_F(ModelStream, ThatIsBrokenDoesNotEndTheRun) {
  ModelServer server({{.pieces = events_of("openai", {kGoodEdit}), .then = Scripted::Breaks},
                      {.pieces = {"data: {\n\n"}},
                      {.pieces = stream_of("openai", {kGoodEdit})}});
  auto model = proposer(server);
  auto proposals = next(*model);
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_THAT(proposals[0].candidate.source, HasSubstr("#define U 2"));
  ModelServer never({{.pieces = events_of("openai", {kGoodEdit}), .then = Scripted::Breaks}});
  auto other = proposer(never);
  EXPECT_TRUE(next(*other).empty());
  EXPECT_THAT(notes_, Contains(HasSubstr("bytes of the answer (asked 4 times)")));
}

TEST_F(ModelStream, OfResponsesIsAskedForInTheirForm) {
  ModelServer server({{200, "text"}});
  EXPECT_TRUE(ask(server, "responses").answer.ok());
  EXPECT_EQ(server.requests.at(0).path, "/v1/responses");
  EXPECT_EQ(server.requests.at(0).get_header_value("Authorization"), std::string("Bearer ") + kKey);
  const Json body = sent(server, 0);
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["instructions"], "system text");
  EXPECT_EQ(body["input"], Json::parse(R"([{"role":"user","content":"user text"},
      {"role":"assistant","content":"earlier"},{"role":"user","content":"more"}])"));
  EXPECT_GT(body["max_output_tokens"], 1024);
  EXPECT_EQ(body["store"], false);
  EXPECT_FALSE(body.contains("max_tokens") || body.contains("messages"));
}

TEST_F(ModelStream, OfResponsesOrOneReplyReadsTheSame) {
  struct Case {
    const char *response, *text;
    bool cut_off = false, refused = false;
    const char* tool = "";
  };
  const Case kCases[] = {
      {R"({"status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"no"}]},
           {"type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]},
           {"type":"message","content":[{"type":"output_text","text":"c"}]}],
           "usage":{"input_tokens":7,"output_tokens":8}})",
       "abc"},
      {R"({"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message",
           "content":[{"type":"output_text","text":"half"}]}],"usage":{"input_tokens":7,"output_tokens":8}})",
       "half", true},
      {R"({"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[],
           "usage":{"input_tokens":7,"output_tokens":8}})",
       "", false, true},
      {R"({"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"I will not"}]}],
           "usage":{"input_tokens":7,"output_tokens":8}})",
       "I will not", false, true},
      {R"({"status":"completed","output":[{"type":"function_call","name":"read_file","arguments":"{}"}],
           "usage":{"input_tokens":7,"output_tokens":8}})",
       "", false, false, "read_file"}};
  for (auto& one : kCases) {
    const Json response = Json::parse(one.response);
    const std::string type = response["status"] == "completed" ? "response.completed" : "response.incomplete";
    ModelServer plain({{200, "", one.response}});
    ModelServer streamed({{.pieces = {typed_event({{"type", type}, {"response", response}})}}});
    for (auto* server : {&plain, &streamed}) {
      auto reply = ask(*server, "responses");
      ASSERT_TRUE(reply.answer.ok()) << reply.answer.error().message;
      EXPECT_EQ(reply.answer->text, one.text);
      EXPECT_EQ(reply.answer->cut_off, one.cut_off) << one.response;
      EXPECT_EQ(reply.answer->refused, one.refused) << one.response;
      EXPECT_EQ(reply.answer->called_tool, one.tool);
      EXPECT_EQ(reply.answer->input_tokens, 7);
      EXPECT_EQ(reply.answer->output_tokens, 8);
    }
  }
  ModelServer failed({{200, "", R"({"status":"failed","output":[],"error":{"code":"x","message":"out of memory"}})"}});
  EXPECT_THAT(ask(failed, "responses").answer.error().message, HasSubstr("and said: out of memory"));
}

TEST_F(ModelStream, OfResponsesMakesACandidate) {
  ModelServer server({{.pieces = stream_of("responses", cut_into(kGoodEdit, 5))}});
  auto proposals = next(*proposer(server, "responses"));
  ASSERT_EQ(proposals.size(), 1u);
  EXPECT_THAT(proposals[0].candidate.source, HasSubstr("#define U 2"));
}

TEST(ModelSpec, NamesTheResponsesEndpoint) {
  EXPECT_EQ(ModelSpec::parse("responses:,m")->url, "https://api.openai.com/v1/responses");
  EXPECT_EQ(ModelSpec::parse("responses:http://h/v1?v=1,m")->url, "http://h/v1/responses?v=1");
  EXPECT_EQ(ModelSpec::parse("responses:http://h/v1/responses,m")->url, "http://h/v1/responses");
  EXPECT_TRUE(ModelSpec::parse("responses:,m")->is_server());
  EXPECT_EQ(ModelSpec::parse("responses:,m")->key_variable(), std::string("OPENAI_API_KEY"));
}

}  // namespace
}  // namespace kernelift::tuner
