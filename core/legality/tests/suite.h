// The suite of kernels with right and wrong rewrites (suite/*.cu): reads its files, makes the models of each variant,
// and compares. One file holds one kernel, in lines that begin with `//! `:
//
//   original | block 128 | grid ceil_div(n, 128)
//   right block: doubled | block 256 | grid ceil_div(n, 256)
//   right vector: four at once | text vectors | grid ceil_div(n, 512) | if n % 4 == 0
//   wrong guard: dropped | at n=100 | `if (i < n) ` -> ``
//   values sum: the last term lost | `+ x[2]` -> ``
//   text vectors
//
// Fields that a variant leaves out are the original's. `a` -> `b` replaces all of a, and must find it. `text` names one
// of the texts that follow the original's, each after a line `text NAME`. `at` gives sizes for which a wrong variant is
// wrong: a premise may not hold there. `if`: the variant is right where that holds only. `values`: the variant is
// wrong, and touches the same memory. What an execution of the original needs: `at` gives sizes, of which `fixed` ones
// stay, and arrays that are `permuted` hold 0, 1, 2 … in some order. The results of an `unordered` one depend on which
// thread comes first.
#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/legality/legality.h"

namespace kernelift::legality {

struct Variant {
  enum class Label { Right, Wrong, Values };
  Label label = Label::Right;
  std::string kind, what;
  std::string text;  ///< The whole source.
  LaunchShape launch;
  std::optional<Expression> holds_if;  ///< Over the model's variables, as `at` is.
  std::vector<Bindings> at;
  bool same_text = false;  ///< It differs from the original by its launch alone.
};

struct SuiteKernel {
  std::string name;  ///< Of the file.
  std::string text;
  LaunchShape launch;
  Names names;                  ///< "arg.a2" to "n".
  Bindings recorded;            ///< Sizes at which it can be executed, where ordinary ones do not suit it.
  std::set<std::string> fixed;  ///< Sizes that are the same in all executions: "arg.a4".
  bool unordered = false;
  std::set<std::string> permuted;  ///< Arrays of integers no two of which are equal, by their names.
  std::vector<Variant> variants;
};

/// A file that does not follow the format ends the program with a message: the suite is part of the tests.
std::vector<SuiteKernel> read_suite(const std::filesystem::path& folder, const std::string& only = "");

/// The model of the only kernel in the source.
KernelModel suite_model(const std::string& source, const Dim3& block);

struct Judged {
  const SuiteKernel* kernel = nullptr;
  const Variant* variant = nullptr;
  Answer memory;
  std::optional<Answer> values;  ///< Only of the same text under another launch.
  double milliseconds = 0;       ///< Processor time of the candidate's model and the comparison of memory.
  /// Empty: the answer agrees with the label. Otherwise what is wrong with it.
  std::string fault;
  /// A wrong variant was refuted or excluded by its premise; a right one proven, with or without premise.
  bool settled = false;
};

std::vector<Judged> judge_suite(const std::vector<SuiteKernel>& kernels);

/// One line for each kernel and each kind of variant, and the sums.
std::string table(const std::vector<Judged>& judged);

}  // namespace kernelift::legality
