// The conditions under which embedded code may run instead of the original: those under which it was verified. Only the
// recorded instances are known, so the guard requires what they have in common. Code with the original's source that
// was only compiled differently computes the same for all arguments: its guard requires the block size alone. A changed
// source may rely on anything that no instance contradicted: its guard requires one of the recorded grids, the scalars
// recorded with that grid (a value, or range and divisibility), the alignment of pointers, and the recorded relation
// of their memory: disjoint, or at the same distance. One that is settled at all sizes (evidence.h) requires the block
// size and what a patch of the source would ask; what its proof takes for granted is named.
#pragma once
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "reintegrate/embed/tested_macros.h"
#include "reintegrate/patch/launch/launch_guard.h"

namespace kernelift::reintegrate {

struct GuardClause {
  std::string code;  ///< A C++ condition over grid, block, shared and a (the array of argument addresses).
  std::string text;  ///< The condition in readable form: "n == 2048".
};

struct ShapeGuard {
  std::vector<GuardClause> clauses;
  std::vector<std::string> types;      ///< Required C++ type of each parameter; empty: any type of its size.
  std::vector<GuardClause> macros;     ///< Preprocessor conditions: the macros that the application was compiled with.
  bool any_arguments = false;          ///< The guard holds for every grid and all arguments.
  std::vector<std::string> unguarded;  ///< Assumptions that no clause can express: "the members of 'p'".
};

/// Refuses a kernel without recorded launches, and launches that the launcher cannot make (cooperative, cluster, …).
/// `asked`: PatchQuestion::guard, which becomes a clause; refused where it names what the launcher does not have.
/// `settled`: PatchQuestion's. `tested`: of all functions that the kernel runs.
Result<ShapeGuard> shape_guard(const Mep& mep, const std::string& original, const Candidate& candidate,
                               const LaunchGuard& asked = {}, const OtherSizes* settled = nullptr,
                               const TestedMacros& tested = {});

/// True if the candidate is the original source, compiled differently: it computes the same by construction.
bool is_only_recompiled(const Mep& mep, const std::string& original, const Candidate& candidate);

}  // namespace kernelift::reintegrate
