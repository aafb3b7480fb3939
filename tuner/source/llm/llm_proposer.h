// Language models as a proposer. It asks them for hypotheses about a kernel, for the text that carries one out, and for
// changes of a text; which model and what for is chosen by what it has gained for its cost (evolution/idea_bandit.h),
// which text by a population (evolution/population.h). What models found is crossed with what rules found. Calls run in
// the background, so that the tuner never waits for them. An answer that cannot be applied, one that repeats an earlier
// candidate, and a candidate that fails go back to the model with the reason, a few times for each idea. Every request
// counts, whatever it is for. Every call leaves a transcript (without the key). Failures become notes, and the run goes
// on.
#pragma once
#include <deque>
#include <map>
#include <set>

#include "core/model/mep.h"
#include "tuner/proposer.h"
#include "tuner/rule_outcomes.h"
#include "tuner/source/evolution/crossing.h"
#include "tuner/source/hypotheses/findings_file.h"
#include "tuner/source/hypotheses/hypothesis_board.h"
#include "tuner/source/llm/answer_record.h"
#include "tuner/source/llm/idea_log.h"
#include "tuner/source/llm/model_calls.h"

namespace kernelift::tuner {

struct LlmOptions : ModelCallOptions {
  std::filesystem::path prompts;   ///< Folder of the templates.
  std::filesystem::path findings;  ///< The kernel's findings (hypotheses/findings_file.h); empty: not kept.
  std::string run;                 ///< Name of the run, for the findings.
  int repairs_per_idea = 2;
  size_t prompt_characters = 60'000;  ///< Facts in one prompt, beside the text that is edited.
  std::string profile;                ///< How the original spends its time, in words and figures, for the prompt.
  std::string device_limits;          ///< Evaluator::device_limits().
  std::vector<RuleOffer> offers;      ///< What rules could change in the original.
  std::vector<std::string> inputs;    ///< PromptSubject's.
  std::vector<std::string> accesses;  ///< The same.
  std::string roof;                   ///< The roof that the original is nearest to: "DRAM"; empty: not known.
  double roof_share = 0;              ///< How near: the least time that the roof permits over the original's.
  double tolerance = 0;               ///< Relative, as the user gave it; 0: derived from the original.
  uint64_t seed = 1;                  ///< The run's: the same in all its sittings.
  // Of the state: "llm/call/…", "llm/card/…", "llm/answers".
};

class LlmProposer : public Proposer {
 public:
  /// An Error if a model cannot be opened or has no price, or a template cannot be read or filled.
  static Result<std::unique_ptr<LlmProposer>> create(const Mep& mep, LlmOptions options);
  /// The same with models that others ask, too.
  static Result<std::unique_ptr<LlmProposer>> create(const Mep& mep, LlmOptions options,
                                                     std::shared_ptr<ModelCalls> calls);
  ~LlmProposer() override;
  std::string name() const override { return "llm"; }
  std::string tier() const override { return "source"; }
  bool in_background() const override { return true; }
  std::vector<Proposal> propose(const History& history, size_t count) override;
  void learn(const RunTrial& trial) override;
  bool waiting() const override;
  void when_idle() override { nothing_else_ = true; }
  std::vector<std::string> take_notes() override;
  std::string closing_note() const override;
  std::string spending() const override;

 private:
  using Clock = std::chrono::steady_clock;
  /// One idea on its way from prompt to candidate.
  struct Talk {
    size_t model = 0;
    PromptKind kind = PromptKind::Optimise;
    int64_t parent = 0;
    Candidate base;      ///< The candidate that the edits apply to.
    int64_t card = 0;    ///< The hypothesis that is carried out; 0: none.
    bool edits = false;  ///< Cards were asked for, and edits came.
    int64_t idea = 0;    ///< The call that it began with, and the last one, by their numbers in the log.
    int64_t call = 0;
    std::vector<ChatMessage> messages;
    int repairs = 0;               ///< Requests that followed the first.
    int fixes = 0;                 ///< Corrections that needed none.
    Clock::time_point proposed{};  ///< When its candidate was.
    bool asks_for_cards() const { return kind == PromptKind::Hypotheses && card == 0; }
  };
  /// Of this sitting.
  struct Counts {
    int64_t ideas = 0, repairs = 0, answers = 0, candidates = 0, repeated = 0, right = 0, faster = 0;
  };

  LlmProposer(const Mep& mep, LlmOptions options, std::shared_ptr<ModelCalls> calls);
  void follow(const History& history);
  /// The next call's talk, its prompt filled; nullopt: there is nothing to ask now.
  std::optional<Talk> new_talk(const History& history);
  /// A talk that carries out the hypothesis, or asks for some, about the best free text.
  std::optional<Talk> talk_of(size_t model, PromptKind kind, const RunTrial& base, const Hypothesis* card,
                              const History& history);
  std::vector<std::string> relevant_findings(const RunTrial& base, const History& history) const;
  /// Texts about which an idea is on its way: two prompts about one text would be answered alike.
  std::set<int64_t> busy() const;
  bool start_repair();
  bool start_idea(const History& history);
  void call(Talk talk, const std::string& kind);
  /// The finished call's candidate; nullopt if it needs a repair or failed.
  std::optional<Proposal> take_answer(Talk talk, AnsweredCall called, const History& history);
  void take_cards(const Talk& talk, const Cards& cards, const ChatAnswer& answer, double seconds,
                  const History& history);
  std::optional<Proposal> candidate_of(Talk talk, const ChatAnswer& answer, const History& history);
  /// The proposal, which is waited for from now on.
  Proposal offer(Talk talk, Proposal proposal);
  void take_unusable(Talk talk, const std::string& idea, const std::string& complaint);
  /// What an answer came to that repeats an earlier candidate.
  void take_repeated(Talk talk, const std::string& earlier);
  /// An answer that brought nothing, or counts as several: the model is asked less and less.
  void take_useless(size_t model, int weight = 1);
  /// The model is free, and what became of its last answers permits to ask it now.
  bool may_ask(size_t model) const;
  /// An answer of the model may be looked at: candidates of a model that has not given a right one yet are judged one
  /// after the other, and after useless ones there are pauses.
  bool may_take(size_t model) const;
  bool is_recorded(size_t model) const;
  void repair(Talk talk, const std::string& complaint);
  void drop_card(const Talk& talk, const std::string& why);
  bool affordable(const History& history);
  /// Why the models need not be asked any more, though they could be; or empty.
  std::string enough(const History& history) const;
  /// Ideas that are asked for, and candidates that are being judged: a new idea waits for what came of the last, which
  /// its prompt tells.
  size_t ideas_out() const;
  void give_up(const std::string& why);
  void give_up_on(size_t model, const std::string& why);
  void note_once(const std::string& note);
  /// Adds what the call took to what its idea and its hypothesis have cost.
  void count(const Talk& talk, const AnsweredCall& answered);
  /// Says what is new of hypotheses that were tested, unless it is what a resumed run knew; and keeps it in the file.
  void tell_findings(const History& history, bool aloud);
  void keep_findings();

  const Mep& mep_;
  LlmOptions options_;
  std::shared_ptr<ModelCalls> calls_;
  std::vector<int> failures_;  ///< Of each model, in a row.
  std::set<size_t> proven_;    ///< Models that gave a right candidate in this sitting.
  std::string system_;
  Population population_;
  Crossing crossing_;
  IdeaLog log_;
  HypothesisBoard board_;
  std::optional<FindingsFile> file_;
  struct Told {
    int64_t trial = -1;
    std::string why;
  };
  std::map<int64_t, Told> told_;  ///< What was last said of a hypothesis that was tested.
  bool findings_to_keep_ = false;
  Clock::time_point keep_findings_at_{};                ///< Not before this.
  std::map<std::string, size_t> held_;                  ///< How many hypotheses were tested, by what came of them.
  size_t followed_ = 0;                                 ///< Trials of the history that the population has.
  size_t withdrawn_ = 0;                                ///< Of those, the refused ones that it had to give up.
  std::set<Hash> codes_;                                ///< code_of() these.
  bool nothing_else_ = false;                           ///< The search has nothing else to try.
  std::map<int64_t, Talk> talking_;                     ///< By the number of the call that is under way.
  std::deque<std::pair<Talk, std::string>> to_repair_;  ///< Each with the complaint.
  std::deque<std::pair<Talk, Proposal>> fixed_;         ///< See mechanical_fix.h.
  std::map<Hash, Talk> asked_;                          ///< Being judged, by candidate key.
  std::set<Hash> proposed_;                             ///< Keys of all candidates of this sitting.
  AnswerRecord answers_;
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
  Counts counts_;
  std::string gave_up_;  ///< Why no model is called any more; or empty.
};

}  // namespace kernelift::tuner
