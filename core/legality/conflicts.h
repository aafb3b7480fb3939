// Where two threads of a launch touch one element, at least one of them writes, and no barrier orders them.
#pragma once
#include <optional>
#include <vector>

#include "core/legality/footprint.h"

namespace kernelift::legality {

struct Conflict {
  const Touch* a = nullptr;
  const Touch* b = nullptr;
  isl::map pairs;  ///< Elements of a to those of b, as Touch::elements() has them.
  /// Two threads surely conflict; otherwise they may.
  bool certain = false;
  /// Those of surely different threads that surely no barrier orders: one thread's iterations of a grid-stride loop
  /// look like several threads, and of some barriers it is not known which threads reach them. The others excuse
  /// nothing.
  isl::map unordered = {};
};

enum class Order {
  Free,    ///< Sums by atomic operations come to the same in any order.
  Counts,  ///< Not where they round.
};
/// An atomic sum of floats.
bool rounds(const KernelModel::Access& access);

/// The conflicts in one object: between any threads (Grid), or those of a block. nullopt: isl gave up.
std::optional<std::vector<Conflict>> conflicts(Setting& setting, const Side& side, const std::vector<Touch>& touches,
                                               size_t subscripts, InstanceText::Scope scope, Order order = Order::Free);

/// Whether two stores of the candidate, whichever comes last, leave what these two of the original may leave.
bool leave_the_same(const Side& original, const Side& candidate, const Conflict& ours, const Touch& a, const Touch& b);

/// "one thread reads in line 4 what another writes in line 7, in out"
std::string meeting(const Conflict& conflict, const std::string& name);

/// Each thread touches one element of the object at most, and which one is known.
bool one_element_a_thread(const std::vector<Touch>& touches);

/// Whether values in memory, and not only conditions, say which element is touched.
bool chosen_by_memory(const Conflict& conflict);

}  // namespace kernelift::legality
