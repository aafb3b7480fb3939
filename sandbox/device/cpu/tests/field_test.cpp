// Field runs: the arithmetic modulo p, and what kernels leave as numbers, each beside another way to compute the same
// and one that is wrong.
#include <random>

#include "sandbox/device/cpu/prime_field.h"
#include "sandbox/device/cpu/tests/field_run.h"

namespace kernelift::cpu {
namespace {

using namespace prime_field;

TEST(PrimeField, ProductsAndSumsAreThoseOfWideIntegersModuloP) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) {
    const uint64_t a = residue(random()), b = i == 0 ? kPrime - 1 : residue(random());
    EXPECT_EQ(multiply(a, b), uint64_t(static_cast<unsigned __int128>(a) * b % kPrime));
    EXPECT_EQ(add(a, b), (a + b) % kPrime);
    EXPECT_EQ(add(a, negative(a)), 0u);
  }
}

TEST(PrimeField, EveryNumberButZeroHasAnInverse) {
  for (uint64_t a : {uint64_t(1), uint64_t(2), uint64_t(12345), kPrime - 1}) EXPECT_EQ(multiply(a, inverse(a)), 1u);
  EXPECT_EQ(inverse(0), 0u);
}

TEST(PrimeField, DoublesHaveExactImages) {
  EXPECT_EQ(of_double(3), 3u);
  EXPECT_EQ(of_double(-1), kPrime - 1);
  EXPECT_EQ(multiply(of_double(0.375), 8), 3u);
  EXPECT_EQ(add(of_double(1e-30), of_double(1)), add(1, of_double(1e-30)));
  EXPECT_NE(add(of_double(1e-30), of_double(1)), 1u);
  EXPECT_EQ(of_double(0x1p-1074), inverse(power(2, 1074)));
}

TEST(PrimeField, ConstantsStandForTheFractionsThatRoundToThem) {
  const uint64_t third = inverse(3), tenth = inverse(10);
  EXPECT_EQ(meant_by(1.0f / 3, true).image, third);
  EXPECT_EQ(meant_by(1.0 / 3, false).image, third);
  EXPECT_EQ(meant_by(double(0.1f), false).image, tenth);
  EXPECT_EQ(meant_by(-0.1, false).image, negative(tenth));
  EXPECT_TRUE(meant_by(0.1, false).surely);
  EXPECT_FALSE(meant_by(3.14159265, false).surely);
  EXPECT_EQ(meant_by(3.14159265, false).image, meant_by(3.14159265f, true).image);
  EXPECT_EQ(meant_by(0.375, false).image, of_double(0.375));
}

std::string field_kernel(const std::string& body) {
  return "__global__ void k(const float* a, const float* b, float* out, int n) {\n"
         "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
         body + "\n}";
}

/// What a kernel of which thread i writes out[i] leaves.
FieldResult element(const std::string& expression, const FieldSetting& setting = {}) {
  return run_in_field(field_kernel("out[i] = " + expression + ";"), setting);
}

void expect_equal(const std::string& one, const std::string& other) {
  const FieldResult left = element(one), right = element(other);
  EXPECT_EQ(left, right) << one << " and " << other;
  EXPECT_EQ(left.report.decided + right.report.decided, "");
}
void expect_different(const std::string& one, const std::string& other) {
  EXPECT_NE(element(one), element(other)) << one << " and " << other;
}

TEST(FieldRun, EqualFormulasAreEqualAndOthersAreNot) {
  expect_equal("a[i] + b[i] + a[i + 1]", "b[i] + (a[i + 1] + a[i])");
  expect_equal("(a[i] + b[i]) * (a[i] - b[i])", "a[i] * a[i] - b[i] * b[i]");
  expect_equal("a[i] / b[i]", "a[i] * (1.0f / b[i])");
  expect_equal("a[i] / b[i] / a[i + 1]", "a[i] / (b[i] * a[i + 1])");
  expect_equal("-(a[i] - b[i])", "b[i] - a[i]");
  expect_equal("__builtin_fmaf(a[i], b[i], a[i + 1])", "a[i] * b[i] + a[i + 1]");
  expect_equal("(float)((double)a[i] * b[i])", "a[i] * b[i]");
  expect_equal("a[i] * (float)i", "i * 0.5f * 2 * a[i]");
  expect_different("a[i] + b[i]", "a[i] + a[i + 1]");
  expect_different("a[i] * b[i]", "a[i] * b[i] + 1e-30f");
  expect_different("a[i] - b[i]", "b[i] - a[i]");
  expect_different("a[i] * 0.1f", "a[i] * 0.1000001f");
  expect_different("a[i]", "a[i] * (float)i");
}

TEST(FieldRun, IntegersBecomeTheirNumbers) {
  expect_equal("a[i] * (float)(i - 100)", "a[i] * (float)i - 100.0f * a[i]");
  expect_equal("(float)(unsigned)(i - 1 < 0 ? 0u : 7u)", "i < 1 ? 0.0f : 7.0f");
  expect_equal("(float)-9223372036854775807ll + a[i]", "a[i] - (float)(1ull << 63)");
  const FieldSetting setting = {.integers = true};
  EXPECT_EQ(element("a[((const int*)b)[i]]", setting), element("a[i * 7 % 256]", setting));
  EXPECT_EQ(element("a[((const int*)b)[i]]", setting).report.decided, "");
}

TEST(FieldRun, ConstantsThatDifferInRoundingAreOneIfWhatWasMeantCounts) {
  const FieldSetting meant = {.constants_meant = true};
  EXPECT_NE(element("a[i] / 3.0f"), element("a[i] * (1.0f / 3.0f)"));
  EXPECT_EQ(element("a[i] / 3.0f", meant), element("a[i] * (1.0f / 3.0f)", meant));
  EXPECT_NE(element("a[i] * 0.1"), element("a[i] * 0.1f"));
  EXPECT_EQ(element("a[i] * 0.1", meant), element("a[i] * 0.1f", meant));
  EXPECT_NE(element("a[i] * 0.1f", meant), element("a[i] * 0.11f", meant));
  EXPECT_EQ(element("a[i] * 0.1f").report.constants.size(), 0u);
  EXPECT_EQ(element("a[i] * 3.14159265f").report.constants, element("a[i] + 3.14159265f").report.constants);
  EXPECT_NE(element("a[i] * 3.14159265f").report.constants, element("a[i] + 2.71828183f").report.constants);
}

TEST(FieldRun, FloatsThatMemoryKnowsOnlyAsIntegersAreFloats) {
  auto has_floats = [](const std::string& body) { return run_in_field(field_kernel(body)).report.floats; };
  const std::string pair =
      "long long w = ((const long long*)a)[i / 2]; float x = __builtin_bit_cast(float, int(w)), "
      "y = __builtin_bit_cast(float, int(w >> 32)); ";
  EXPECT_TRUE(has_floats(pair + "if (x - y > 1.0f) ((int*)out)[i] = 3;"));
  EXPECT_TRUE(has_floats(pair + "((int*)out)[i] = __builtin_bit_cast(int, x * y);"));
  EXPECT_FALSE(has_floats("((int*)out)[i] = ((const int*)a)[i];"));
  EXPECT_FALSE(has_floats("((int*)out)[i] = ((const int*)a)[i] & 255;"));
}

TEST(FieldRun, AComparisonIsNamedWithItsLine) {
  EXPECT_EQ(element("a[i] > b[i] ? a[i] : b[i] * 2").report.decided, "the comparison at test.cu:3");
  EXPECT_EQ(element("a[(int)b[i]]").report.decided, "the conversion to an integer at test.cu:3");
  EXPECT_EQ(element("__builtin_fabsf(a[i])").report.decided, "the sign at test.cu:3");
  // Fast mathematics flushes denormals, which must not keep the library's functions apart.
  const FieldSetting flushed = {.flags = {"-fgpu-flush-denormals-to-zero"}};
  const std::string of_library = "extern \"C\" __device__ float __nv_fmaxf(float, float);";
  EXPECT_EQ(run_in_field(of_library + field_kernel("out[i] = __nv_fmaxf(a[i], b[i]);"), flushed).report.decided,
            "the comparison at test.cu:3");
  EXPECT_EQ(element("(float)(_Float16)a[i]").report.decided, "the conversion to half precision at test.cu:3");
  EXPECT_EQ(element("(float)(((const int*)a)[i] & 255)").report.decided, "");
  EXPECT_EQ(element("a[i] * (float)(((const int*)a)[i] & 255)").report.decided,
            "the bits of a float, used as an integer, at test.cu:3");
  EXPECT_EQ(element("b[i] * (float)__builtin_bit_cast(int, b[i])").report.decided,
            "the bits of a float, used as an integer, at test.cu:3");
}

TEST(FieldRun, WhatRecordedValuesDecideIsFollowed) {
  EXPECT_EQ(element("a[i] > b[i] ? a[i] : b[i]"), element("b[i] < a[i] ? a[i] : b[i]"));
  EXPECT_EQ(element("__builtin_fmaxf(a[i], b[i])"), element("__builtin_fmaxf(b[i], a[i])"));
  EXPECT_EQ(element("__builtin_fabsf(a[i] - b[i])"), element("__builtin_fabsf(b[i] - a[i])"));
  EXPECT_NE(element("a[i] > b[i] ? a[i] : b[i]"), element("a[i] > b[i] ? b[i] : a[i]"));
}

TEST(FieldRun, OfOtherFunctionsEqualArgumentsHaveEqualValues) {
  auto with = [](const std::string& expression) {
    return run_in_field("#include <cuda_runtime.h>\n" + field_kernel("out[i] = " + expression + ";"),
                        {.with_headers = true});
  };
  const FieldResult sum = with("expf(a[i] + b[i])");
  EXPECT_EQ(sum, with("expf(b[i] + a[i])"));
  EXPECT_EQ(sum, with("__expf(b[i] + a[i])"));
  EXPECT_EQ(sum, with("(float)exp((double)b[i] + a[i])"));
  EXPECT_NE(sum, with("expf(b[i] - a[i])"));
  EXPECT_NE(sum, with("logf(b[i] + a[i])"));
  EXPECT_EQ(sum.report.function.substr(0, 6), "exp at");
  EXPECT_EQ(sum.report.decided, "");
  EXPECT_EQ(with("a[i] * rsqrtf(b[i])"), with("a[i] / sqrtf(b[i])"));
  EXPECT_EQ(with("__fdividef(a[i], b[i])"), with("a[i] / b[i]"));
  EXPECT_EQ(with("powf(a[i], b[i])"), with("__powf(a[i], b[i])"));
  EXPECT_NE(with("powf(a[i], b[i])"), with("powf(b[i], a[i])"));
  EXPECT_EQ(with("__fmul_rz(a[i], b[i])"), with("a[i] * b[i]"));
  EXPECT_NE(with("rintf(a[i])"), with("roundf(a[i])"));
  const FieldResult both =
      run_in_field("#include <cuda_runtime.h>\n" + field_kernel("float s, c; sincosf(a[i], &s, &c); out[i] = s + c;"),
                   {.with_headers = true});
  EXPECT_EQ(both, with("sinf(a[i]) + cosf(a[i])"));
}

TEST(FieldRun, ADivisionByZeroIsCounted) {
  EXPECT_EQ(element("a[i] / (b[i] - b[i] + a[i] - a[i])").report.divisions_by_zero, 128u);
  EXPECT_EQ(element("a[i] / b[i]").report.divisions_by_zero, 0u);
}

TEST(FieldRun, OtherInputsAreDrawnWithAnotherSeed) {
  EXPECT_NE(element("a[i]", {.seed = 1}).states, element("a[i]", {.seed = 2}).states);
  EXPECT_EQ(element("a[i] + 0", {.seed = 1}).states, element("a[i]", {.seed = 1}).states);
}

const std::string kSumInOrder = field_kernel(
    "float sum = 0; for (int j = 0; j < 64; ++j) sum += a[j] * b[j + i % 8];\n"
    "out[i] = sum;");

TEST(FieldRun, ASumSplitInPartsIsTheSame) {
  const FieldResult whole = run_in_field(kSumInOrder);
  auto split = [](int last) {
    return run_in_field(
        field_kernel("float s[4] = {}; for (int j = 0; j < " + std::to_string(last) +
                     "; ++j) s[j % 4] += a[j] * b[j + i % 8];\nout[i] = (s[0] + s[1]) + (s[2] + s[3]);"));
  };
  EXPECT_EQ(whole, split(64));
  EXPECT_NE(whole, split(63)) << "without its last term";
  EXPECT_EQ(whole.report.decided, "");
}

TEST(FieldRun, LocalArraysThatAreIndexedHoldNumbers) {
  auto dynamic = [](const std::string& index) {
    return run_in_field(
        field_kernel("float s[8]; for (int j = 0; j < 8; ++j) s[(j + n) % 8] = a[j] * b[i];\n"
                     "float sum = 0; for (int j = 0; j < 8; ++j) sum += s[(j * n + i) % 8 * 0 + " +
                     index + "]; out[i] = sum;"));
  };
  EXPECT_EQ(dynamic("j"), dynamic("7 - j"));
  EXPECT_NE(dynamic("j"), dynamic("(j | 1)"));
}

TEST(FieldRun, SharedMemoryHoldsNumbersAcrossBarriers) {
  auto reduce = [](const std::string& step) {
    return run_in_field(R"(
__global__ void k(const float* a, const float* b, float* out, int n) {
  __shared__ float part[64];
  int t = threadIdx.x;
  part[t] = a[blockIdx.x * 64 + t] * b[t];
  __syncthreads();
  for (int s = )" + step +
                        R"() {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
})");
  };
  const FieldResult tree = reduce("32; s > 0; s /= 2");
  const FieldResult in_order = run_in_field(
      field_kernel("if (threadIdx.x) return; float sum = 0; for (int j = 0; j < 64; ++j) sum += b[j] * a[i + j];\n"
                   "out[blockIdx.x] = sum;"));
  EXPECT_EQ(tree, in_order);
  EXPECT_EQ(tree.report.decided, "");
  EXPECT_NE(reduce("16; s > 0; s /= 2"), in_order);
  for (bool fibers : {false, true}) {
    const FieldResult shuffled = run_in_field("#include <cuda_runtime.h>\n" + field_kernel(R"(
  __shared__ float half[2];
  float sum = a[i] * b[threadIdx.x];
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
  if (threadIdx.x % 32 == 0) half[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = half[0] + half[1];)"),
                                              {.with_headers = true, .fibers = fibers});
    EXPECT_EQ(shuffled, in_order) << (fibers ? "on fibers" : "");
    EXPECT_EQ(shuffled.report.decided, "");
  }
}

TEST(FieldRun, DoublesAreShuffledByHalves) {
  auto sum = [](const std::string& body) {
    return run_in_field<double>(
        "#include <cuda_runtime.h>\n__global__ void k(const double* a, const double* b, double* "
        "out, int n) {\n  int i = threadIdx.x;\n" +
            body + "\n}",
        {.geometry = grid(1, 32), .with_headers = true});
  };
  const FieldResult shuffled =
      sum("double s = a[i] * b[i]; for (int d = 16; d > 0; d /= 2) "
          "s += __shfl_xor_sync(0xffffffffu, s, d); out[i] = s;");
  EXPECT_EQ(shuffled, sum("double s = 0; for (int j = 0; j < 32; ++j) s += a[j] * b[j]; out[i] = s;"));
  EXPECT_EQ(shuffled.report.decided, "");
}

TEST(FieldRun, ATiledProductOfMatricesIsTheNaiveOne) {
  const FieldSetting setting = {.geometry = {.grid = {2, 2, 1}, .block = {8, 8, 1}}};
  const FieldResult naive = run_in_field(R"(
__global__ void k(const float* a, const float* b, float* out, int n) {
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float sum = 0;
  for (int j = 0; j < 16; ++j) sum += a[y * 16 + j] * b[j * 16 + x];
  out[y * 16 + x] = sum;
})",
                                         setting);
  auto tiled = [&](const std::string& terms) {
    return run_in_field(R"(
__global__ void k(const float* a, const float* b, float* out, int n) {
  __shared__ float left[8][9], right[8][9];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 8 + tx, y = blockIdx.y * 8 + ty;
  float sum = 0;
  for (int tile = 0; tile < 2; ++tile) {
    left[ty][tx] = a[y * 16 + tile * 8 + tx];
    right[ty][tx] = b[(tile * 8 + ty) * 16 + x];
    __syncthreads();
    for (int j = )" + terms +
                            R"(; ++j) sum += left[ty][j] * right[j][tx];
    __syncthreads();
  }
  out[y * 16 + x] = sum;
})",
                        setting);
  };
  EXPECT_EQ(tiled("0; j < 8"), naive);
  EXPECT_NE(tiled("0; j < 7"), naive);
}

TEST(FieldRun, AtomicSumsAreTheSameInAnyOrder) {
  const FieldResult atomic = run_in_field(field_kernel("__nvvm_atom_add_gen_f((float*)out + i % 4, a[i]);"));
  const FieldResult reversed =
      run_in_field(field_kernel("__nvvm_atom_add_gen_f((float*)out + (127 - i) % 4, a[127 - i]);"));
  EXPECT_EQ(atomic, reversed);
  EXPECT_EQ(atomic.report.decided, "");
  EXPECT_NE(atomic, run_in_field(field_kernel("if (i) __nvvm_atom_add_gen_f((float*)out + i % 4, a[i]);")));
}

TEST(FieldRun, WorkersThatShareTheBlocksLeaveTheNumbersOfOne) {
  // 256 blocks; every float of `a` is read by many of them, and its number drawn by whichever comes first.
  const std::string sums = field_kernel(
      "float part[4] = {0, 0, 0, 0};\n"
      "for (int j = 0; j < n; ++j) part[j % 4] += a[(i + j) % n] * b[j] / a[j] * 0.1f;\n"
      "if (b[i % n] < 0) part[0] = 0;\n"
      "if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1] + part[2] + sqrtf(part[3]);");
  for (bool fibers : {false, true}) {
    FieldSetting one = {.geometry = grid(256, 16), .fibers = fibers, .workers = 1}, four = one;
    one.with_headers = four.with_headers = true, four.workers = 4;
    const FieldResult alone = run_in_field(sums, one), shared = run_in_field(sums, four);
    EXPECT_EQ(alone, shared);
    EXPECT_THAT(alone.report.decided, testing::StartsWith("the comparison"));
    EXPECT_EQ(shared.report.decided, alone.report.decided);
    EXPECT_EQ(shared.report.function, alone.report.function);
    EXPECT_EQ(shared.report.constants, alone.report.constants);
    EXPECT_EQ(shared.report.divisions_by_zero, alone.report.divisions_by_zero);
  }
}

TEST(FieldRun, BlocksThatCombineTheirResultsAreRunByOneWorker) {
  // The states of a sum by atomics are read and written apart: two workers would lose some.
  const std::string sum = field_kernel("__nvvm_atom_add_gen_f((float*)out, a[i % n]);");
  const FieldResult one = run_in_field(sum, {.geometry = grid(2048, 64), .workers = 1});
  for (int repeat = 0; repeat < 5; ++repeat)
    EXPECT_EQ(one, run_in_field(sum, {.geometry = grid(2048, 64), .workers = 4}));
}

TEST(FieldRun, CopiesByVectorsOfIntegersCarryNumbers) {
  const FieldResult plain = run_in_field(field_kernel("out[i] = a[i];"));
  EXPECT_EQ(plain, run_in_field(field_kernel("if (i < 32) { typedef int four __attribute__((ext_vector_type(4)));\n"
                                             "((four*)out)[i] = ((const four*)a)[i]; }")));
  EXPECT_EQ(plain, run_in_field(field_kernel("__builtin_memcpy(out + i, a + i, 4);")));
  EXPECT_EQ(plain, run_in_field(field_kernel("if (i < 8) __builtin_memcpy(out + 16 * i, a + 16 * i, 64);")));
  EXPECT_EQ(plain, run_in_field(field_kernel("int bits = __builtin_bit_cast(int, a[i]); __shared__ int s[64];\n"
                                             "s[threadIdx.x] = bits; out[i] = ((float*)s)[threadIdx.x];")));
  EXPECT_NE(plain, run_in_field(field_kernel("if (i < 31) { typedef int four __attribute__((ext_vector_type(4)));\n"
                                             "((four*)out)[i] = ((const four*)a)[i]; }")));
}

TEST(FieldRun, IntegersThatAreWrittenAreFloatsOfTheirBits) {
  EXPECT_EQ(run_in_field(field_kernel("((volatile int*)out)[i] = 0x3f800000; out[i] *= a[i];")),
            run_in_field(field_kernel("out[i] = a[i];")));
  EXPECT_EQ(run_in_field(field_kernel("((volatile int*)out)[i] = 0; out[i] += a[i];")),
            run_in_field(field_kernel("out[i] = a[i];")));
}

TEST(FieldRun, WhatIsNotWrittenIsWhatWasThere) {
  const FieldResult nothing = run_in_field(field_kernel(""));
  EXPECT_EQ(nothing, run_in_field(field_kernel("out[i] = out[i] + 0;")));
  EXPECT_EQ(nothing, run_in_field(field_kernel("out[i] = out[i] * a[i] / a[i];")));
  EXPECT_NE(nothing, run_in_field(field_kernel("out[i] = a[i];")));
  EXPECT_NE(run_in_field(field_kernel("out[i] = a[i];")), run_in_field(field_kernel("if (i != 77) out[i] = a[i];")));
}

TEST(FieldRun, ParametersByValueAreDrawnToo) {
  auto with = [](const std::string& expression) {
    return run_in_field(
        "struct S { float x; int y; float z[2]; };\n"
        "__device__ float scaled(S s, int i) { return " +
        expression + "; }\n" + field_kernel("S s = {a[0], n, {a[1], a[2]}}; out[i] = scaled(s, i);"));
  };
  EXPECT_EQ(with("s.z[i % 2] * s.x"), with("s.x * (i % 2 ? s.z[1] : s.z[0])"));
  EXPECT_NE(with("s.z[i % 2] * s.x"), with("s.x * s.z[0]"));
}

}  // namespace
}  // namespace kernelift::cpu
