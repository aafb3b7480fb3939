// What a rewrite or a proof takes for granted of launches that were not recorded. Labels, guards, tests and the report
// are made from it.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/launch/expression.h"

namespace kernelift {

struct Premise {
  enum class Kind {
    Words,      ///< Nothing that a launch could ask.
    Holds,      ///< `condition` is unequal 0.
    NoOverlap,  ///< The memory of any two `arguments` does not overlap; of a single one, with that of no other.
    Aligned,    ///< The address in `arguments[0]` is a multiple of `bytes`.
  };
  std::string words = {};  ///< A clause, of Kind::Words.
  size_t launches = 0;     ///< Number of recorded launches, all of which fulfil it; 0: the recording does not show it.
  Kind kind = Kind::Words;
  /// Over names of the kernel's text, with C's values, and `gridDim.x`, `blockDim.x` … of the application's own launch.
  Expression condition = {};
  std::vector<std::string> arguments = {};  ///< By their names in the kernel's text.
  uint64_t bytes = 0;

  static Premise holds(Expression condition, size_t launches = 0);
  static Premise no_overlap(const std::set<std::string>& arguments, size_t launches = 0);
  static Premise aligned(std::string argument, uint64_t bytes, size_t launches = 0);

  /// A clause: "x and y do not overlap", "n > 0".
  std::string text() const;
  /// ", as in all 3 recorded launches", ", as in the recorded launch"; empty where the recording does not show it.
  std::string seen() const;
  /// Whether a launch can ask it that knows these names: those of the kernel's parameters.
  bool askable(const std::set<std::string>& parameters) const;
  bool operator==(const Premise&) const = default;
};

/// "x", "x and y", "x, y and z".
std::string listed(const std::vector<std::string>& names);

Json to_json(const Premise&);
/// Throws as nlohmann's functions do, for reading(). A premise of earlier versions is a text.
Premise premise_from_json(const Json&);

}  // namespace kernelift
