// The library of patterns around one search: what it offers to the kernel, what the run keeps of that, and what the
// library learns. Nothing here ends a search: a library that cannot be read or written is named in a note.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "cli/verb.h"
#include "core/model/evaluator.h"
#include "core/model/mep.h"
#include "tuner/inherit/pattern_proposer.h"

namespace kernelift::cli {

class PatternSession {
 public:
  /// `named`: the file that the user names, "none", or empty for the user's own and the one that Kernelift comes with.
  PatternSession(const Context& context, const std::string& named, const Mep& mep);

  /// What the library offers; null: no library is used. `evaluations`: the search's limit, 0 without one.
  std::shared_ptr<tuner::InheritedPatterns> inherit(Evaluator& evaluator, const std::string& architecture,
                                                    tuner::Bound bound, int64_t evaluations);
  /// Writes to the run what was inherited, and to the user's library what came of it and what the run found.
  Status keep(tuner::Run& run) const;

 private:
  tuner::PatternLibrary library() const;

  const Context& context_;
  const Mep& mep_;
  std::filesystem::path file_;  ///< Is read and written; empty: none.
  bool shipped_ = false;        ///< What Kernelift comes with is read, too.
  std::shared_ptr<tuner::InheritedPatterns> inherited_;
};

}  // namespace kernelift::cli
