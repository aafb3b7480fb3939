// A hypothesis of a model about a kernel, as the card that it fills in before any code is written: what holds the
// kernel back, what would be changed, which figure moves by that and how far, and what is expected to be gained.
// Afterwards the card is compared with what was measured (finding.h).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "tuner/source/evolution/family.h"

namespace kernelift::tuner {

struct Hypothesis {
  enum class Risk { Low, Medium, High };
  int64_t number = 0;  ///< In its run, from 1.
  int64_t base = 0;    ///< The trial whose text it is about.
  std::string model;   ///< Which made it.
  Family family = Family::Structure;
  std::string bound, change;                 ///< In words, one line each.
  std::string figure;                        ///< The figure that moves: "registers"; empty: none was named.
  std::optional<double> before, after = {};  ///< Its value now and then; absent: not stated.
  double gain = 1;                           ///< Expected speedup over the text that it is about; more than 1.
  Risk risk = Risk::Medium;                  ///< That the change is not right, or gains nothing.
  std::string cost;                          ///< What the change takes, in words: "20 lines".

  // What became of it.
  std::string candidate = {};  ///< Key of the last candidate that carries it out; empty: there is none yet.
  bool asked = false;          ///< A model was asked to carry it out.
  std::string dropped = {};    ///< Why no candidate came of it; empty: one did, or may yet.
  int64_t requests = 0, tokens = 0;
  double seconds = 0;  ///< Of the requests that were made for it.

  bool open() const { return !asked && dropped.empty(); }
  std::string prediction() const;  ///< "registers 40 -> 32; 1.30x; risk low"
};

const char* name(Hypothesis::Risk risk);

/// The card as it is shown to the model that carries it out.
std::string card_text(const Hypothesis& hypothesis);

struct Cards {
  std::vector<Hypothesis> hypotheses;
  std::string
      complaint;  ///< Set if there is none: the mistake, in words for the model. Else what was left out, or empty.
};
/// The cards of an answer, at most `most`. What a card lacks or spells wrongly costs that card only.
Cards read_cards(const std::string& answer, size_t most);

Json to_json(const Hypothesis&);
Result<Hypothesis> hypothesis_from_json(const Json&, const std::string& where);

}  // namespace kernelift::tuner
