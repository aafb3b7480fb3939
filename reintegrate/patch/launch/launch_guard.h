// What a patched launch asks before it runs the candidate, and launches the original otherwise: whether the candidate
// is right at its size, and whether the memory that it is given is aligned as the candidate takes for granted.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"
#include "reintegrate/patch/launch/guard_arithmetic.h"

namespace kernelift::reintegrate {

class LaunchGuard {
 public:
  LaunchGuard() = default;  ///< Asks nothing.
  /// EXPECTS: premises of Premise::Kind::Holds and Aligned over the kernel's parameters by name.
  explicit LaunchGuard(std::vector<Premise> premises) : premises_(std::move(premises)) {}

  bool empty() const { return premises_.empty(); }
  /// This guard, which asks that, too.
  LaunchGuard with(Premise premise) const;
  /// This guard without what these numbers answer.
  LaunchGuard without(const Bindings& known) const;
  std::string text() const;                 ///< "n % 4 == 0 and x is a multiple of 16 bytes"
  std::set<std::string> numbers() const;    ///< The parameters of which it asks the value,
  std::set<std::string> addresses() const;  ///< and those of which it asks the alignment.
  /// As a condition of C++. What stands for each number, and for each address as an unsigned integer.
  Result<std::string> cpp(const std::map<std::string, AskedNumber>& numbers,
                          const std::map<std::string, std::string>& addresses) const;

 private:
  std::vector<Premise> premises_;
};

/// Why constants that the candidate changes cannot be changed under the guard.
std::string one_for_all_launches(const LaunchGuard& guard, const Bindings& changed);

/// Whether every launch that is known gives the kernel constants, and has a block of constants, for which the condition
/// holds: over the kernel's parameters, and blockDim.x.
bool holds_at_all_launches(const Expression& condition, const Mep& mep);

/// What is known of a candidate: the premise of its comparison for all sizes, and the alignments that this or one of
/// its steps takes for granted. Without a proof also what its steps take for granted and a launch can ask. Without what
/// holds wherever `mep` knows the kernel to be launched.
LaunchGuard guard_of(const Candidate& candidate, const Verdict& figures, const Mep& mep);

}  // namespace kernelift::reintegrate
