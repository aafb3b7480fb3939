// Verified compiler-tier candidates per second on a small one-file kernel, and the false gains among equal ones.
//   build/<preset>/bin/evaluate_bench [seconds [MEP]]
// Every candidate is the same source under another recipe; a candidate counts once it has a verdict. Then fifty copies
// of the original, each measured as if it were new: none may come out as a gain. With a MEP's folder: of its kernel.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>

#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/tests/mep_fixture.h"
#include "sandbox/judge/timing/statistics.h"

namespace kernelift::sandbox {
namespace {

using Clock = std::chrono::steady_clock;

/// Recipes that differ from each other, in the same random order each time, as a compiler-tier search would draw them.
std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  for (auto level : {"O1", "O2", "O3"})
    for (bool vectorize : {true, false})
      for (int unroll : {-1, 50, 150, 400})
        for (int inlining : {-1, 25, 500})
          for (auto& fast :
               std::vector<std::vector<std::string>>{{}, {"contract"}, {"reassoc", "nsz"}, {"contract", "arcp"}}) {
            Recipe recipe;
            recipe.level = level, recipe.vectorize = vectorize, recipe.unroll_threshold = unroll;
            recipe.inline_threshold = inlining, recipe.fast_math = fast;
            all.push_back(recipe);
          }
  const char* pieces[] = {"sroa",      "gvn",         "instcombine", "simplifycfg",
                          "early-cse", "reassociate", "loop(licm)",  "loop-unroll"};
  for (auto a : pieces)
    for (auto b : pieces)
      for (auto c : pieces) {
        Recipe recipe;
        recipe.passes = std::string("function(sroa,") + a + "," + b + "," + c + ")";
        all.push_back(recipe);
      }
  std::ranges::shuffle(all, std::mt19937(1));
  return all;
}

int run(double seconds, const Mep& mep, const std::filesystem::path& folder) {
  auto source = read_text(folder / mep.kernel_file());
  if (!source.ok()) return std::fprintf(stderr, "%s\n", source.error().message.c_str()), 1;
  auto begin = Clock::now();
  auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  auto evaluator = make_evaluator(mep, folder, {});
  if (!evaluator.ok()) return std::fprintf(stderr, "%s\n", evaluator.error().message.c_str()), 1;
  std::printf("start-up: %.2f s\n", since());

  begin = Clock::now();
  std::deque<std::future<Evaluation>> flying;
  std::map<std::string, int> outcomes;
  int done = 0, gains = 0;
  double compiling = 0;
  auto collect = [&] {
    Verdict verdict = std::get<Verdict>(flying.front().get());
    flying.pop_front();
    ++done, ++outcomes[name(verdict.outcome)];
    compiling += verdict.compile_seconds;
    gains += verdict.gains();
  };
  for (auto& recipe : recipes()) {
    if (since() > seconds) break;
    Candidate candidate;
    candidate.source = *source, candidate.recipe = recipe, candidate.tier = "compiler";
    flying.push_back((*evaluator)->submit(candidate));
    if (flying.size() >= static_cast<size_t>((*evaluator)->parallelism())) collect();
  }
  while (!flying.empty()) collect();
  std::printf("compiler tier: %d verdicts in %.2f s = %.1f per second (compiling %.1f ms each), gains: %d\n", done,
              since(), done / since(), 1e3 * compiling / done, gains);
  for (auto& [outcome, count] : outcomes) std::printf("  %s: %d\n", outcome.c_str(), count);

  EvaluatorOptions unshared;
  unshared.share_measurements = false;
  auto measuring = make_evaluator(mep, folder, unshared);
  if (!measuring.ok()) return std::fprintf(stderr, "%s\n", measuring.error().message.c_str()), 1;
  begin = Clock::now();
  gains = 0;
  constexpr int kCopies = 50;
  double worst = 0;
  std::vector<double> speedups;
  for (int i = 0; i < kCopies; ++i) {
    Candidate candidate;
    candidate.source = *source + "// copy " + std::to_string(i) + "\n";
    Verdict verdict = std::get<Verdict>((*measuring)->submit(candidate).get());
    gains += verdict.gains();
    worst = std::max(worst, verdict.speedup_low());
    speedups.push_back(verdict.speedup());
  }
  std::printf(
      "%d copies of the original, each measured afresh in %.2f s: %d taken for a gain (largest lower bound %.4f, "
      "median "
      "of the ratios %.4f)\n",
      kCopies, since(), gains, worst, median(speedups));
  return gains == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kernelift::sandbox

int main(int argc, char** argv) {
  using namespace kernelift;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  if (argc <= 2) {
    sandbox::MepFixture fixture = sandbox::scale_mep(100'000);
    return sandbox::run(seconds, fixture.mep, fixture.path());
  }
  auto mep = Mep::read(argv[2]);
  if (!mep.ok()) return std::fprintf(stderr, "%s\n", mep.error().message.c_str()), 1;
  return sandbox::run(seconds, *mep, argv[2]);
}
