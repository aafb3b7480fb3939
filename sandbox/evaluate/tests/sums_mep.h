// A MEP whose kernel sums rows of terms that cancel: in another order the sums round so differently that no tolerance
// derived from the original's roundings explains it.
#pragma once
#include <random>

#include "core/tests/expression_literal.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {

struct SumsShape {
  int rows = 256, terms = 64;
  bool doubles = false;  ///< The original sums in double precision.
};

/// The kernel around a body that has `row`, `i`, `terms` and `out`. `before`: text in front of it.
inline std::string sums_source(const std::string& body, int terms = 64, const std::string& before = {}) {
  return before +
         "__global__ void sums(const float* in, float* out, int n) {\n"
         "  const int terms = " +
         std::to_string(terms) +
         ";\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
         "  const float* row = in + i * terms;\n" +
         body + "\n}\n";
}
inline const std::string kSumsInOrder = "  float s = 0; for (int j = 0; j < terms; ++j) s += row[j]; out[i] = s;";
inline const std::string kSumsByHalves =
    "  float a = 0, b = 0; for (int j = 0; j < terms / 2; ++j) a += row[j], b += row[terms - 1 - j]; out[i] = a + b;";
/// The term that is left out is tiny in each row.
inline const std::string kSumsWithALostTerm =
    "  float a = 0, b = 0;\n"
    "  for (int j = 0; j < terms / 2; ++j) a += row[j], b += j == 23 ? 0.0f : row[terms - 1 - j];\n"
    "  out[i] = a + b;";
/// Held to the error bounds of its length, its verdict says so.
inline constexpr const char* kHeldToLength = "but it computes the original's formula";

/// Terms of about a thousand that cancel to about a thousandth. `source`: the original's.
inline MepFixture sums_mep(const std::string& source, SumsShape shape = {}) {
  MepFixture fixture(source, "_Z4sumsPKfPfi", "sums(float const*, float*, int)");
  const auto rows = static_cast<size_t>(shape.rows), terms = static_cast<size_t>(shape.terms);
  std::vector<float> in(rows * terms), before(rows, -1), after(rows);
  std::mt19937 random(5);
  for (size_t row = 0; row < rows; ++row) {
    float* of = &in[row * terms];
    double exactly = 0;
    for (size_t j = 0; j + 1 < terms; ++j) {
      of[j] = j + 24 == terms ? 1e-7f : static_cast<float>(static_cast<double>(random()) / 0x1p31 - 1) * 1000;
      exactly += static_cast<double>(of[j]);
    }
    of[terms - 1] = static_cast<float>(1e-3 - exactly);
    float sum = 0;
    double wide = 0;
    for (size_t j = 0; j < terms; ++j) sum += of[j], wide += static_cast<double>(of[j]);
    after[row] = shape.doubles ? static_cast<float>(wide) : sum;
  }
  MepInstance& instance = fixture.add_instance("a", static_cast<uint32_t>(rows / 64), 64);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in, true);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(1) << 30), before, after);
  fixture.add_argument(instance, shape.rows, "n");
  LaunchSite site;
  site.grid[0] = "(n + 63) / 64"_e, site.grid[1] = "1"_e, site.grid[2] = "1"_e;
  site.block[0] = "64"_e, site.block[1] = "1"_e, site.block[2] = "1"_e;
  site.argument_text = {"in", "out", "n"};
  fixture.mep.launches = {site};
  return fixture;
}

}  // namespace kernelift::sandbox
