// The requests to models in a run, as they are kept in its database: from them and from the trials a resumed run knows
// what each model and each kind of prompt has cost and gained, exactly as the sitting before did.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tuner/history.h"
#include "tuner/source/evolution/idea_bandit.h"
#include "tuner/source/kept_state.h"

namespace kernelift::tuner {

/// What a model can be asked for. A repair belongs to the kind of its idea.
enum class PromptKind {
  Hypotheses,  ///< Cards, and then the text for one of them.
  Optimise,    ///< A change of one text.
  Combine,     ///< A change of one text by what others show.
};
inline constexpr size_t kPromptKinds = 3;
const char* name(PromptKind kind);  ///< "hypotheses", "optimise", "combine".

struct LoggedCall {
  int64_t number = 0;  ///< From 1; also its transcript's, unless an earlier run wrote into the folder.
  int64_t idea = 0;    ///< The call that its idea began with: itself, or an earlier one for a repair.
  std::string model;   ///< ModelSpec::shown() and its model.
  PromptKind kind = PromptKind::Optimise;
  int64_t parent = 0;          ///< The trial whose text was edited.
  int64_t card = 0;            ///< The hypothesis that was to be carried out; 0: none.
  double seconds = 0;          ///< With the card's share of the call that it came from; 0 until it is over.
  int64_t tokens = 0;          ///< As well.
  std::string candidate = {};  ///< Key of what came of it; empty: nothing.
  int64_t cards = 0;           ///< Hypotheses that came of it: what it cost is shared by the calls for these.
};

class IdeaLog {
 public:
  /// What cannot be read of the state is left out.
  explicit IdeaLog(KeptState state);

  LoggedCall& begin(LoggedCall call);
  LoggedCall* find(int64_t number);
  /// A call that has changed.
  void keep(const LoggedCall& call);

  uint64_t ideas() const;  ///< Calls that were no repairs.
  /// EXPECTS: the history is that of earlier calls, with more trials. For choose_arm(): arm `m * kPromptKinds + kind`
  /// is that of `models[m]`.
  std::vector<IdeaCall> calls(const std::vector<std::string>& models, const History& history) const;
  /// The hypothesis that the candidate with this key carries out; 0: none.
  int64_t card_of(const std::string& candidate) const;

 private:
  /// Logarithm of the gain of the call's candidate over its parent; 0: none, or not judged yet.
  double gained(const LoggedCall& call, const History& history) const;

  KeptState state_;
  std::map<int64_t, LoggedCall> calls_;
  mutable std::map<int64_t, double> gained_;  ///< By calls whose candidates were judged: it stays.
  std::map<std::string, int64_t> cards_;      ///< By candidate.
};

}  // namespace kernelift::tuner
