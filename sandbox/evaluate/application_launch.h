// The application's launches of a kernel, for every size: what their sites say of them, over the kernel's parameters.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/legality/legality.h"
#include "core/model/mep.h"

namespace kernelift::sandbox {

struct ApplicationLaunch {
  legality::LaunchShape shape;
  std::string place;  ///< "the launch at line 41"; for people.
  /// Pairs of pointer arguments that have been given one address, by its text or as recorded.
  std::set<std::pair<size_t, size_t>> one_memory = {};
  /// Bytes of dynamic shared memory, over the kernel's parameters; nullopt: they are not known.
  std::optional<Expression> shared = Expression::constant(0);
  /// Whatever is known of a candidate at one is known of it at the other.
  bool asks_the_same(const ApplicationLaunch& other) const {
    return shape.block == other.shape.block && shape.grid == other.shape.grid &&
           shape.grid_where == other.shape.grid_where && one_memory == other.one_memory && shared == other.shared;
  }
};

/// One for each launch site and recorded block. Where no site is known, of the recorded blocks and any grid.
std::vector<ApplicationLaunch> launches_of(const Mep& mep);
/// That a launch has one of the recorded blocks, which alone are compared; nullopt: every launch site is known, and its
/// block is one of them.
std::optional<Expression> has_recorded_block(const Mep& mep);

/// The kernel's parameter among a model's variables: "arg.a2".
std::string model_argument(size_t index);
/// A grid with the members that it is computed from as the model's variables; as a number of blocks that is not known
/// where it is computed from one that the model does not know.
legality::LaunchShape over_members(legality::LaunchShape shape, const std::vector<KernelModel::Member>& members);
/// The blocks along an axis where no launch site says how many: one, where every recorded launch has one; else a number
/// that is not known, the same for both sides.
Expression unknown_grid(const Mep& mep, int axis);
/// The shape where nothing is known of the grid.
legality::LaunchShape of_any_grid(const Mep& mep, legality::LaunchShape shape);

}  // namespace kernelift::sandbox
