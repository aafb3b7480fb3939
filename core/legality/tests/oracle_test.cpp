// The comparison's answers against counting, for small sizes drawn at random.
#include "core/legality/tests/oracle.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "core/legality/tests/interpreter.h"
#include "core/legality/tests/suite.h"

namespace kernelift::legality {
namespace {

/// Sizes at which blocks and tiles end, some of them 0 and below.
constexpr int64_t kSizes[] = {-3, 0, 1, 2, 5, 7, 8, 15, 16, 17, 20, 31, 33, 36, 64, 100, 127, 128, 129, 200, 257};
constexpr int kRandomPairs = 60;
constexpr int kTrials = 2;  ///< Sizes for each variant.

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

TEST(ModelAgainstExecution, AModelTouchesWhatTheKernelTouches) {
  std::mt19937 random(2);
  int compared = 0;
  size_t bytes = 0;
  for (auto& kernel : read_suite(KERNELIFT_SUITE)) {
    auto check = [&](const std::string& text, const LaunchShape& launch, const std::string& what) {
      const KernelModel model = suite_model(text, launch.block);
      const Side side{model, launch};
      Bindings sizes;
      const auto names = parameters(side);
      for (auto& name : names) sizes[name] = kSizes[2 + random() % (names.size() > 1 ? 10 : 15)];
      auto seen = observe(side, sizes);
      auto touched = seen ? interpret(text, launch, sizes) : std::nullopt;
      if (!touched) return;
      ++compared, bytes += touched->size();
      std::set<TouchedByte> by_model;
      for (auto& [access, object, offset] : seen->bytes) by_model.insert({access, object.text(), offset});
      for (auto& byte : *touched)
        if (!by_model.contains(byte)) {
          ADD_FAILURE() << kernel.name << ", " << what << ": the model lacks " << byte.object << " + " << byte.offset;
          break;
        }
      for (auto& byte : by_model)
        if (!touched->contains(byte)) {
          ADD_FAILURE() << kernel.name << ", " << what << ": the kernel does not touch " << byte.object << " + "
                        << byte.offset;
          break;
        }
    };
    check(kernel.text, kernel.launch, "original");
    for (auto& variant : kernel.variants) check(variant.text, variant.launch, variant.what);
  }
  std::printf("%d launches compared\n", compared);
  EXPECT_GT(bytes, 10'000u);
  EXPECT_GT(compared, 100);
}

/// A kernel put together at random, and one that differs from it in a part.
struct Parts {
  static constexpr const char* kIndices[] = {"int i = blockIdx.x * blockDim.x + threadIdx.x;",
                                             "unsigned i = blockIdx.x * blockDim.x + threadIdx.x;",
                                             "int i = blockIdx.x * 8 + threadIdx.x;",
                                             "int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;",
                                             "int i = blockIdx.x * blockDim.x + threadIdx.x - 3;",
                                             "int i = blockDim.x - 1 - threadIdx.x + blockIdx.x * blockDim.x;"};
  static constexpr const char* kGuards[] = {"i < n",
                                            "i <= n",
                                            "i < n - 1",
                                            "(unsigned)(i - 1) < (unsigned)n",
                                            "i % 2 == 0 && i < n",
                                            "!(i >= n || i == 3)",
                                            "i < n && (i & 3) != 1",
                                            "i / 3 < n",
                                            "n - i > 0",
                                            "i >= 2 && i < n",
                                            "i < n && i < 12",
                                            "i < n && x[i] > 2",
                                            "i < n && !(x[i] > 2)",
                                            "i - 1u < n",
                                            "i < (n > 9 ? 9 : n)",
                                            "i < n && (x[i] > 2 || i == 1)",
                                            "(i ^ 1) < n"};
  static constexpr const char* kBodies[] = {"out[i] = x[i];",
                                            "out[n - 1 - i] = x[i];",
                                            "for (int j = 0; j < n; ++j) out[i * n + j] = x[j];",
                                            "for (int j = i; j < n; j += 4) out[j] = x[i];",
                                            "out[x[i]] = 1;",
                                            "out[i % 5] = 1;",
                                            "out[i / 2] = x[i];",
                                            "out[(i * 3) & 15] = 1;",
                                            "atomicAdd(&out[i >> 1], 1);",
                                            "out[i < 4 ? i : i - 1] = x[i];",
                                            "if (i > 2) out[i] = 1; else out[0] = 2;",
                                            "for (int j = n; j > (int)i; --j) out[j] = x[j - 1];",
                                            "for (;;) { if (i >= n) break; out[i] = 1; i += 100; }",
                                            "if (x[i] > 1) out[i] = 1; else out[i] = 2;",
                                            "out[i] = x[i]; if (i > 0) out[i - 1] = x[i];",
                                            "for (int j = 0; j < 3; ++j) if (j != 1) out[3 * i + j] = x[i];",
                                            "int k = 0; while (k < n && x[k] != 3) ++k; out[i] = k;",
                                            "short s = i * 20000; out[s & 31] = 1;"};

  size_t index, guard, body;
  uint32_t threads;

  explicit Parts(std::mt19937& random)
      : index(random() % std::size(kIndices)),
        guard(random() % std::size(kGuards)),
        body(random() % std::size(kBodies)),
        threads(8u << random() % 2) {}
  Parts changed(std::mt19937& random) const {
    Parts other(random), one = *this;
    switch (random() % 4) {
      case 0: one.index = other.index; break;
      case 1: one.guard = other.guard; break;
      case 2: one.body = other.body; break;
      default: one.threads = other.threads == threads ? 4 : other.threads;
    }
    return one;
  }
  std::string text() const {
    return std::string("__global__ void k(const int* x, int* out, int n) { ") + kIndices[index] + " if (" +
           kGuards[guard] + ") { " + kBodies[body] + " } }";
  }
  LaunchShape launch() const {
    return {{threads, 1, 1},
            {*Expression::parse("ceil_div(arg.a2, " + std::to_string(threads) + ")"), Expression::constant(1),
             Expression::constant(1)}};
  }
};

TEST(ComparisonAgainstCounting, HoldsForKernelsPutTogetherAtRandom) {
  const char* given = std::getenv("KERNELIFT_ORACLE_SEED");
  std::mt19937 random(given ? std::atoi(given) : 1);
  int promised = 0, examples = 0, interpreted = 0;
  for (int pair = 0; pair < kRandomPairs; ++pair) {
    const Parts first(random), second = first.changed(random);
    const KernelModel one = suite_model(first.text(), first.launch().block),
                      two = suite_model(second.text(), second.launch().block);
    const Side original{one, first.launch()}, candidate{two, second.launch()};
    const Answer answer = compare_memory(original, candidate, {});
    std::vector<int64_t> sizes{-3, 1, 2, 5, 8, 9, 16, 17, 23};
    if (answer.example.contains("arg.a2")) sizes.push_back(answer.example.at("arg.a2"));
    for (int64_t n : sizes) {
      const Bindings size{{"arg.a2", n}};
      if (!assumed(original, size) || !assumed(candidate, size)) continue;
      auto before = observe(original, size), after = observe(candidate, size);
      const std::string where = first.text() + "\n" + second.text() + "\nn = " + std::to_string(n) + ": ";
      if (after && after->launched && two.terms.empty())
        if (auto touched = interpret(second.text(), second.launch(), size)) {
          std::set<TouchedByte> by_model;
          for (auto& [access, object, offset] : after->bytes) by_model.insert({access, object.text(), offset});
          EXPECT_TRUE(*touched == by_model) << where << "the model and the kernel touch different memory";
          ++interpreted;
        }
      if (!before || !after || !before->launched || before->strays) continue;
      const std::string what = difference(*before, *after);
      bool holds = answer.kind == Answer::Kind::Proven;
      if (answer.kind == Answer::Kind::UnderPremise) {
        auto premise = answer.premise->evaluate(size);
        holds = premise.ok() && *premise != 0;
      }
      if (holds) EXPECT_EQ(what, "") << where << "proven, and it " << what;
      const bool is_example = answer.example.contains("arg.a2") && answer.example.at("arg.a2") == n;
      if (is_example && one.terms.empty() && two.terms.empty()) EXPECT_NE(what, "") << where << answer.why;
      promised += holds, examples += is_example;
    }
  }
  std::printf("%d sizes promised, %d examples, %d launches interpreted\n", promised, examples, interpreted);
  EXPECT_GT(promised, 100);
}

}  // namespace
}  // namespace kernelift::legality
