// A language model as a proposer. Its calls run in the background, so that the tuner never waits for them. An answer
// that cannot be applied, one that repeats an earlier candidate, and a candidate that fails go back to the model with
// the reason, a few times for each idea. Every request counts, whatever it is for. Every call leaves a transcript
// (without the key). Failures become notes, and the run goes on.
#pragma once
#include <deque>
#include <future>
#include <list>
#include <map>
#include <set>

#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/source/llm/language_model.h"

namespace kernelift::tuner {

struct LlmOptions {
  ModelSpec spec;
  ChatLimits limits;
  std::filesystem::path prompts;      ///< Folder of the templates.
  std::filesystem::path transcripts;  ///< Folder; created when it is first needed.
  // Over all sittings of a run:
  int64_t most_calls = 40;          ///< Requests, those for repairs and those after failures included.
  int64_t most_tokens = 2'000'000;  ///< Input and output tokens of all requests.
  double most_seconds = 3600;       ///< In which at least one call is waited for.
  int repairs_per_idea = 2;
  size_t prompt_characters = 60'000;  ///< Facts in one prompt, beside the text that is edited.
  std::string profile;                ///< How the original spends its time, in words and figures, for the prompt.
  double tolerance = 0;               ///< Relative, as the user gave it; 0: derived from the original.
  std::string spent;                  ///< The last argument of save_spent; empty in a new run.
  std::function<void(const std::string&)> save_spent;
};

class LlmProposer : public Proposer {
 public:
  /// An Error if the model cannot be opened, or a template cannot be read or filled.
  static Result<std::unique_ptr<LlmProposer>> create(const Mep& mep, LlmOptions options);
  ~LlmProposer() override;
  std::string name() const override { return "llm"; }
  std::string tier() const override { return "source"; }
  bool in_background() const override { return true; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  bool waiting() const override;
  std::vector<std::string> take_notes() override;
  std::string closing_note() const override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Spent {
    int64_t calls = 0, tokens = 0;
    double seconds = 0;
  };
  /// One idea on its way from prompt to candidate.
  struct Talk {
    int64_t parent = 0;
    Candidate base;  ///< The candidate that the edits apply to.
    std::vector<ChatMessage> messages;
    int repairs = 0;               ///< Requests that followed the first.
    Clock::time_point proposed{};  ///< When its candidate was.
  };
  struct Called {
    Talk talk;
    ModelRequest request;
    ModelReply reply;
    double seconds = 0;
  };
  /// Of this sitting.
  struct Counts {
    int64_t ideas = 0, repairs = 0, answers = 0, candidates = 0, repeated = 0, right = 0, faster = 0;
  };

  LlmProposer(const Mep& mep, LlmOptions options, std::unique_ptr<LanguageModel> model);
  /// nullopt: every base has an idea on its way.
  std::optional<Talk> new_talk(const History& history);
  void call(Talk talk, const std::string& kind);
  /// The finished call's candidate; nullopt if it needs a repair or failed.
  std::optional<Proposal> take_answer(Called called, const History& history);
  std::optional<Proposal> candidate_of(Talk talk, const ChatAnswer& answer, const History& history);
  /// What an answer came to that repeats an earlier candidate.
  void take_repeated(Talk talk, const std::string& earlier);
  void repair(Talk talk, const std::string& complaint);
  bool affordable();
  /// Ideas that are asked for, and candidates that are being judged: a new idea waits for what came of the last, which
  /// its prompt tells.
  size_t ideas_out() const;
  void give_up(const std::string& why);
  void note_once(const std::string& note);
  /// Adds what the call took, and keeps the exchange.
  void count(const Called& called);
  void save();
  double seconds_spent() const;
  void write_transcript(const Called& called);

  const Mep& mep_;
  LlmOptions options_;
  std::unique_ptr<LanguageModel> model_;
  std::string system_;
  Spent spent_;
  std::atomic<bool> stop_ = false;
  std::list<std::pair<int64_t, std::future<Called>>> calling_;  ///< Each with the trial that its idea starts from.
  Clock::time_point calling_since_;                             ///< When the first of them was begun.
  std::deque<std::pair<Talk, std::string>> to_repair_;          ///< Each with the complaint.
  std::map<Hash, Talk> asked_;                                  ///< Being judged, by candidate key.
  std::set<Hash> proposed_;                                     ///< Keys of all candidates of this sitting.
  std::map<int64_t, int> uses_;        ///< Number of ideas that started from a trial, by its id.
  std::vector<std::string> unusable_;  ///< Answers without a candidate, for later prompts.
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
  Counts counts_;
  int failures_ = 0, repeats_ = 0;  ///< In a row.
  int transcript_ = 0;              ///< Number of the last one.
  std::string gave_up_;             ///< Why the model is not called any more; or empty.
};

}  // namespace kernelift::tuner
