// A language model as a proposer. One call at a time, in the background, so that the tuner never waits for it. Answers
// that cannot be applied, and candidates that do not compile, go back to the model with the reason, a few times each
// and within a budget of their own: rescued candidates are seldom fast, so repair must not eat the calls meant for
// ideas. Every call leaves a transcript (never the key). Whatever goes wrong becomes a note; the run goes on.
#pragma once
#include <deque>
#include <future>
#include <map>

#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/source/llm/chat_model.h"

namespace kernelift {

struct LlmOptions {
  ModelSpec spec;
  ChatLimits limits;
  std::filesystem::path prompts;      ///< Folder of the templates.
  std::filesystem::path transcripts;  ///< Folder; created when first needed.
  int most_calls = 40;                ///< For ideas, over all sittings of a run.
  int most_repairs = 40;              ///< For repairs, likewise.
  int64_t most_tokens = 2'000'000;    ///< Input and output together.
  double most_seconds = 3600;         ///< Waiting for the model, all calls together.
  int repairs_per_idea = 2;
  std::string device;   ///< For the prompt.
  std::string profile;  ///< Likewise: how the original spends its time, in words and figures.
  std::string spent;    ///< What save_spent was last given; empty in a new run.
  std::function<void(const std::string&)> save_spent;
};

class LlmProposer : public Proposer {
 public:
  /// Errors: no key, templates that cannot be read or filled.
  static Result<std::unique_ptr<LlmProposer>> create(const Mep& mep, LlmOptions options);
  ~LlmProposer() override;
  std::string name() const override { return "llm"; }
  std::string tier() const override { return "source"; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  bool waiting() const override;
  std::vector<std::string> take_notes() override;
  std::string closing_note() const override;

 private:
  struct Spent {
    int calls = 0, repairs = 0;
    int64_t tokens = 0;
    double seconds = 0;
  };
  /// One idea on its way from prompt to candidate.
  struct Talk {
    int64_t parent = 0;
    Candidate base;  ///< What its edits apply to.
    std::vector<ChatMessage> messages;
    int repairs = 0;
  };
  struct Called {
    Talk talk;
    Result<ChatAnswer> answer;
    double seconds = 0;
    std::string kind;
  };

  LlmProposer(const Mep& mep, LlmOptions options, ChatModel model);
  Result<Talk> new_talk(const History& history) const;
  void call(Talk talk, const std::string& kind);
  /// The finished call's candidate, or a repair under way.
  std::optional<Proposal> take_answer();
  void repair(Talk talk, const std::string& complaint);
  bool affordable(bool for_repair);
  void save();
  void write_transcript(const Called& called);
  std::string attempts(const History& history) const;

  const Mep& mep_;
  LlmOptions options_;
  ChatModel model_;
  std::string system_;
  Spent spent_;
  std::atomic<bool> stop_ = false;
  std::future<Called> calling_;
  std::deque<std::pair<Talk, std::string>> to_repair_;  ///< With the complaint.
  std::map<Hash, Talk> asked_;                          ///< By candidate key.
  std::map<int64_t, int> uses_;                         ///< How often a trial was the base of an idea.
  std::vector<std::string> notes_;
  int failures_ = 0, transcript_ = 0;
  int called_ = 0, answered_ = 0, proposed_ = 0;  ///< In this sitting.
  bool gave_up_ = false;
};

}  // namespace kernelift
