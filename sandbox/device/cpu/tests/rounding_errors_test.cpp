// Runs with other numbers beside the floats than residues: what the floats would be without rounding, and bounds of
// what rounding may have done to them.
#include <cmath>

#include "sandbox/device/cpu/real_number.h"
#include "sandbox/device/cpu/tests/field_run.h"

namespace kernelift::cpu {
namespace {

TEST(RealNumber, KeepsAllButTheLastThreeBitsOfADouble) {
  for (double number : {0.0, 1.0, -1.5, 1e300, -1e-300, 0.1, HUGE_VAL}) {
    const uint64_t packed = real_number::packed(number);
    EXPECT_EQ(packed >> 61, 0u);
    if (std::isfinite(number)) EXPECT_NEAR(real_number::unpacked(packed), number, std::fabs(number) * 0x1p-49);
    else EXPECT_EQ(real_number::unpacked(packed), number);
  }
  EXPECT_TRUE(std::isnan(real_number::unpacked(real_number::packed(NAN))));
}

/// Elements of a, b and out: 0.5 + (index mod 17), counted through all three.
double given(int index) { return 0.5 + index % 17; }

struct Both {
  std::vector<double> floats, precise, errors;
};

Both run(const std::string& body, bool with_headers = false) {
  const std::string source =
      "__global__ void k(const float* a, const float* b, float* out, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
      body + "\n}";
  FieldSetting setting;
  setting.with_headers = with_headers, setting.numbers = NumberKind::Precise;
  const FieldResult precise = run_in_field(source, setting);
  setting.numbers = NumberKind::ErrorBounds;
  const FieldResult errors = run_in_field(source, setting);
  EXPECT_EQ(precise.floats, errors.floats) << "what a kernel computes stays as it is";
  return {precise.floats, precise.beside(), errors.beside()};
}

TEST(PreciseRun, TellsWhatRoundingTookAway) {
  const Both both = run("out[i] = (a[i] + 1e8f) - 1e8f;");
  EXPECT_EQ(both.floats[1], 0) << "1.5 is less than half a unit of 1e8";
  EXPECT_NEAR(both.precise[1], given(1), 1e-6);
  EXPECT_GE(both.errors[1], given(1));
  EXPECT_LE(both.errors[1], 16) << "two units of 1e8";
}

TEST(PreciseRun, SaysNothingOfWhatIsNotWrittenAsAFloat) {
  const Both both = run("if (i % 2) out[i] = -a[i]; else ((volatile int*)out)[i] = 7;");
  EXPECT_EQ(both.precise[3], -given(3));
  EXPECT_EQ(both.errors[3], 0) << "a change of sign is exact";
  EXPECT_TRUE(std::isnan(both.precise[2]) && std::isnan(both.errors[2]));
}

TEST(ErrorBounds, HoldForEveryOperationAndAreNoMoreThanItsRounding) {
  for (const std::string expression :
       {"a[i] + b[i] * 0.1f", "a[i] / 3.0f - b[i]", "__builtin_fmaf(a[i], 0.1f, b[i] * 0.3f)", "-(a[i] * 0.7f)",
        "(float)((double)a[i] * 0.1)", "(a[i] < b[i] ? a[i] : b[i]) * 0.1f", "a[i] * 0.1f * n",
        "__builtin_fabsf(0.1f * a[i] - b[i])"}) {
    const Both both = run("out[i] = " + expression + ";");
    for (int i = 0; i < 128; ++i) {
      const double off = std::fabs(both.floats[i] - both.precise[i]);
      EXPECT_LE(off, both.errors[i]) << expression << " " << i;
      EXPECT_LE(both.errors[i], 4e-7 * std::max(40.0, std::fabs(both.floats[i]))) << expression << " " << i;
      EXPECT_GT(both.errors[i], 0) << expression << " " << i;
    }
  }
}

TEST(ErrorBounds, HoldForRootsOfTheDeviceLibrary) {
  const Both both = run("out[i] = sqrtf(a[i] * 0.1f) + rsqrtf(b[i]);", true);
  for (int i = 0; i < 128; ++i) {
    EXPECT_LE(std::fabs(both.floats[i] - both.precise[i]), both.errors[i]) << i;
    EXPECT_LE(both.errors[i], 4e-6) << i;
  }
}

TEST(ErrorBounds, GrowWithTheLengthOfASum) {
  auto sum = [](int terms) {
    return run("float s = 0; for (int j = 0; j < " + std::to_string(terms) +
               "; ++j) s += a[j % 256] * 0.1f; out[i] = s;");
  };
  const Both brief = sum(8), lengthy = sum(2048);
  for (auto* both : {&brief, &lengthy}) EXPECT_LE(std::fabs(both->floats[0] - both->precise[0]), both->errors[0]);
  EXPECT_GT(lengthy.errors[0] / lengthy.precise[0], 50 * brief.errors[0] / brief.precise[0]);
}

TEST(ErrorBounds, PassThroughSharedMemoryAndAtomicSums) {
  const Both both =
      run("__shared__ float s[64]; s[threadIdx.x] = a[i] * 0.1f; __syncthreads();\n"
          "__nvvm_atom_add_gen_f((float*)out + i % 4, s[63 - threadIdx.x]);");
  for (int i = 0; i < 4; ++i) {
    EXPECT_GT(both.errors[i], 0);
    EXPECT_LE(std::fabs(both.floats[i] - both.precise[i]), both.errors[i]);
    double sum = given(2 * kFieldCount + i);
    for (int j = 0; j < 128; ++j)
      if (j % 4 == i) sum += given(j / 64 * 64 + 63 - j % 64) * double(0.1f);
    EXPECT_NEAR(both.precise[i], sum, 1e-9);
  }
}

}  // namespace
}  // namespace kernelift::cpu
