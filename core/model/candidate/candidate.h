// A candidate: source text, parameter values, compiler recipe and launches that may replace the original kernel, with
// the steps that led to it. It holds everything that the evaluator needs and nothing that it measures.
#pragma once
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/model/candidate/unit_flags.h"
#include "core/model/launch/expression.h"
#include "core/model/launch/geometry.h"
#include "core/model/premise.h"

namespace kernelift {

/// How the candidate's IR is made and optimised. The default recipe is what the application's own build does.
struct Recipe {
  std::string level = "O3";            ///< O0 O1 O2 O3 Os Oz; ignored when `passes` is not empty.
  std::string passes;                  ///< An LLVM new-pass-manager pipeline, e.g. "function(sroa,gvn),globaldce".
  int unroll_threshold = -1;           ///< -1: LLVM's own.
  int inline_threshold = -1;           ///< -1: LLVM's own.
  std::vector<std::string> fast_math;  ///< Of: nnan ninf nsz arcp contract afn reassoc. Gated by verification.
  bool vectorize = true;               ///< Loop and SLP vectorisers (they matter on the CPU device).
  std::vector<std::string> options;    ///< Further `-mllvm`-style options, e.g. "-unroll-runtime".
  UnitFlags unit_flags = {};           ///< Added to the application's own command for the kernel's file.

  bool is_default() const { return *this == Recipe{}; }
  /// The application's own compiler can follow it: it adds flags of its file at most.
  bool of_application() const;
  bool operator==(const Recipe&) const = default;
  std::string text() const;  ///< One line for a person: "O2 unroll=300 fast=contract,reassoc".
};

/// The variables of a candidate's launch expressions: grid, block and dynamic shared memory as recorded.
inline constexpr const char *kGridVariables[] = {"gx", "gy", "gz"}, *kBlockVariables[] = {"bx", "by", "bz"},
                            *kSharedVariable = "shared";
/// `bound`, and the values of those variables.
Bindings with_geometry(const Geometry& recorded, Bindings bound);

/// One launch of a kernel: geometry as expressions over the recorded one (see with_geometry), parameter values, and the
/// kernel's integer arguments by name (see launch_values.h).
struct CandidateLaunch {
  std::string kernel;  ///< Name expression in the candidate's source, e.g. "bilateral<3>".
  Expression grid[3], block[3], shared;

  static CandidateLaunch as_recorded(std::string kernel);
  Result<Geometry> evaluate(const Geometry& recorded, const Bindings& values) const;
  /// What changes of a launch: "block.x = 32, grid.x = (grid.x * block.x + 31) / 32", over the original's sizes and the
  /// kernel's parameters; empty: nothing.
  std::string change(const Bindings& values) const;
  /// The size that people call "grid.x" … "block.z" or "shared"; nullptr: none has this name.
  Expression* size_named(std::string_view name);
};

/// Device memory the candidate needs beside the recorded arguments, e.g. partial sums of a two-pass reduction.
struct Scratch {
  Expression bytes;
  bool zeroed = false;
};

/// One change on the way from the original to a candidate. Labels, notes and prompts are printed from steps; no code
/// reads them back from a text.
struct Step {
  enum class Origin {
    Rule,      ///< A rewrite rule.
    Model,     ///< A language model's edit.
    Knob,      ///< New values of knobs or of the block's shape.
    Recipe,    ///< Another compiler recipe.
    Text,      ///< Described in words only: by a person, or by a version of Kernelift that stored no steps.
    Template,  ///< A text with declared parameters, written by hand; later values of these change this step.
  };
  Origin origin = Origin::Text;
  std::string rule = {};                  ///< Name of the rule, model, proposer or template; empty: none.
  std::string place = {};                 ///< The changed part of the kernel: "the loop over k".
  Bindings parameters = {};               ///< The rule's parameters; the new values of knobs; a template's values.
  Bindings replaced = {};                 ///< Values that knobs had before, by the names in `parameters`.
  std::string summary = {};               ///< For a rule: its parameters in words. Otherwise: the step in words.
  std::vector<Premise> premises = {};     ///< Conditions under which the step is correct.
  std::vector<std::string> effects = {};  ///< Other consequences, as predicates: "lowers the precision of …".

  static Step described(std::string summary);
  /// "unroll the loop over k (by 4)", "B 64 -> 32", "template mine.cu: B=32", with its premises and effects.
  std::string text() const;
  bool operator==(const Step&) const = default;
};

/// The steps as people are told them: a knob that several steps set has its last value, at the last of them, with the
/// one that it had before the first.
std::vector<Step> as_told(const std::vector<Step>& steps);

struct Candidate {
  std::string source;  ///< The whole text of the MEP's kernel file, every value already in place.
  Bindings values;     ///< Parameter values, for geometry and for the record.
  Recipe recipe;
  std::vector<CandidateLaunch> launches;  ///< Empty: the recorded launch of the MEP's own kernel.
  std::vector<Scratch> scratch;
  std::string tier = "baseline";  ///< source | params | compiler | baseline: who proposed it.
  std::string proposer;           ///< Rule, model or searcher by name.
  std::vector<Step> steps;        ///< From the original to this candidate, in order; empty: the original.

  /// The steps in one line, for people.
  std::string note() const;
  /// Appends a step. One of Origin::Recipe replaces an earlier one: a candidate has a single recipe.
  void add_step(Step step);
  /// Back to what the application's own compiler can follow: with the flags of its file.
  void reset_recipe();
  /// Hash of everything that decides what is run (not tier, proposer, steps).
  Hash key() const;
};

const char* name(Step::Origin);  ///< "rule", "model", "knob", "recipe", "text", "template".

Json to_json(const Recipe&);
Json to_json(const Candidate&);
/// As a program or a person wrote it: a candidate needs its source, a launch its kernel, and all else has the defaults
/// above; a key that is not known is an Error. Names of rules that were renamed since it was stored become today's. A
/// candidate without `steps` has its `note` as a single step of Origin::Text.
Result<Recipe> recipe_from_json(const Json&, const std::string& where);
Result<Candidate> candidate_from_json(const Json&, const std::string& where);

}  // namespace kernelift
