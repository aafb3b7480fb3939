// What is known of a candidate at sizes that were not recorded: its launches and the original's, at every launch site
// of the application, compared for all values of the kernel's parameters (core/legality).
#pragma once
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/legality/legality.h"
#include "core/model/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/size_plan.h"

namespace kernelift::sandbox {

class SizeComparison {
 public:
  /// EXPECTS: `pool` outlives this. `source`: the kernel's own text.
  /// `seed`: of sizes that are drawn; none: another one each time.
  SizeComparison(const Mep& mep, CompilePool& pool, std::string source, std::optional<uint64_t> seed = {});

  /// The least that holds at any launch site. Thread-safe; takes some ten milliseconds for a text that is new.
  legality::Answer answer(const Candidate& candidate);
  /// The evaluation of a finalist with that answer: one that is wrong at other sizes is not right.
  Evaluation judged(Evaluation evaluation, const Candidate& candidate);
  /// The same in a thread of its own.
  std::future<Evaluation> ask(Evaluation evaluation, Candidate candidate);
  /// The sizes at which a finalist is to be run (size_plan.h): not those that its premise keeps from it.
  SizePlan sizes_to_run(const Candidate& candidate);

 private:
  struct Launch {
    legality::LaunchShape shape;
    std::string place;  ///< "the launch at line 41"; for people.
    /// Pairs of pointer arguments that have been given one address, by its text or as recorded.
    std::set<std::pair<size_t, size_t>> one_memory = {};
  };
  using Modelled = Result<std::shared_ptr<const KernelModel>>;

  /// The parameters that conditions of the original, or its loops, depend on.
  std::set<size_t> conditions();
  Modelled model(const std::string& source, const Dim3& block);
  legality::Answer compare(const Candidate& candidate, const Launch& launch);

  const Mep mep_;
  CompilePool& pool_;
  std::string source_;
  std::vector<Launch> launches_;  ///< Of the application, one for each site and recorded block.
  legality::Names names_;
  const uint64_t seed_;
  std::mutex mutex_;
  std::map<std::pair<Hash, Dim3>, Modelled> models_;
  std::map<Hash, legality::Answer> answers_;  ///< By source and launches.
};

}  // namespace kernelift::sandbox
