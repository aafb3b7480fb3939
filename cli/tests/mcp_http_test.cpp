// The protocol over HTTP, on a real loopback connection: what is refused and by which status, sessions, streams, and
// what is left when clients go away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "cli/mcp/http/access_token.h"
#include "cli/mcp/http/endpoint.h"
#include "core/base/file.h"

namespace kernelift::cli::mcp {
namespace {

using ::testing::HasSubstr;

const std::string kToken(64, 't');

/// Tools that answer at once, after telling progress, and never.
class ThreeTools : public Host {
 public:
  std::vector<ToolDescription> tools() const override {
    const Json any = {{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}};
    return {{"echo", "Echo", "", any}, {"steps", "Steps", "", any}, {"never", "Never", "", any}};
  }
  void call(const std::string& tool, const CallPointer& call) override {
    if (tool == "never") {
      call->on_cancel = [this] { --open; };
      ++open, waiting.push_back(call);
      return;
    }
    if (tool == "steps") call->progress("one", 1, 2), call->progress("two", 2, 2);
    call->answer({{{"format", "x"}, {"text", call->arguments.value("text", "")}}});
  }
  Json resources() override { return Json::array(); }
  Result<std::string> resource(const std::string&) override { return usage_error("there is none"); }
  std::string instructions() const override { return "how"; }
  std::atomic<int> open = 0;
  std::vector<CallPointer> waiting;  ///< Of the loop's thread.
};

class McpHttp : public testing::Test {
 protected:
  void SetUp() override { serve({"1", kToken}); }
  void serve(EndpointOptions options) {
    stop();
    loop_ = std::make_unique<EventLoop>();
    ASSERT_EQ(pipe(end_), 0);
    loop_->watch(end_[0], [this] { loop_->stop(); });
    endpoint_ = std::make_unique<Endpoint>(*loop_, host_, std::move(options));
    ASSERT_TRUE(endpoint_->listen(0).ok());
    const std::string url = endpoint_->url();
    port_ = std::stoi(url.substr(url.rfind(':') + 1));
    thread_ = std::thread([this] { loop_->run(); });
  }
  void stop() {
    if (!thread_.joinable()) return;
    ASSERT_EQ(write(end_[1], "x", 1), 1);
    thread_.join();
    endpoint_.reset();
    close(end_[0]), close(end_[1]);
  }
  void TearDown() override { stop(); }

  httplib::Headers headers(const std::string& session = "") const {
    httplib::Headers all = {{"Authorization", "Bearer " + kToken},
                            {"Accept", "application/json, text/event-stream"},
                            {"MCP-Protocol-Version", "2025-11-25"}};
    if (!session.empty()) all.emplace("MCP-Session-Id", session);
    return all;
  }
  httplib::Client client() const {
    httplib::Client client("127.0.0.1", port_);
    client.set_keep_alive(true), client.set_tcp_nodelay(true);
    client.set_read_timeout(20);
    return client;
  }
  httplib::Result post(const std::string& body, const httplib::Headers& headers, const std::string& path = "/mcp") {
    auto one = client();
    return one.Post(path, headers, body, "application/json");
  }
  static std::string request(const std::string& method, const std::string& params = "{}", int id = 1) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method + R"(","params":)" + params +
           "}";
  }
  static std::string begin() { return request("initialize", R"({"protocolVersion":"2025-11-25"})"); }
  std::string session() {
    auto answer = post(begin(), headers());
    return answer ? answer->get_header_value("MCP-Session-Id") : "";
  }

  ThreeTools host_;
  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<Endpoint> endpoint_;
  std::thread thread_;
  int end_[2] = {-1, -1}, port_ = 0;
};

TEST_F(McpHttp, ServesAConversationFromInitializeToItsEnd) {
  auto hello = post(begin(), headers());
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->status, 200);
  EXPECT_EQ(Json::parse(hello->body)["result"]["protocolVersion"], "2025-11-25");
  const std::string session = hello->get_header_value("MCP-Session-Id");
  EXPECT_GE(session.size(), 32u);
  auto noted = post(R"({"jsonrpc":"2.0","method":"notifications/initialized"})", headers(session));
  ASSERT_TRUE(noted);
  EXPECT_EQ(noted->status, 202);
  EXPECT_EQ(noted->body, "");
  auto one = client();  // All on one connection.
  for (int i = 0; i < 50; ++i) {
    auto echo = one.Post("/mcp", headers(session),
                         request("tools/call", R"({"name":"echo","arguments":{"text":"a"}})", i), "application/json");
    ASSERT_TRUE(echo);
    EXPECT_EQ(echo->get_header_value("Content-Type"), "application/json");
    EXPECT_EQ(Json::parse(echo->body)["id"], i);
    EXPECT_EQ(Json::parse(echo->body)["result"]["structuredContent"]["text"], "a");
  }
  auto ended = one.Delete("/mcp", headers(session));
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 204);
  EXPECT_EQ(post(request("ping"), headers(session))->status, 404) << "its id means nothing any more";
}

TEST_F(McpHttp, RefusesByStatusWhoIsNotTheUser) {
  auto status = [&](httplib::Headers given) { return post(begin(), given)->status; };
  auto with = [&](const char* name, const std::string& value) {
    auto given = headers();
    given.erase(name), given.emplace(name, value);
    return given;
  };
  auto none = headers();
  none.erase("Authorization");
  auto unknown = post(begin(), none);
  EXPECT_EQ(unknown->status, 401);
  EXPECT_THAT(unknown->get_header_value("WWW-Authenticate"), HasSubstr("Bearer"));
  EXPECT_EQ(status(with("Authorization", "Bearer " + kToken.substr(1))), 401);
  EXPECT_EQ(status(with("Authorization", "Bearer " + kToken + "t")), 401);
  EXPECT_EQ(status(with("Authorization", "Basic " + kToken)), 401);
  EXPECT_EQ(status(with("Authorization", "bearer " + kToken)), 200) << "a scheme's case does not matter";
  EXPECT_EQ(status(with("Origin", "https://example.com")), 403);
  EXPECT_EQ(status(with("Origin", "null")), 403);
  EXPECT_EQ(status(with("Origin", "http://127.0.0.1.example.com")), 403);
  EXPECT_EQ(status(with("Origin", "http://localhost:3000")), 200);
  EXPECT_EQ(status(with("Host", "example.com:" + std::to_string(port_))), 403) << "a name made to resolve to us";
  EXPECT_EQ(status(with("Host", "localhost:" + std::to_string(port_))), 200);
}

TEST_F(McpHttp, RefusesByStatusWhatIsNotOfTheProtocol) {
  const std::string known = session();
  EXPECT_EQ(post(begin(), headers(), "/other")->status, 404);
  EXPECT_EQ(post(request("ping"), headers())->status, 400) << "a session begins with initialize";
  EXPECT_EQ(post(request("ping"), headers("unknown"))->status, 404);
  EXPECT_THAT(post(request("initialize"), headers())->body, HasSubstr("protocolVersion"));
  auto version = headers(known);
  version.erase("MCP-Protocol-Version"), version.emplace("MCP-Protocol-Version", "1999-01-01");
  EXPECT_EQ(post(request("ping"), version)->status, 400);
  auto one = client();
  auto listening = one.Get("/mcp", headers(known));
  ASSERT_TRUE(listening);
  EXPECT_EQ(listening->status, 405);
  EXPECT_EQ(listening->get_header_value("Allow"), "POST, DELETE");
  EXPECT_EQ(post("{oops", headers(known))->status, 400);
  EXPECT_EQ(post("", headers(known))->status, 202) << "nothing was said";
  EXPECT_EQ(post(std::string(kLongestFrame + 1, 'x'), headers(known))->status, 413);
  EXPECT_EQ(post(request("ping"), headers(known))->status, 200) << "the conversation goes on";
}

TEST_F(McpHttp, TellsProgressAsEventsBeforeTheAnswer) {
  auto answer = post(request("tools/call", R"({"name":"steps","_meta":{"progressToken":"t"}})"), headers(session()));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/event-stream");
  std::vector<Json> events;
  for (size_t at = 0; (at = answer->body.find("data: ", at)) != std::string::npos; ++at)
    events.push_back(Json::parse(answer->body.substr(at + 6, answer->body.find("\n\n", at) - at - 6)));
  ASSERT_EQ(events.size(), 3u) << answer->body;
  EXPECT_EQ(events[0]["params"]["message"], "one");
  EXPECT_EQ(events[1]["params"]["progress"], 2.0);
  EXPECT_TRUE(events[2].contains("result"));
}

TEST_F(McpHttp, EndsACallThatIsCancelledByAnotherRequest) {
  const std::string known = session();
  std::thread waiting([&] {
    auto answer = post(request("tools/call", R"({"name":"never"})", 7), headers(known));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "");
  });
  while (host_.open == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  post(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})", headers(known));
  waiting.join();
  EXPECT_EQ(host_.open, 0);
}

TEST_F(McpHttp, EndsTheCallsOfASessionThatEnds) {
  const std::string known = session();
  std::thread waiting([&] { post(request("tools/call", R"({"name":"never"})"), headers(known)); });
  while (host_.open == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  auto one = client();
  EXPECT_EQ(one.Delete("/mcp", headers(known))->status, 204);
  waiting.join();
  EXPECT_EQ(host_.open, 0);
}

TEST_F(McpHttp, ForgetsSessionsThatNobodyUses) {
  serve({"1", kToken, std::chrono::seconds(0)});
  const std::string idle = session();
  while (post(request("ping"), headers(idle))->status == 200) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  serve({"1", kToken, std::chrono::seconds(3600), 2});
  const std::string first = session(), second = session(), third = session();
  EXPECT_EQ(post(request("ping"), headers(first))->status, 404) << "a third session ends the oldest";
  EXPECT_EQ(post(request("ping"), headers(third))->status, 200);
}

TEST_F(McpHttp, ServesManyClientsAtOnceWhoseConversationsAreTheirOwn) {
  std::vector<std::thread> clients;
  std::atomic<int> right = 0;
  for (int i = 0; i < 100; ++i)
    clients.emplace_back([&, i] {
      const std::string known = session(), text = std::to_string(i);
      for (int k = 0; k < 3; ++k) {
        auto answer =
            post(request("tools/call", R"({"name":"echo","arguments":{"text":")" + text + "\"}}"), headers(known));
        right += answer && Json::parse(answer->body)["result"]["structuredContent"]["text"] == text;
      }
    });
  for (auto& one : clients) one.join();
  EXPECT_EQ(right, 300);
}

TEST(McpToken, IsMadeOnceAndKeptFromOthers) {
  auto folder = TemporaryFolder::create("token");
  ASSERT_TRUE(folder.ok());
  const auto file = folder->path() / "mcp.token";
  auto token = access_token(file);
  ASSERT_TRUE(token.ok()) << token.error().message;
  EXPECT_EQ(token->size(), 64u);
  struct stat about{};
  ASSERT_EQ(stat(file.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_EQ(*access_token(file), *token) << "clients are configured once";
  chmod(file.c_str(), 0640);
  EXPECT_THAT(access_token(file).error().message, HasSubstr("others may read"));
  chmod(file.c_str(), 0600);
  std::ofstream(file) << "short\n";
  EXPECT_THAT(access_token(file).error().message, HasSubstr("holds no token"));
  const auto link = folder->path() / "link";
  std::filesystem::create_symlink(file, link);
  EXPECT_FALSE(access_token(link).ok()) << "a link may lead anywhere";
}

}  // namespace
}  // namespace kernelift::cli::mcp
