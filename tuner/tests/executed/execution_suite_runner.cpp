// Prints what became of the rewrites of the suites' kernels.
// `rule_suite [--kernel NAME] [--rule NAME] [--steps N] [--of N] [--jobs N] [--all] [--judge] [--verbose]`: a line for
// each rewrite that is not equal, or for all (with what the comparison for all sizes says), and the table. `rule_suite
// --variants`: wrong variants that no execution shows. `rule_suite --offers`: what is offered, for each kernel and
// by rule, as tables in Markdown (docs/verification.md).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tuner/tests/executed/execution_suite.h"

int main(int count, char** arguments) {
  using namespace kernelift;
  tuner::ExecutionOptions options;
  options.jobs = std::max(1U, std::thread::hardware_concurrency());
  bool every = false, variants = false, offers = false;
  for (int i = 1; i < count; ++i) {
    auto is = [&](const char* name) { return std::strcmp(arguments[i], name) == 0; };
    if (is("--all")) every = true;
    else if (is("--judge")) options.judge = true;
    else if (is("--variants")) variants = true;
    else if (is("--offers")) offers = options.judge = true;
    else if (is("--verbose")) options.verbose = true;
    else if (i + 1 == count) return std::fprintf(stderr, "%s needs a value\n", arguments[i]), 2;
    else if (is("--kernel")) options.kernel = arguments[++i];
    else if (is("--rule")) options.rule = arguments[++i];
    else if (is("--steps")) options.steps = std::atoi(arguments[++i]);
    else if (is("--jobs")) options.jobs = static_cast<unsigned>(std::atoi(arguments[++i]));
    else if (is("--of")) options.of = static_cast<unsigned>(std::atoi(arguments[++i]));
  }
  auto kernels = legality::read_suite(KERNELIFT_SUITE);
  for (auto& kernel : legality::read_suite(KERNELIFT_EXECUTED_KERNELS)) kernels.push_back(std::move(kernel));
  if (variants) {
    for (auto& kernel : kernels)
      if (options.kernel.empty() || kernel.name == options.kernel)
        for (auto& missed : tuner::wrong_variants_not_seen(kernel)) std::printf("%s\n", missed.c_str());
    return 0;
  }
  bool failed = false;
  const auto all = tuner::execute(kernels, options);
  if (offers) return std::printf("%s", tuner::offers(kernels, all).c_str()), 0;
  for (auto& one : all) {
    failed |= one.fate == tuner::Fate::Unnoticed || one.fate == tuner::Fate::Broken;
    if (every || one.fate != tuner::Fate::Equal)
      std::printf("%s: %s: %s\n    %s\n", tuner::name(one.fate), one.kernel->name.c_str(),
                  one.rewrite.candidate.note().c_str(), one.why.c_str());
  }
  std::printf("\n%s", tuner::table(all).c_str());
  return failed ? 1 : 0;
}
