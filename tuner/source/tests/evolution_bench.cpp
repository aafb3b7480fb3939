// What evolution itself costs for each answer of a model, beside the model and the judge, as a run grows.
//   build/<preset>/bin/evolution_bench [candidates]
// Limit: 50 ms for an answer in a run of 10 000 candidates. Prompts, transcripts and the findings' file are written;
// the run's database is not.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>

#include "tuner/source/tests/evolving_model.h"
#include "tuner/tests/fakes/mep_folder.h"

namespace kernelift::tuner {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

int run(size_t most) {
  MepFolder mep;
  auto folder = *TemporaryFolder::create("evolution");
  auto proposer = LlmProposer::create(mep.mep, evolving_options(folder.path()));
  if (!proposer.ok()) return std::puts(proposer.error().message.c_str()), 1;
  History history;
  Candidate original;
  original.source = *read_text(mep.folder.path() / "kernel.cu"), original.tier = "baseline";
  history.add({1, original, fake_ok(1), {}, {}, 0});
  std::printf("candidates   ms per answer: median   99 %%   worst\n");
  std::vector<double> costs;
  size_t tried = 0, report_at = 100;
  while (tried < most) {
    // Everything but the time for which the proposer waits for a thread of the model.
    double cost = 0;
    std::vector<Proposal> proposals;
    for (;;) {
      const auto begin = Clock::now();
      proposals = (*proposer)->propose(history, 1);
      cost += milliseconds_since(begin);
      (*proposer)->take_notes();
      if (!proposals.empty() || !(*proposer)->waiting()) break;
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (proposals.empty()) return std::printf("ended: %s\n", (*proposer)->closing_note().c_str()), 1;
    const auto begin = Clock::now();
    for (auto& proposal : proposals) {
      const Verdict verdict = evolving_verdict(proposal.candidate);
      (*proposer)->learn(history.add({static_cast<int64_t>(history.size()) + 1,
                                      std::move(proposal.candidate),
                                      verdict,
                                      {},
                                      std::move(proposal.parents),
                                      0}));
      ++tried;
    }
    costs.push_back(cost + milliseconds_since(begin));
    if (tried < report_at && tried < most) continue;
    std::ranges::sort(costs);
    std::printf("%10zu %23.2f %6.2f %7.2f\n", tried, costs[costs.size() / 2], costs[costs.size() * 99 / 100],
                costs.back());
    std::fflush(stdout);
    costs.clear();
    report_at *= report_at < 1000 ? 10 : 2;
  }
  return 0;
}

}  // namespace
}  // namespace kernelift::tuner

int main(int count, char** arguments) {
  return kernelift::tuner::run(count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 10'000);
}
