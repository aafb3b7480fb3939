// The comparison's answers against counting, for small sizes drawn at random.
#include "core/legality/tests/oracle.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/legality/tests/suite.h"

namespace kernelift::legality {
namespace {

/// Sizes at which blocks and tiles end, some of them 0 and below.
constexpr int64_t kSizes[] = {-3, 0, 1, 2, 5, 7, 8, 15, 16, 17, 20, 31, 33, 36, 64, 100, 127, 128, 129, 200, 257};
constexpr int kTrials = 4;  ///< Sizes for each variant.

std::set<std::string> parameters(const Side& side) {
  std::set<std::string> names;
  auto add = [&](const Expression& expression) {
    for (auto& name : expression.variables())
      if (name.starts_with("arg.")) names.insert(name);
  };
  for (auto& access : side.model.accesses) add(access.offset), add(access.domain);
  for (auto& term : side.model.terms)
    for (auto& argument : term.arguments) add(argument);
  for (auto& barrier : side.model.barriers) add(barrier.domain);
  for (auto& grid : side.launch.grid)
    if (grid) add(*grid);
  return names;
}

bool assumed(const Side& side, const Bindings& sizes) {
  return std::ranges::all_of(side.model.assumed, [&](auto& condition) {
    auto value = condition.evaluate(sizes);
    return value.ok() && *value != 0;
  });
}

class Trials {
 public:
  explicit Trials(const SuiteKernel& kernel) : kernel_(kernel), model_(suite_model(kernel.text, kernel.launch.block)) {}

  void check(const Variant& variant, std::mt19937& random) {
    const KernelModel candidate_model = suite_model(variant.text, variant.launch.block);
    const Side original{model_, kernel_.launch}, candidate{candidate_model, variant.launch};
    const Answer answer = compare_memory(original, candidate, kernel_.names);
    auto names = parameters(original);
    names.merge(parameters(candidate));
    std::vector<Bindings> all;
    for (int trial = 0; trial < kTrials; ++trial) {
      Bindings sizes;
      const size_t most = names.size() > 1 ? 15 : std::size(kSizes);
      for (auto& name : names) sizes[name] = kSizes[random() % most];
      all.push_back(std::move(sizes));
    }
    for (auto& sizes : all) {
      if (!assumed(original, sizes) || !assumed(candidate, sizes)) continue;
      auto before = observe(original, sizes), after = observe(candidate, sizes);
      if (!before || !after || !before->launched || before->strays) continue;
      ++compared;
      const std::string what = difference(*before, *after);
      bool promised = answer.kind == Answer::Kind::Proven;
      if (answer.kind == Answer::Kind::UnderPremise) {
        auto premise = answer.premise->evaluate(sizes);
        promised = premise.ok() && *premise != 0;
      }
      if (promised)
        EXPECT_EQ(what, "") << kernel_.name << ": " << variant.what << " is proven, and at " << shown(sizes) << " it "
                            << what;
      found += promised;
    }
    if (answer.example.empty()) return;
    Bindings sizes = answer.example;
    for (auto& name : names) sizes.try_emplace(name, 1);
    auto before = observe(original, sizes), after = observe(candidate, sizes);
    if (!before || !after || !before->launched || before->strays || !assumed(original, sizes)) return;
    // What drawn values show is all that counting sees.
    if (!model_.terms.empty() || !candidate_model.terms.empty()) return;
    EXPECT_NE(difference(*before, *after), "") << kernel_.name << ": " << variant.what << ": " << answer.why;
    ++examples;
  }

  int compared = 0, found = 0, examples = 0;

 private:
  std::string shown(const Bindings& sizes) const {
    std::string text;
    for (auto& [name, value] : sizes) text += name + " = " + std::to_string(value) + " ";
    return text;
  }

  const SuiteKernel& kernel_;
  KernelModel model_;
};

TEST(ComparisonAgainstCounting, WhatIsProvenHoldsAndEveryExampleIsOne) {
  const char* given = std::getenv("KERNELIFT_ORACLE_SEED");
  std::mt19937 random(given ? std::atoi(given) : 1);
  int compared = 0, promised = 0, examples = 0;
  for (auto& kernel : read_suite(KERNELIFT_SUITE)) {
    Trials trials(kernel);
    for (auto& variant : kernel.variants) trials.check(variant, random);
    compared += trials.compared, promised += trials.found, examples += trials.examples;
  }
  RecordProperty("compared", compared);
  std::printf("%d sizes compared, %d of them promised; %d examples\n", compared, promised, examples);
  EXPECT_GT(promised, 100);
  EXPECT_GT(examples, 50);
}

}  // namespace
}  // namespace kernelift::legality
