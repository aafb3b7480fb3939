// What came of running a finalist beside the original at sizes that were not recorded (sandbox/evaluate/runner/sizes/
// size_runs.h). Some sizes are drawn at random and kept from proposers of candidates, which could fit to them: a
// verdict's own texts do not name those, only this does, for people.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/launch/expression.h"

namespace kernelift {

/// How a launch differs from the recorded one of which it has the memory.
struct OtherSize {
  std::string instance;  ///< The recorded launch.
  Bindings values;       ///< New values of integer arguments, by the kernel's parameters: {"n": 1151}.
  std::string pointers;  ///< What was done to other arguments: "in and out one element further"; empty: nothing.
  auto operator<=>(const OtherSize&) const = default;
  std::string text() const;  ///< "n = 1151"
};

struct SizesRun {
  struct Dropped {
    OtherSize size;
    std::string why;  ///< "the original does not repeat its result there"
  };
  std::vector<OtherSize> right;    ///< Sizes at which it was right.
  std::vector<OtherSize> unshown;  ///< The same, of sizes that proposers are not shown.
  std::vector<Dropped> dropped;    ///< Sizes at which the original is no reference.
  uint64_t beyond_premise = 0;     ///< Sizes at which OtherSizes::premise does not hold: they were not run.
  uint64_t seed = 0;               ///< By which `unshown` were drawn.
  std::string left_out;            ///< Why no sizes were run, or fewer than there should be, as a clause; or empty.
  /// Of one that is wrong: at which size, and what was found there: "out[1150] expected 2, got 1".
  struct Wrong {
    OtherSize size;
    bool shown = true;  ///< To proposers.
    std::string found;
  };
  std::optional<Wrong> wrong = {};  ///< The first ends the runs.

  /// For a person: "right at 9 other sizes (n = 1, 31, …, 4095) and at 3 that are not shown to proposers".
  std::string text() const;
};

/// "n = 1, 31, 33" where one argument changes; else one by one: "w = 1, h = 7; w = 31". A size of several recorded
/// launches counts once.
std::string to_text(const std::vector<OtherSize>& sizes);

Json to_json(const OtherSize&);
Json to_json(const SizesRun&);
/// Malformed JSON is an exception: to be called within reading() (core/base/json.h).
OtherSize other_size_from_json(const Json&);
SizesRun sizes_run_from_json(const Json&);

}  // namespace kernelift
