// A proposer that asks a model server on loopback about a small MEP.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tuner/source/llm/llm_proposer.h"
#include "tuner/source/tests/model_server.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/mep_folder.h"

namespace kernelift::tuner {

inline const char* const kKey = "sk-secret-key-of-the-test";
inline const char* const kGoodEdit =
    "IDEA: faster\n<<<<<<< SEARCH\n#define U 1\n=======\n#define U 2\n>>>>>>> REPLACE\n";

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
      proposer.when_idle();  // There is nothing else to try here.
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
