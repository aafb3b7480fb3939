// A language model as a proposer. One call at a time runs in the background, so that the tuner never waits for it. An
// answer that cannot be applied, or a candidate that does not compile, goes back to the model with the reason, a few
// times and within a separate budget: repaired candidates are seldom fast, so repairs must not use up the calls for new
// ideas. Every call leaves a transcript (without the key). Failures become notes, and the run goes on.
#pragma once
#include <deque>
#include <future>
#include <map>

#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/source/llm/chat_model.h"

namespace kernelift::tuner {

struct LlmOptions {
  ModelSpec spec;
  ChatLimits limits;
  std::filesystem::path prompts;      ///< Folder of the templates.
  std::filesystem::path transcripts;  ///< Folder; created when it is first needed.
  int most_calls = 40;                ///< Calls for ideas, over all sittings of a run.
  int most_repairs = 40;              ///< Calls for repairs, over all sittings.
  int64_t most_tokens = 2'000'000;    ///< Input and output tokens of all calls.
  double most_seconds = 3600;         ///< Duration of all calls.
  int repairs_per_idea = 2;
  std::string device;   ///< Description of the device, for the prompt.
  std::string profile;  ///< How the original spends its time, in words and figures, for the prompt.
  std::string spent;    ///< The last argument of save_spent; empty in a new run.
  std::function<void(const std::string&)> save_spent;
};

class LlmProposer : public Proposer {
 public:
  /// An Error if the key is missing or a template cannot be read or filled.
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
    Candidate base;  ///< The candidate that the edits apply to.
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
  /// The finished call's candidate; nullopt if it needs a repair or failed.
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
  std::deque<std::pair<Talk, std::string>> to_repair_;  ///< Each with the complaint.
  std::map<Hash, Talk> asked_;                          ///< By candidate key.
  std::map<int64_t, int> uses_;                         ///< Number of ideas that started from a trial, by its id.
  std::vector<std::string> notes_;
  int failures_ = 0, transcript_ = 0;
  int called_ = 0, answered_ = 0, proposed_ = 0;  ///< In this sitting.
  bool gave_up_ = false;
};

}  // namespace kernelift::tuner
