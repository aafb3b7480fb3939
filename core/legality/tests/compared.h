// Two texts under two launches, compared.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "core/legality/legality.h"
#include "core/legality/tests/suite.h"

namespace kernelift::legality {

using Kind = Answer::Kind;

struct Launched {
  std::string source;
  Dim3 block;
  std::string grid;
};

inline Answer compare(const Launched& original, const Launched& candidate) {
  auto shape = [](const Launched& one) {
    LaunchShape launch{one.block, {}};
    if (!one.grid.empty())
      launch.grid = {*Expression::parse(one.grid), Expression::constant(1), Expression::constant(1)};
    return launch;
  };
  const auto before = suite_model(original.source, original.block),
             after = suite_model(candidate.source, candidate.block);
  static const Names names{{"arg.a0", "x"}, {"arg.a1", "out"}, {"arg.a2", "n"}};
  return compare_memory({before, shape(original)}, {after, shape(candidate)}, names);
}

inline std::string kernel(const std::string& body) {
  return "__global__ void k(const float* x, float* out, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body + "\n}";
}

inline const std::string kGuarded = kernel("if (i < n) out[i] = x[i];");
inline const Launched kOriginal{kGuarded, {128, 1, 1}, "ceil_div(arg.a2, 128)"};

inline Answer under_launches(decltype(compare_launches) question, const std::string& source, uint32_t block,
                             uint32_t other) {
  auto shape = [](uint32_t threads) {
    return LaunchShape{{threads, 1, 1},
                       {*Expression::parse("ceil_div(arg.a2, " + std::to_string(threads) + ")"),
                        Expression::constant(1), Expression::constant(1)}};
  };
  const auto before = suite_model(source, {block, 1, 1}), after = suite_model(source, {other, 1, 1});
  return question({before, shape(block)}, {after, shape(other)}, {{"arg.a2", "n"}}, {});
}

inline Answer values(const std::string& source, uint32_t block, uint32_t other) {
  return under_launches(compare_values_of_launches, source, block, other);
}

}  // namespace kernelift::legality
