// A model server on loopback that replies from a script, and a proposer that asks it about a small MEP.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <thread>

#include "core/base/file.h"
#include "tuner/source/llm/llm_proposer.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/mep_folder.h"

namespace kernelift::tuner {

inline const char* const kKey = "sk-secret-key-of-the-test";
inline const char* const kGoodEdit =
    "IDEA: faster\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U 2\n>>>>>>> REPLACE\n";

struct Scripted {
  int status = 200;
  std::string text;
  std::string raw;
  int retry_after = 0;
  int hang_ms = 0;
};

inline std::string json_text(const std::string& text) { return Json(text).dump(); }

/// Uses both vendors' formats and sends the script's replies in order; the last one is repeated.
class ModelServer {
 public:
  explicit ModelServer(std::vector<Scripted> script) : script_(std::move(script)) {
    auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      Scripted reply;
      {
        std::lock_guard hold(mutex_);
        requests.push_back(request);
        reply = script_[std::min(next_++, script_.size() - 1)];
      }
      for (int waited = 0; waited < reply.hang_ms && !closing_; waited += 10)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      response.status = reply.status;
      if (reply.retry_after) response.set_header("Retry-After", std::to_string(reply.retry_after));
      bool openai = request.path.find("chat") != std::string::npos;
      std::string body = openai
                             ? R"({"choices":[{"message":{"role":"assistant","content":)" + json_text(reply.text) +
                                   R"(},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20}})"
                             : R"({"content":[{"type":"text","text":)" + json_text(reply.text) +
                                   R"(}],"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":20}})";
      response.set_content(reply.raw.empty() ? body : reply.raw, "application/json");
    };
    server_.Post("/v1/chat/completions", answer);
    server_.Post("/v1/messages", answer);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~ModelServer() {
    closing_ = true;
    server_.stop();
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<httplib::Request> requests;

 private:
  std::vector<Scripted> script_;
  size_t next_ = 0;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

class LlmTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("OPENAI_API_KEY", kKey, 1);
    ::setenv("ANTHROPIC_API_KEY", kKey, 1);
    Candidate original;
    original.source = *read_text(mep_.folder.path() / "kernel.cu");
    original.tier = "baseline";
    history_.add({1, original, fake_ok(1), {}, {}, 0});
  }
  std::unique_ptr<LlmProposer> proposer(const ModelServer& server, const std::string& vendor = "openai") {
    return proposer(vendor + ":" + server.url() + ",test-model");
  }
  std::unique_ptr<LlmProposer> proposer(const std::string& model) {
    LlmOptions options = options_;
    options.specs = {*ModelSpec::parse(model)};
    options.prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
    options.transcripts = folder_.path() / "transcripts";
    options.limits.first_pause = 0.02;
    options.limits.attempts = attempts_;
    options.limits.call_seconds = call_seconds_;
    auto made = LlmProposer::create(mep_.mep, options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(*made);
  }
  /// The last text that was sent to the server.
  static std::string last_prompt(const ModelServer& server, size_t request) {
    return Json::parse(server.requests.at(request).body)["messages"].back()["content"];
  }
  /// Polls until there is a proposal or the proposer is idle.
  std::vector<Proposal> next(LlmProposer& proposer) {
    for (int polls = 0; polls < 12000; ++polls) {
      auto proposals = proposer.propose(history_, 1);
      for (auto& note : proposer.take_notes()) notes_.push_back(note);
      if (!proposals.empty() || !proposer.waiting()) return proposals;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return {};
  }

  /// What is kept of the budget goes into `saved`.
  void keep_spent_in(std::string& saved) {
    options_.state.keep = [&](const std::string& key, const std::string& value) {
      if (key == "llm") saved = value;
    };
  }

  /// The verdict on what was proposed: a new idea waits for it.
  void judge(LlmProposer& proposer, const std::vector<Proposal>& proposals, const Verdict& verdict = fake_ok(1)) {
    for (auto& proposal : proposals)
      proposer.learn(history_.add(
          {static_cast<int64_t>(history_.size()) + 1, proposal.candidate, verdict, {}, proposal.parents, 0}));
  }

  MepFolder mep_;
  TemporaryFolder folder_ = *TemporaryFolder::create("llm");
  History history_;
  LlmOptions options_;
  std::vector<std::string> notes_;
  int attempts_ = 4;
  double call_seconds_ = 5;
};

}  // namespace kernelift::tuner
