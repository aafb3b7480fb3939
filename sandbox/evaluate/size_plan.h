// Sizes that were not recorded, at which a finalist is run beside the original: for the smallest recorded launches, and
// each integer argument, or member of a structure, that a launch's grid or the kernel's conditions depend on, sizes
// around the recorded one, at the edges of blocks, tiny ones, and some at random. The grid is that of the application's
// launch site. Arguments that the site computes from the same variable follow it. Further launches take other branches:
// an integer that is compared with a constant has that value and those beside it, and numbers of floating point have
// others. And further ones have every pointer one element further, as none of them need be a multiple of more than its
// type asks for, or the same memory twice, as a caller passes it.
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
  std::set<size_t> conditions = {};                   ///< Parameters that the kernel's conditions depend on.
  std::map<size_t, std::set<int64_t>> compared = {};  ///< KernelModel::compared, of original and candidate.
  std::optional<Expression> premise = {};  ///< OtherSizes::premise: sizes that do not fulfil it are left out.
  std::set<size_t> aligned = {};           ///< Pointers whose alignment a patched launch asks: these are not moved.
  uint64_t seed = 0;                       ///< Of the sizes at random, which proposers are not shown.
  /// For each recorded launch what it gave the variables of the premise; a size's own arguments come before.
  std::vector<Bindings> recorded = {};
  std::vector<KernelModel::Member> members = {};  ///< Of structures that the kernel gets by value.
};

SizePlan plan_sizes(const Mep& mep, const SizeQuestion& question);

/// Some launch site says how many blocks a recorded launch has along these axes, so that it says that of other sizes,
/// too.
bool knows_launches(const Mep& mep, const std::set<int>& axes, const std::vector<KernelModel::Member>& members = {});

}  // namespace kernelift::sandbox
