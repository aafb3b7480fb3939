// Under which circumstances embedded code may run in the original's place: those in which it was verified. The recorded
// instances are all there is to go by, so the guard says what they have in common. Code whose source is the original's
// own, compiled otherwise, computes the same whatever it is given: it is bound to the block alone. A source that was
// changed may rely on anything that the instances never contradicted, and is bound to their grids, to the scalars that
// came with each of them (a value, or range and divisibility), and to pointers' alignment and how the memory behind
// them lay: apart, or so far from one another.
#pragma once
#include <string>
#include <vector>

#include "core/model/candidate.h"
#include "core/model/mep.h"

namespace kernelift {

struct GuardClause {
  std::string code;  ///< A C++ condition over grid, block, shared and a (the array of argument addresses).
  std::string text;  ///< For a person: "n == 2048".
};

struct ShapeGuard {
  std::vector<GuardClause> clauses;
  std::vector<std::string>
      types;  ///< Per parameter the type that it must have, as C++ spells it; or empty: any of its size.
  std::vector<GuardClause> macros;     ///< Conditions of the preprocessor: how the application was compiled.
  bool any_arguments = false;          ///< It holds whatever the grid and the arguments are.
  std::vector<std::string> unguarded;  ///< What could not be put into a clause: "the members of 'p'".
};

/// Refuses a kernel whose instances cannot be told apart by what a launch site knows.
Result<ShapeGuard> shape_guard(const Mep& mep, const std::string& original, const Candidate& candidate);

/// The candidate computes what the original does by construction: it is the same source, compiled otherwise.
bool is_only_recompiled(const Mep& mep, const std::string& original, const Candidate& candidate);

}  // namespace kernelift
