// Sizes that were not recorded, at which a finalist is run beside the original: for the smallest recorded launches, and
// each integer argument, or member of a structure, that a launch's grid or the kernel's conditions depend on, sizes
// around the recorded one, at the edges of blocks, tiny ones, and some at random. The grid is that of the application's
// launch site, or the recorded one where no site says it. Arguments that the site computes from the same variable
// follow it. Further launches take other branches: an argument or member that is compared with a constant has that
// value and those beside it, a pointer that is compared with null is null or is not, an argument is what another launch
// site passes, one that decides no size is one more or less; one such change at a time, and several together at random.
// And further ones have every pointer one element further, as none of them need be a multiple of more than its type
// asks for, or the same memory twice, as a caller passes it.
//
// Recorded memory has room for smaller sizes only; larger ones ask for memory that has grown. Pure: nothing is read or
// run.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "core/model/candidate/candidate.h"
#include "core/model/kernel/kernel_model.h"
#include "core/model/mep.h"
#include "sandbox/evaluate/runner/sizes/sized_instance.h"

namespace kernelift::sandbox {

struct SizeQuestion {
  const Candidate& candidate;
  std::set<size_t> conditions = {};        ///< Parameters that the kernel's conditions depend on.
  KernelModel::Compared compared = {};     ///< Of original and candidate.
  std::optional<Expression> premise = {};  ///< OtherSizes::premise: sizes that do not fulfil it are left out.
  std::set<size_t> aligned = {};           ///< Pointers whose alignment a patched launch asks: these are not moved.
  uint64_t seed = 0;                       ///< Of the sizes at random, which proposers are not shown.
  /// For each recorded launch what it gave the variables of the premise; a size's own arguments come before.
  std::vector<Bindings> recorded = {};
  std::vector<KernelModel::Member> members = {};  ///< Of structures that the kernel gets by value.
  /// The original's threads ask how many blocks there are, as grid-stride loops do: then the recorded number of blocks
  /// serves for larger sizes, too. Another kernel would leave a part of them undone.
  bool asks_grid = false;
};

SizePlan plan_sizes(const Mep& mep, const SizeQuestion& question);

/// Some launch site says how many blocks a recorded launch has along these axes, so that it says that of other sizes,
/// too.
bool knows_launches(const Mep& mep, const std::set<int>& axes, const std::vector<KernelModel::Member>& members = {});

}  // namespace kernelift::sandbox
