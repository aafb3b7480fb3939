// Rewrites are executed: for the kernels of the suites, what the rules and the parameter tier offer runs beside the
// original on the CPU device, at recorded sizes and around them, and all memory is compared. Where a rewrite differs,
// the comparison for all sizes (core/legality) must say so.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/legality/tests/suite.h"
#include "tuner/tests/executed/rewrites.h"

namespace kernelift::tuner {

enum class Fate {
  Equal,        ///< At all sizes.
  SeenWrong,    ///< It differs at the recorded sizes, where every candidate is verified.
  JudgedWrong,  ///< It differs at sizes for which the comparison refutes it, or its premise does not hold.
  NotKnown,     ///< It differs, and the comparison does not know.
  Unnoticed,    ///< It differs, and the comparison says that it is right there.
  Broken,       ///< Its text does not compile.
  NotRun,       ///< The CPU device cannot run it.
};

struct Executed {
  const legality::SuiteKernel* kernel = nullptr;
  Rewrite rewrite;
  Fate fate = Fate::Equal;
  int sizes = 0;                                      ///< At which it ran.
  std::string why;                                    ///< "n = 300: out[5]: 2 in place of 1; proven for all sizes".
  std::optional<legality::Answer::Kind> answer = {};  ///< Of the comparison for all sizes, where it was asked.
};

struct ExecutionOptions {
  std::string kernel = {}, rule = {};  ///< Only these; empty: all.
  /// Rewrites of rewrites, up to so many steps; of each step's rewrites one in `of` goes on.
  int steps = 1;
  unsigned of = 1;       ///< Every so many-th rewrite is executed.
  bool verbose = false;  ///< Prints each rewrite before it is run.
  unsigned jobs = 1;     ///< Kernels at a time, each in a thread of its own.
  bool judge = false;    ///< Asks the comparison for all sizes about rewrites that are equal, too.
};

std::vector<Executed> execute(const std::vector<legality::SuiteKernel>& kernels, const ExecutionOptions& options);

/// Of the suite's wrong variants of the kernel those that no execution tells from the original.
std::vector<std::string> wrong_variants_not_seen(const legality::SuiteKernel& kernel);

/// One line for each rule: how many opportunities had which fate.
std::string table(const std::vector<Executed>& all);
const char* name(Fate);
/// Markdown: for each kernel the block sizes and rules that are offered, by what the comparison says of them, and what
/// of it is wrong when it is run; and the same by rule, in numbers. EXPECTS: executed with `judge`.
std::string offers(const std::vector<legality::SuiteKernel>& kernels, const std::vector<Executed>& all);

}  // namespace kernelift::tuner
