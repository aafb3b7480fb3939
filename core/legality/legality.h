// Whether a candidate's launch does with memory what the original's does, for every size: not only for those that were
// recorded. Both kernels are given as models (core/model/kernel_model.h), with their blocks, and with their grids as
// expressions of the parameters. Sets and relations are isl's, with a bounded number of operations.
//
// Asked, for all values of the parameters for which the original stays inside its arrays:
//   the candidate touches nothing that the original does not, in any object
//   it writes the same elements, and changes the same by atomic operations
//   no two of its threads write one element, or one writes what another reads, unless two of the original's do
//   it stays inside every array of fixed extent (shared and local ones, module variables)
//   all threads of a block reach each barrier, or none
//   it reads all that the original reads of memory that is not written: what it does not read may be a lost term, so
//   that sizes for which it reads less are none for which it is proven
// That values are right is no part of the answer, unless both sides are the same code under the same launch, which
// nothing else is asked about. Arguments are assumed to point to different memory.
#pragma once
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/legality/index/instance_text.h"
#include "core/model/kernel/kernel_model.h"

namespace kernelift::legality {

struct Side {
  const KernelModel& model;
  LaunchShape launch;
};

using Names = VariableNames;

struct Assumption {
  enum class Kind {
    DifferentMemory,  ///< What `arguments` point to does not overlap: some of it is written.
    Aligned,          ///< The one argument is a multiple of `bytes`, which the original does not need.
  };
  Kind kind = Kind::DifferentMemory;
  std::vector<std::string> arguments;  ///< "arg.a0"
  uint64_t bytes = 0;
  bool operator==(const Assumption&) const = default;
};
/// "x, out point to different memory"
std::string to_text(const Assumption& assumption, const Names& names);

struct Answer {
  enum class Kind {
    Proven,        ///< For all sizes.
    UnderPremise,  ///< For all sizes for which `premise` holds; `why` is an example of the others, or says why they
                   ///< are not known.
    Refuted,       ///< For no size, or for some that no premise describes: `why`.
    NotKnown,      ///< `why` names what made it so.
  };
  Kind kind = Kind::NotKnown;
  std::optional<Expression> premise;  ///< Over the model's parameters.
  std::string why;                    ///< "n = 1152: thread 128 of block 1 writes out[1152], which …"
  unsigned line = 0;                  ///< Of the candidate's source, that `why` is about; 0: none.
  Bindings example;                   ///< Values of the parameters for which it is wrong.
  /// What a proof takes for granted, besides that no index of 32 bits or more overflows; empty where nothing is proven.
  std::vector<Assumption> assumptions = {};
  bool same_values = false;     ///< Proven of values, too: of equal code, and see compare_launches().
  bool wrong_elsewhere = true;  ///< Where a premise does not hold it can be wrong; false: nothing is known of it.
  /// Of what is not known: values in memory say whether threads meet in an element that the original's never share.
  std::string may_race = {};
};

/// What an analysis may take; one that takes more ends as NotKnown.
struct Bounds {
  unsigned long operations = 2'000'000;  ///< isl's, for one question.
  double seconds = 3;                    ///< Of processor time, for all questions.
  std::stop_token stop = {};             ///< The answer is no longer of interest.
};

Answer compare_memory(const Side& original, const Side& candidate, const Names& names = {}, Bounds bounds = {});

/// Of one kernel under two launches: whether every thread that does anything computes what a thread of the original
/// does, bit by bit. Refuted: a stored integer depends on the block's size. Not known where threads exchange values.
/// EXPECTS: both models are of the same text. That the memory is the same is compare_memory()'s question.
Answer compare_values_of_launches(const Side& original, const Side& candidate, const Names& names = {},
                                  Bounds bounds = {});

/// Both questions about one kernel under two launches. Threads that compute the same touch the same, whatever their
/// indices are; what is not known of values leaves what is known of memory.
Answer compare_launches(const Side& original, const Side& candidate, const Names& names = {}, Bounds bounds = {});

}  // namespace kernelift::legality
