// A process that tunes into a run file on a slow fake evaluator, to be killed at any moment by crash_test.
// Usage: slow_tuning MEP_FOLDER RUN_FILE EVALUATIONS; prints one line per stored candidate.
#include <cstdio>
#include <cstdlib>

#include "tuner/compiler/flag_proposer.h"
#include "tuner/compiler/pass_proposer.h"
#include "tuner/tests/fakes/fake_evaluator.h"
#include "tuner/tuner.h"

int main(int count, char** arguments) {
  using namespace kernelift;
  using namespace kernelift::tuner;
  if (count != 4) return 2;
  std::filesystem::path folder = arguments[1], file = arguments[2];
  Mep mep;
  auto run = std::filesystem::exists(file) ? Run::resume(file) : [&] {
    RunMeta meta;
    meta.mep_hash = *hash_mep(folder, mep);
    return Run::create(file, meta);
  }();
  if (!run.ok()) return std::puts(run.error().message.c_str()), 3;
  FakeEvaluator evaluator([](const Candidate& candidate) { return fake_ok(candidate.recipe.is_default() ? 1 : 1.01); },
                          4, std::chrono::milliseconds(10));
  std::vector<std::unique_ptr<Proposer>> proposers;
  proposers.push_back(std::make_unique<FlagProposer>("random", 1));
  proposers.push_back(std::make_unique<PassProposer>(1));
  TuneOptions options;
  options.evaluations = std::atoi(arguments[3]);
  options.progress = [](const Progress& progress) {
    std::printf("%zu\n", progress.tried);
    std::fflush(stdout);
  };
  auto report = tune(mep, folder, evaluator, *run, std::move(proposers), options);
  if (!report.ok()) return std::puts(report.error().message.c_str()), 3;
  return 0;
}
