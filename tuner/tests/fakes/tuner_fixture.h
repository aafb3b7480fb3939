// A MEP, proposers and a run file for tests of the tuning loop, and a landscape with a known optimum.
#pragma once
#include <gtest/gtest.h>

#include "tuner/compiler/flag_proposer.h"
#include "tuner/compiler/pass_proposer.h"
#include "tuner/space/parameter_proposer.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tests/fakes/fake_time.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

namespace kernelift::tuner {

using RunStore = Run;  // testing::Test has a private Run of its own.

/// The optimum is B = 256, U = 4, O2 with contraction; U = 8 exceeds the resources.
inline Verdict landscape(const Candidate& candidate) {
  auto value = [&](const char* name, int64_t otherwise) {
    auto found = candidate.values.find(name);
    return found == candidate.values.end() ? otherwise : found->second;
  };
  int64_t block = value("B", 64), unroll = value("U", 1);
  if (unroll >= 8) return fake_failure(Outcome::OverResources);
  double speedup = 1.0 + 0.2 * (block == 256) + 0.1 * (block == 128) + 0.1 * (unroll == 2) + 0.3 * (unroll == 4);
  if (candidate.recipe.level == "O2") speedup += 0.05;
  for (auto& flag : candidate.recipe.fast_math) speedup += flag == "contract" ? 0.05 : 0;
  return fake_ok(speedup);
}

class TunerTest : public testing::Test {
 protected:
  RunMeta meta() {
    RunMeta made;
    made.mep_hash = *hash_mep(mep_.folder.path(), mep_.mep);
    return made;
  }
  std::vector<std::unique_ptr<Proposer>> proposers() {
    std::vector<std::unique_ptr<Proposer>> all;
    all.push_back(std::make_unique<ParameterProposer>(mep_.mep, "portfolio", 1));
    all.push_back(std::make_unique<FlagProposer>("portfolio", 1));
    all.push_back(std::make_unique<PassProposer>(1));
    return all;
  }
  /// The search is given these seconds of that time, from now on.
  void begin(double seconds, FakeTime& time) {
    options_.seconds = seconds, options_.clock = time.clock(), options_.started = time.now();
  }
  Result<TuneReport> tune_into(RunStore& run, Evaluator& evaluator) {
    return tune(mep_.mep, mep_.folder.path(), evaluator, run, proposers(), options_);
  }

  MepFolder mep_;
  TemporaryFolder folder_ = *TemporaryFolder::create("tuner");
  std::filesystem::path file_ = folder_.path() / "k-1.klrun";
  TuneOptions options_;
};

}  // namespace kernelift::tuner
