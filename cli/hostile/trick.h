// One candidate of the suite, hostile or honest, as its file states it, and what must become of it.
#pragma once
#include <map>
#include <set>
#include <string>

#include "cli/hostile/suite_file.h"
#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::cli {

struct Trick {
  std::string name, kind, kernel;  ///< `kernel`: the name of a BenchKernel.
  std::string summary;             ///< What the trick is, in one sentence.
  bool honest = false;
  bool on_cpu = true, on_cuda = true;
  /// The outcomes that it may get. Honest ones: ok alone.
  std::set<Outcome> must;
  std::set<Outcome> shows;  ///< Outcomes by which it shows that it reached what it was after ("outside").
  std::string gap;          ///< Why it is not held yet; empty: it must be.
  bool may_be_ok = false;   ///< It may be ok, too, but never with a gain ("no-gain").
  /// Its text, and what else its lines say; the places that only a run knows (@PID@) are not filled in.
  Candidate candidate;

  static Result<Trick> of(const SuiteFile& file, bool honest);
  bool runs_on(bool cuda) const { return cuda ? on_cuda : on_cpu; }
  std::string must_text() const;
};

/// The candidate with the places filled in.
Candidate filled_in(const Candidate& candidate, const std::map<std::string, std::string>& places);

}  // namespace kernelift::cli
