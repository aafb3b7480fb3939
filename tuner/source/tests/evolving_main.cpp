// A process that tunes by a model in memory into a run file, and kills itself: to be resumed by killed_evolution_test.
// Usage: evolving MEP_FOLDER RUN_FILE EVALUATIONS [KILL_AT]: kill -9 as soon as so many candidates are stored.
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "tuner/source/tests/evolving_model.h"
#include "tuner/tests/fakes/mep_folder.h"
#include "tuner/tuner.h"

int main(int count, char** arguments) {
  using namespace kernelift;
  using namespace kernelift::tuner;
  if (count < 4) return 2;
  const std::filesystem::path folder = arguments[1], file = arguments[2];
  const Mep mep = MepFolder().mep;
  auto run = std::filesystem::exists(file) ? Run::resume(file) : [&] {
    RunMeta meta;
    meta.mep_hash = *hash_mep(folder, mep), meta.seed = 7;
    return Run::create(file, meta);
  }();
  if (!run.ok()) return std::puts(run.error().message.c_str()), 3;
  LlmOptions options = evolving_options(file.parent_path());
  options.seed = run->meta().seed, options.most_calls = 80;
  options.state.known = *run->states();
  options.state.keep = [&](const std::string& key, const std::string& value) { (void)run->put_state(key, value); };
  auto proposer = LlmProposer::create(mep, options);
  if (!proposer.ok()) return std::puts(proposer.error().message.c_str()), 3;
  std::vector<std::unique_ptr<Proposer>> proposers;
  proposers.push_back(*std::move(proposer));
  FakeEvaluator evaluator(evolving_verdict);
  TuneOptions tuning;
  tuning.evaluations = std::atoi(arguments[3]);
  const size_t kill_at = count > 4 ? std::strtoul(arguments[4], nullptr, 10) : 0;
  tuning.progress = [&](const Progress& progress) {
    if (kill_at > 0 && progress.tried >= kill_at && progress.message.empty()) raise(SIGKILL);
  };
  auto report = tune(mep, folder, evaluator, *run, std::move(proposers), tuning);
  return report.ok() ? 0 : (std::puts(report.error().message.c_str()), 3);
}
