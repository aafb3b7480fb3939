// The protocol apart from the tools: framing, negotiation, batches, schemas, and answers that are cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/mcp/protocol/schema.h"
#include "cli/mcp/protocol/session.h"
#include "cli/mcp/protocol/shortened.h"

namespace kernelift::cli::mcp {
namespace {

using ::testing::HasSubstr;

TEST(McpLines, AreCutWhereverReadsEndAndDroppedWhereTooLong) {
  LineBuffer lines(8);
  lines.add("ab");
  EXPECT_FALSE(lines.next());
  lines.add("c\r\nde\nx");
  EXPECT_EQ(lines.next()->text, "abc");
  EXPECT_EQ(lines.next()->text, "de");
  EXPECT_FALSE(lines.next());
  for (int i = 0; i < 10; ++i) {
    lines.add("0123456789");
    EXPECT_FALSE(lines.next());
  }
  lines.add("\nok\n");
  EXPECT_TRUE(lines.next()->too_long);
  EXPECT_EQ(lines.next()->text, "ok");
}

TEST(McpSchema, NamesThePlaceThatDoesNotFit) {
  const Json schema = Json::parse(R"({"type":"object","properties":{"kernel":{"type":"string","maxLength":4},
    "list":{"type":"array","minItems":1,"items":{"type":"object","properties":{"n":{"type":"integer","minimum":1}}}}},
    "required":["kernel"]})");
  auto says = [&](const char* text) {
    Status fit = fits(Json::parse(text), schema);
    return fit.ok() ? "fits" : fit.error().message;
  };
  EXPECT_EQ(says(R"({"kernel":"k","list":[{"n":1}]})"), "fits");
  EXPECT_EQ(says(R"({})"), "kernel is missing");
  EXPECT_EQ(says(R"({"kernel":7})"), "kernel is a text, not a whole number");
  EXPECT_EQ(says(R"({"kernel":"k","list":[{"n":1},{"n":0}]})"), "list[1].n is at least 1");
  EXPECT_EQ(says(R"({"kernel":"k","list":[{"m":1}]})"), "list[0].m is not known; known are n");
  EXPECT_EQ(says(R"({"kernel":"k","list":[]})"), "list has at least 1 entries");
  EXPECT_EQ(says(R"({"kernel":"too long"})"), "kernel has at most 4 bytes");
  EXPECT_EQ(says(R"([])"), "arguments is an object, not a list");
}

TEST(McpAnswers, AreCutToTheirLimitAndSayWhatIsLeftOut) {
  Json small = {{"format", "x"}, {"text", "short"}};
  EXPECT_EQ(shortened(small, 4096), small);
  Json large = {{"format", "x"}, {"text", std::string(100000, 'a')}, {"list", Json::array()}};
  for (int i = 0; i < 5000; ++i) large["list"].push_back({{"name", std::string(50, 'b')}});
  Json cut = shortened(large, 4096);
  EXPECT_LE(compact(cut).size(), 4096u);
  EXPECT_EQ(cut["format"], "x");
  EXPECT_THAT(cut["text"].get<std::string>(), HasSubstr("more bytes)"));
  EXPECT_THAT(cut["list"].back().get<std::string>(), HasSubstr("more)"));
  Json many = Json::object();
  for (int i = 0; i < 5000; ++i) many["key " + std::to_string(i)] = i;
  EXPECT_LE(compact(shortened(many, 4096)).size(), 4096u);
}

/// One tool, `later`, whose calls the test answers.
class LateHost : public Host {
 public:
  std::vector<ToolDescription> tools() const override {
    return {{"later",
             "Later",
             "Answers later",
             {{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}, {"additionalProperties", false}}}};
  }
  void call(const std::string&, const CallPointer& call) override {
    call->on_cancel = [this] { ++cancelled; };
    calls.push_back(call);
  }
  Json resources() override { return Json::array(); }
  Result<std::string> resource(const std::string&) override { return usage_error("there is none"); }
  std::string instructions() const override { return "how"; }
  std::vector<CallPointer> calls;
  int cancelled = 0;
};

class McpSession : public testing::Test {
 protected:
  struct Said : Replies {
    explicit Said(std::vector<Json>& said) : said(said) {}
    void answer(const Json& message) override { said.push_back(message); }
    void tell(const Json& message) override { said.push_back(message); }
    std::vector<Json>& said;
  };
  void say(const std::string& text) { say(session_, text); }
  void say(Session& session, const std::string& text) { session.receive({text}, std::make_shared<Said>(said_)); }
  void initialize(const std::string& version) {
    say(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version + "\"}}");
  }
  void call(const std::string& id, const std::string& more = "") {
    say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/call","params":{"name":"later","arguments":{})" + more +
        "}}");
  }
  const Json& last() const { return said_.back(); }
  LateHost host_;
  std::vector<Json> said_;
  Session session_{host_, "1"};
};

TEST_F(McpSession, SpeaksTheClientsVersionWhereItIsKnownAndElseTheNewest) {
  for (std::string version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    Session session(host_, "1");
    say(session, R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" + version + "\"}}");
    EXPECT_EQ(last()["result"]["protocolVersion"], version);
    EXPECT_EQ(last()["result"]["serverInfo"].contains("description"), version == "2025-11-25");
  }
  initialize("1999-01-01");
  EXPECT_EQ(last()["result"]["protocolVersion"], "2025-11-25");
}

TEST_F(McpSession, LeavesTheIdOutOfErrorsWithoutOneSinceTheProtocolDoes) {
  initialize("2025-11-25");
  say("{oops");
  EXPECT_FALSE(last().contains("id")) << last();
  Session older(host_, "1");
  say(older, "{oops");
  EXPECT_TRUE(last()["id"].is_null());
}

TEST_F(McpSession, RunsACallThatAsksForATaskWithoutOneBecauseNoneAreOffered) {
  initialize("2025-11-25");
  EXPECT_FALSE(last()["result"]["capabilities"].contains("tasks"));
  call("1", R"(,"task":{"ttl":1000})");
  ASSERT_EQ(host_.calls.size(), 1u);
  host_.calls[0]->answer({{{"format", "x"}}});
  EXPECT_EQ(last()["result"]["structuredContent"], Json({{"format", "x"}}));
}

TEST_F(McpSession, CancelsItsCallsWhenItEnds) {
  {
    Session session(host_, "1");
    say(session, R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}})");
    say(session, R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"later"}})");
    ASSERT_EQ(host_.calls.size(), 1u);
  }
  EXPECT_EQ(host_.cancelled, 1);
  const size_t said = said_.size();
  host_.calls[0]->answer({{{"format", "x"}}});
  EXPECT_EQ(said_.size(), said);
}

TEST_F(McpSession, RefusesByCodeAndGoesOn) {
  auto code = [&](const char* text) {
    const size_t before = said_.size();
    say(text);
    return said_.size() == before ? 0 : last()["error"].value("code", 0);
  };
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"), -32600) << "before initialize";
  EXPECT_EQ(code("{oops"), -32700);
  EXPECT_EQ(code((std::string(100000, '[') + std::string(100000, ']')).c_str()), -32700);
  EXPECT_EQ(code("[]"), -32600);
  EXPECT_EQ(code("7"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":null,"method":"ping"})"), -32600);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"initialize"})"), -32602);
  initialize("2025-06-18");
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/unknown"})"), -32601);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}})"), -32602);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"kernelift://none"}})"), -32002);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","method":"notifications/unknown"})"), 0);
  EXPECT_EQ(code(R"({"jsonrpc":"2.0","id":1,"result":{}})"), 0);
  say(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"later","arguments":{"text":7}}})");
  EXPECT_EQ(last()["result"]["isError"], true);
  say(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
  EXPECT_EQ(last(), Json::parse(R"({"jsonrpc":"2.0","id":2,"result":{}})"));
}

TEST_F(McpSession, AnswersCallsInTheOrderInWhichTheyEndAndTellsTheirProgressToThoseWhoAsked) {
  initialize("2025-06-18");
  call("1", R"(,"_meta":{"progressToken":"t"})"), call("\"1\"");
  ASSERT_EQ(host_.calls.size(), 2u);
  host_.calls[1]->progress("unheard");
  host_.calls[0]->progress("half", 1, 2);
  EXPECT_EQ(last()["params"], Json::parse(R"({"progressToken":"t","progress":1.0,"total":2.0,"message":"half"})"));
  host_.calls[1]->answer({{{"format", "x"}}, "kernelift://answers/1"});
  EXPECT_EQ(last()["id"], "1");
  EXPECT_EQ(last()["result"]["structuredContent"], Json({{"format", "x"}}));
  EXPECT_EQ(last()["result"]["content"][1]["type"], "resource_link");
  host_.calls[0]->fail("it is not there");
  EXPECT_EQ(last()["id"], 1);
  EXPECT_EQ(last()["result"]["content"][0]["text"], "it is not there");
  const size_t said = said_.size();
  host_.calls[0]->answer({{{"format", "x"}}});
  host_.calls[0]->progress("too late");
  EXPECT_EQ(said_.size(), said) << "a call is answered once";
}

TEST_F(McpSession, NeitherAnswersNorContinuesWhatWasCancelled) {
  initialize("2024-11-05");
  call("5"), call("6");
  const size_t said = said_.size();
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"5"}})");
  say(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}})");
  EXPECT_EQ(host_.cancelled, 1);
  host_.calls[0]->answer({{{"format", "x"}}});
  EXPECT_EQ(said_.size(), said);
  host_.calls[1]->answer({{{"format", "x"}}});
  EXPECT_EQ(last()["id"], 6);
}

TEST_F(McpSession, AnswersABatchAtOnceWhenAllOfItIsKnown) {
  initialize("2025-03-26");
  const size_t said = said_.size();
  say(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"},
          {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"later"}},7])");
  EXPECT_EQ(said_.size(), said);
  host_.calls[0]->answer({{{"format", "x"}}});
  ASSERT_EQ(said_.size(), said + 1);
  EXPECT_EQ(last().size(), 3u);
  say(R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  EXPECT_EQ(said_.size(), said + 1) << "notifications alone are not answered";
}

}  // namespace
}  // namespace kernelift::cli::mcp
