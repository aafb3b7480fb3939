// A candidate: one thing that could stand in the original kernel's place. Source text, the parameter values that led
// to it, a compiler recipe, and the launches that run it. Everything the evaluator needs, nothing that it measures.
#pragma once
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/model/launch/expression.h"
#include "core/model/launch/geometry.h"

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

  bool is_default() const { return *this == Recipe{}; }
  bool operator==(const Recipe&) const = default;
  std::string text() const;  ///< One line for a person: "O2 unroll=300 fast=contract,reassoc".
};

/// The variables of a candidate's launch expressions: grid, block and dynamic shared memory as recorded.
inline constexpr const char *kGridVariables[] = {"gx", "gy", "gz"}, *kBlockVariables[] = {"bx", "by", "bz"},
                            *kSharedVariable = "shared";
/// `bound`, and the values of those variables.
Bindings with_geometry(const Geometry& recorded, Bindings bound);

/// One launch of a kernel: geometry as expressions over the recorded one (see with_geometry) and parameter values.
struct CandidateLaunch {
  std::string kernel;  ///< Name expression in the candidate's source, e.g. "bilateral<3>".
  Expression grid[3], block[3], shared;

  static CandidateLaunch as_recorded(std::string kernel);
  Result<Geometry> evaluate(const Geometry& recorded, const Bindings& values) const;
};

/// Device memory the candidate needs beside the recorded arguments, e.g. partial sums of a two-pass reduction.
struct Scratch {
  Expression bytes;
  bool zeroed = false;
};

struct Candidate {
  std::string source;  ///< The whole text of the MEP's kernel file, every value already in place.
  Bindings values;     ///< Parameter values, for geometry and for the record.
  Recipe recipe;
  std::vector<CandidateLaunch> launches;  ///< Empty: the recorded launch of the MEP's own kernel.
  std::vector<Scratch> scratch;
  std::string tier = "baseline";  ///< source | params | compiler | baseline: who proposed it.
  std::string proposer;           ///< Rule, model or searcher by name.
  std::string note;               ///< One line: what was changed and why.

  /// Hash of all that decides what is run (not tier, proposer, note).
  Hash key() const;
};

Json to_json(const Recipe&);
Json to_json(const Candidate&);
/// As a program or a person wrote it: a candidate needs its source, a launch its kernel, and all else has the defaults
/// above; a key that is not known is an Error.
Result<Recipe> recipe_from_json(const Json&, const std::string& where);
Result<Candidate> candidate_from_json(const Json&, const std::string& where);

}  // namespace kernelift
