// The device library and inline PTX against values the host computes or CUDA's manuals give.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// Runs `expressions` over x (as double); each becomes one row of results.
std::vector<std::vector<double>> evaluate(const std::string& declarations, const std::vector<std::string>& expressions,
                                          const std::vector<double>& x) {
  std::string body;
  for (size_t i = 0; i < expressions.size(); ++i)
    body += "out[" + std::to_string(i) + " * n + i] = " + expressions[i] + ";\n";
  TestImage image = build(
      declarations +
      "\n__global__ void k(int n, const double* in, double* out) {\n  int i = threadIdx.x + blockIdx.x * blockDim.x;\n"
      "  if (i >= n) return;\n  double x = in[i]; float f = x; (void)x; (void)f;\n" +
      body + "}");
  std::vector<double> out(x.size() * expressions.size());
  EXPECT_TRUE(image.run("k", grid(uint32_t(x.size() + 63) / 64, 64), int(x.size()), x.data(), out.data()).ok());
  std::vector<std::vector<double>> rows;
  for (size_t i = 0; i < expressions.size(); ++i)
    rows.emplace_back(out.begin() + long(i * x.size()), out.begin() + long((i + 1) * x.size()));
  return rows;
}

std::vector<double> samples() {
  std::vector<double> x;
  for (int i = 1; i < 200; ++i) x.push_back(i * 0.037);
  return x;
}

TEST(InlinePtx, CarriesTheSignIntoAWiderRegister) {
  TestImage image = build(R"(
__global__ void k(long long* out, const int* words, const signed char* bytes, const short* shorts, const unsigned char* plain) {
  long long a; int d;
  asm volatile("ld.global.s32 %0, [%1];" : "=l"(a) : "l"(words)); out[0] = a;
  asm volatile("ld.global.s8 %0, [%1];" : "=l"(a) : "l"(bytes)); out[1] = a;
  asm volatile("ld.global.s16 %0, [%1];" : "=l"(a) : "l"(shorts)); out[2] = a;
  asm volatile("ld.global.u8 %0, [%1];" : "=l"(a) : "l"(plain)); out[3] = a;
  asm volatile("cvt.s8.s32 %0, %1;" : "=r"(d) : "r"(0x1ff)); out[4] = d;
  asm volatile("cvt.u8.u32 %0, %1;" : "=r"(d) : "r"(0x1ff)); out[5] = d;
  asm volatile("cvt.rzi.s16.f32 %0, %1;" : "=r"(d) : "f"(-2.5f)); out[6] = d;
  int lower, upper;
  asm volatile("ld.global.v2.s16 {%0, %1}, [%2];" : "=r"(lower), "=r"(upper) : "l"(shorts)); out[7] = lower; out[8] = upper;
})");
  long long out[9] = {};
  int words[] = {-5};
  signed char bytes[] = {-3};
  alignas(4) short shorts[] = {-7, -8};
  unsigned char plain[] = {253};
  ASSERT_TRUE(image.run("k", grid(1, 1), out, words, bytes, shorts, plain).ok());
  const long long want[] = {-5, -3, -7, 253, -1, 255, -2, -7, -8};
  for (int i = 0; i < 9; ++i) EXPECT_EQ(out[i], want[i]) << i;
}

TEST(Libdevice, ElementaryFunctionsAgreeWithTheHost) {
  struct Case {
    const char* name;
    double (*host)(double);
  } cases[] = {{"sin", std::sin},
               {"cos", std::cos},
               {"tan", std::tan},
               {"exp", std::exp},
               {"log", std::log},
               {"log2", std::log2},
               {"log10", std::log10},
               {"exp2", std::exp2},
               {"sqrt", std::sqrt},
               {"cbrt", std::cbrt},
               {"sinh", std::sinh},
               {"cosh", std::cosh},
               {"tanh", std::tanh},
               {"atan", std::atan},
               {"asinh", std::asinh},
               {"expm1", std::expm1},
               {"log1p", std::log1p},
               {"erf", std::erf},
               {"erfc", std::erfc},
               {"tgamma", std::tgamma},
               {"lgamma", std::lgamma},
               {"floor", std::floor},
               {"ceil", std::ceil},
               {"trunc", std::trunc},
               {"rint", std::rint},
               {"round", std::round},
               {"fabs", std::fabs},
               {"j0", ::j0},
               {"j1", ::j1},
               {"y0", ::y0},
               {"logb", std::logb}};
  std::string declarations;
  std::vector<std::string> expressions;
  for (const Case& c : cases) {
    const std::string name = std::string("__nv_") + c.name;
    declarations +=
        "extern \"C\" __device__ double " + name + "(double); extern \"C\" __device__ float " + name + "f(float);\n";
    expressions.push_back(name + "(x)");
    expressions.push_back(name + "f(f)");
  }
  const std::vector<double> x = samples();
  const auto rows = evaluate(declarations, expressions, x);
  for (size_t c = 0; c < std::size(cases); ++c)
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = cases[c].host(x[i]), single = cases[c].host(double(float(x[i])));
      ASSERT_NEAR(rows[2 * c][i], exact, 1e-14 + 1e-13 * std::fabs(exact)) << cases[c].name << "(" << x[i] << ")";
      ASSERT_NEAR(rows[2 * c + 1][i], single, 2e-6 + 2e-6 * std::fabs(single)) << cases[c].name << "f(" << x[i] << ")";
    }
}

TEST(Libdevice, SpecialFunctionsInvertAndScale) {
  const std::string declarations = R"(
extern "C" __device__ double __nv_erfinv(double); extern "C" __device__ double __nv_erf(double);
extern "C" __device__ double __nv_erfcinv(double); extern "C" __device__ double __nv_erfc(double);
extern "C" __device__ double __nv_normcdf(double); extern "C" __device__ double __nv_normcdfinv(double);
extern "C" __device__ double __nv_erfcx(double); extern "C" __device__ double __nv_exp(double);
extern "C" __device__ double __nv_cyl_bessel_i0(double); extern "C" __device__ double __nv_sinpi(double); extern "C" __device__ double __nv_cospi(double);
extern "C" __device__ double __nv_rsqrt(double); extern "C" __device__ double __nv_norm3d(double, double, double); extern "C" __device__ double __nv_powi(double, int);)";
  std::vector<double> x;
  for (int i = 1; i < 100; ++i) x.push_back(i * 0.01);
  const auto rows = evaluate(
      declarations,
      {"__nv_erf(__nv_erfinv(x))", "__nv_erfc(__nv_erfcinv(x * 1e-8))", "__nv_normcdf(__nv_normcdfinv(x))",
       "__nv_erfcx(30 * x) / (__nv_exp(900 * x * x) * __nv_erfc(30 * x))", "__nv_cyl_bessel_i0(x * 40)",
       "__nv_sinpi(x)", "__nv_cospi(x)", "__nv_rsqrt(x)", "__nv_norm3d(x * 1e200, 2e200, -1e200)", "__nv_powi(x, -3)"},
      x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(rows[0][i], x[i], 1e-14) << x[i];
    ASSERT_NEAR(rows[1][i] / (x[i] * 1e-8), 1, 1e-12) << x[i];
    ASSERT_NEAR(rows[2][i], x[i], 1e-14) << x[i];
    if (x[i] < 0.8) {
      ASSERT_NEAR(rows[3][i], 1, 1e-11) << x[i];
    }
    ASSERT_NEAR(rows[4][i] / std::cyl_bessel_i(0, x[i] * 40), 1, 1e-12) << x[i];
    ASSERT_NEAR(rows[5][i], std::sin(M_PI * x[i]), 1e-15) << x[i];
    ASSERT_NEAR(rows[6][i], std::cos(M_PI * x[i]), 1e-15) << x[i];
    ASSERT_NEAR(rows[7][i], 1 / std::sqrt(x[i]), 1e-14) << x[i];
    ASSERT_NEAR(rows[8][i] / 1e200, std::sqrt(x[i] * x[i] + 5), 1e-14) << x[i];
    ASSERT_NEAR(rows[9][i] * std::pow(x[i], 3), 1, 1e-14) << x[i];
  }
}

TEST(Conversions, SaturateAndTurnNanIntoZeroOrTheSignBit) {
  const std::string declarations = R"(
extern "C" __device__ int __nv_float2int_rz(float); extern "C" __device__ int __nv_float2int_rn(float);
extern "C" __device__ int __nv_float2int_ru(float); extern "C" __device__ int __nv_float2int_rd(float);
extern "C" __device__ unsigned __nv_float2uint_rz(float); extern "C" __device__ long long __nv_double2ll_rz(double);
extern "C" __device__ unsigned long long __nv_double2ull_rz(double); extern "C" __device__ long long __nv_float2ll_rn(float);
extern "C" __device__ int __nv_double2int_rz(double); extern "C" __device__ unsigned __nv_double2uint_rz(double);)";
  const std::vector<double> x = {kNan, kInf, -kInf, 1e20, -1e20, -0.7, 2.5, 3.5, -2.5};
  const auto rows = evaluate(declarations,
                             {"__nv_float2int_rz(f)", "__nv_float2int_rn(f)", "__nv_float2int_ru(f)",
                              "__nv_float2int_rd(f)", "__nv_float2uint_rz(f)", "__nv_double2ll_rz(x)",
                              "__nv_double2ull_rz(x)", "(int)f", "(unsigned)f", "__nv_float2ll_rn(f)", "(long long)f",
                              "__nv_double2int_rz(x)", "(int)x", "(unsigned)x", "__nv_double2uint_rz(x)"},
                             x);
  const double top = 2147483647.0, bottom = -2147483648.0, top64 = 9223372036854775807.0;
  EXPECT_EQ(rows[0], (std::vector<double>{0, top, bottom, top, bottom, 0, 2, 3, -2}));
  EXPECT_EQ(rows[1], (std::vector<double>{0, top, bottom, top, bottom, -1, 2, 4, -2}));
  EXPECT_EQ(rows[2], (std::vector<double>{0, top, bottom, top, bottom, 0, 3, 4, -2}));
  EXPECT_EQ(rows[3], (std::vector<double>{0, top, bottom, top, bottom, -1, 2, 3, -3}));
  EXPECT_EQ(rows[4], (std::vector<double>{0, 4294967295.0, 0, 4294967295.0, 0, 0, 2, 3, 0}));
  // PTX ISA, cvt: NaN is 0 unless the source is double or the result has 64 bits.
  EXPECT_EQ(rows[5], (std::vector<double>{-top64, top64, -top64, top64, -top64, 0, 2, 3, -2}));
  EXPECT_EQ(rows[6], (std::vector<double>{top64, 18446744073709551615.0, 0, 18446744073709551615.0, 0, 0, 2, 3, 0}));
  EXPECT_EQ(rows[9], (std::vector<double>{-top64, top64, -top64, top64, -top64, -1, 2, 4, -2}));
  EXPECT_EQ(rows[10], rows[5]);
  EXPECT_EQ(rows[11], (std::vector<double>{bottom, top, bottom, top, bottom, 0, 2, 3, -2}));
  EXPECT_EQ(rows[12], rows[11]);
  EXPECT_EQ(rows[13], (std::vector<double>{2147483648.0, 4294967295.0, 0, 4294967295.0, 0, 0, 2, 3, 0}));
  EXPECT_EQ(rows[14], rows[13]);
  // A plain cast is one PTX cvt.rzi: it saturates as well.
  EXPECT_EQ(rows[7], rows[0]);
  EXPECT_EQ(rows[8], rows[4]);
}

TEST(Integers, ShiftsEndAtTheRegistersWidth) {
  // The same by blocks of threads, where loops over them become vectors, and for one thread alone.
  TestImage image = build(R"(
__global__ void k(const int* amounts, unsigned* words, long long* doublewords) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = amounts[i];
  words[4 * i] = 0x80000001u << n; words[4 * i + 1] = 0xf0000000u >> n; words[4 * i + 2] = -8 >> n; words[4 * i + 3] = 8 >> n;
  doublewords[3 * i] = 3ull << n; doublewords[3 * i + 1] = (unsigned long long)-1ll >> n; doublewords[3 * i + 2] = -8ll >> n;
})");
  std::vector<int> amounts(64);
  for (int i = 0; i < 64; ++i) amounts[i] = 3 * i - 40;
  for (uint32_t threads : {1u, 64u}) {
    std::vector<unsigned> words(4 * 64);
    std::vector<long long> doublewords(3 * 64);
    ASSERT_TRUE(image.run("k", grid(64 / threads, threads), amounts.data(), words.data(), doublewords.data()).ok());
    for (int i = 0; i < 64; ++i) {
      const unsigned n = unsigned(amounts[i]);
      EXPECT_EQ(words[4 * i], n < 32 ? 0x80000001u << n : 0) << amounts[i];
      EXPECT_EQ(words[4 * i + 1], n < 32 ? 0xf0000000u >> n : 0) << amounts[i];
      EXPECT_EQ(int(words[4 * i + 2]), -8 >> std::min(n, 31u)) << amounts[i];
      EXPECT_EQ(words[4 * i + 3], n < 32 ? 8u >> n : 0) << amounts[i];
      EXPECT_EQ(doublewords[3 * i], (long long)(n < 64 ? 3ull << n : 0)) << amounts[i];
      EXPECT_EQ(doublewords[3 * i + 1], (long long)(n < 64 ? ~0ull >> n : 0)) << amounts[i];
      EXPECT_EQ(doublewords[3 * i + 2], -8ll >> std::min(n, 63u)) << amounts[i];
    }
  }
}

TEST(Integers, DivisionByZeroAnswersInsteadOfFaulting) {
  const auto rows =
      evaluate("", {"7 / (int)x", "7 % (int)x", "(int)(-2147483647 - 1) / ((int)x - 1)", "7u / (unsigned)x"}, {0, 2});
  EXPECT_EQ(rows[0], (std::vector<double>{-1, 3}));
  EXPECT_EQ(rows[1], (std::vector<double>{7, 1}));
  EXPECT_EQ(rows[2], (std::vector<double>{-2147483648.0, -2147483648.0}));
  EXPECT_EQ(rows[3], (std::vector<double>{4294967295.0, 3}));
}

TEST(Rounding, DirectedOperationsBracketTheExactResult) {
  const std::string declarations = R"(
extern "C" __device__ float __nv_fadd_rd(float, float); extern "C" __device__ float __nv_fadd_ru(float, float);
extern "C" __device__ double __nv_ddiv_rd(double, double); extern "C" __device__ double __nv_ddiv_ru(double, double);
extern "C" __device__ float __nv_fmaf_rd(float, float, float); extern "C" __device__ float __nv_fmaf_ru(float, float, float);
extern "C" __device__ float __nv_double2float_rd(double); extern "C" __device__ float __nv_double2float_ru(double);
extern "C" __device__ float __nv_int2float_rd(int); extern "C" __device__ float __nv_int2float_ru(int);)";
  const auto rows =
      evaluate(declarations,
               {"__nv_fadd_rd(1.0f, 1e-10f * f)", "__nv_fadd_ru(1.0f, 1e-10f * f)", "__nv_ddiv_rd(1, x + 2)",
                "__nv_ddiv_ru(1, x + 2)", "__nv_fmaf_rd(f, f, 1e8f)", "__nv_fmaf_ru(f, f, 1e8f)",
                "__nv_double2float_rd(x + 0.1)", "__nv_double2float_ru(x + 0.1)", "__nv_int2float_rd(16777217)",
                "__nv_int2float_ru(16777217)", "1.0f / 3.0f + f * 0"},
               {1, 5, 9});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[0][i], 1.0);
    EXPECT_EQ(rows[1][i], double(std::nextafter(1.0f, 2.0f)));
    EXPECT_EQ(std::nextafter(rows[2][i], 10.0), rows[3][i]);
    EXPECT_EQ(float(rows[5][i]), std::nextafter(float(rows[4][i]), 1e9f));
    EXPECT_EQ(float(rows[7][i]), std::nextafter(float(rows[6][i]), 100.0f));
    EXPECT_EQ(rows[8][i], 16777216.0);
    EXPECT_EQ(rows[9][i], 16777218.0);
    EXPECT_EQ(float(rows[10][i]), 1.0f / 3.0f);  // The rounding mode is back to nearest.
  }
}

/// The bounds are those of the CUDA programming guide, counted from the exact value (half a unit more than from the
/// rounded one).
TEST(FastFunctions, AreWithinTheirDocumentedErrors) {
  const std::string declarations = R"(
#define FAST(name) extern "C" __device__ float __nv_fast_##name(float);
FAST(sinf) FAST(cosf) FAST(tanf) FAST(expf) FAST(exp10f) FAST(logf) FAST(log2f) FAST(log10f) FAST(tanhf)
extern "C" __device__ float __nv_fast_powf(float, float);)";
  std::vector<double> x, angles, positive;
  for (int i = -4000; i <= 4000; ++i) x.push_back(float(i * 0.00937)), angles.push_back(float(i * 0.000785));
  for (int i = 1; i <= 8000; ++i) positive.push_back(float(i < 4000 ? 0.4 + i * 0.0005 : std::pow(1.02, i - 6000)));
  auto units = [](double got, double want) {
    const float rounded = std::abs(float(want));
    return std::abs(got - want) / (std::nextafter(rounded, kInf) - rounded) - 0.5;
  };
  const auto turned = evaluate(declarations, {"__nv_fast_sinf(f)", "__nv_fast_cosf(f)", "__nv_fast_tanf(f)"}, angles);
  for (size_t i = 0; i < angles.size(); ++i) {
    ASSERT_LE(std::abs(turned[0][i] - std::sin(angles[i])), std::exp2(-21.41)) << angles[i];
    ASSERT_LE(std::abs(turned[1][i] - std::cos(angles[i])), std::exp2(-21.19)) << angles[i];
    ASSERT_EQ(float(turned[2][i]), float(turned[0][i]) / float(turned[1][i])) << angles[i];
  }
  const auto raised = evaluate(declarations, {"__nv_fast_expf(f)", "__nv_fast_exp10f(f)", "__nv_fast_tanhf(f)"}, x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_LE(units(raised[0][i], std::exp(x[i])), 2 + std::floor(std::abs(1.173 * x[i]))) << x[i];
    ASSERT_LE(units(raised[1][i], std::pow(10, x[i])), 2 + std::floor(std::abs(2.97 * x[i]))) << x[i];
    ASSERT_LE(std::abs(raised[2][i] - std::tanh(x[i])), std::exp2(-11) * std::abs(std::tanh(x[i]))) << x[i];
  }
  const auto logs =
      evaluate(declarations,
               {"__nv_fast_logf(f)", "__nv_fast_log2f(f)", "__nv_fast_log10f(f)", "__nv_fast_powf(f, 2.5f)"}, positive);
  const std::pair<double (*)(double), std::pair<double, double>> kLogs[] = {
      {std::log, {-21.41, 3}}, {std::log2, {-22, 2}}, {std::log10, {-24, 3}}};
  for (size_t i = 0; i < positive.size(); ++i) {
    for (size_t which = 0; which < 3; ++which) {
      const auto& [exact, bounds] = kLogs[which];
      const double got = logs[which][i], want = exact(positive[i]);
      if (positive[i] >= 0.5 && positive[i] <= 2)
        ASSERT_LE(std::abs(got - want), std::exp2(bounds.first)) << which << " of " << positive[i];
      else ASSERT_LE(units(got, want), bounds.second) << which << " of " << positive[i];
    }
    const double power = std::exp2(double(2.5f * float(logs[1][i])));
    if (power < std::numeric_limits<float>::max())
      ASSERT_LE(std::abs(logs[3][i] - power), std::exp2(-22) * power + std::numeric_limits<float>::denorm_min())
          << positive[i];
  }
}

/// A fast-math candidate must fail here where it would fail on a GPU.
TEST(FastFunctions, AreOffWhereTheHardwareIs) {
  const std::string declarations = R"(
extern "C" __device__ float __nv_fast_sinf(float); extern "C" __device__ float __nv_fast_cosf(float);
extern "C" __device__ float __nv_fast_logf(float); extern "C" __device__ float __nv_fast_expf(float);
extern "C" __device__ float __nv_fast_fdividef(float, float); extern "C" __device__ float __nv_fast_powf(float, float);)";
  const std::vector<double> x = {1e5f, 1e7f, 1.0001f, 85, 3e38f, -1, 0, -kInf, kNan};
  const auto rows = evaluate(declarations,
                             {"__nv_fast_sinf(f)", "__nv_fast_cosf(f)", "__nv_fast_logf(f)", "__nv_fast_expf(f)",
                              "__nv_fast_fdividef(1.0f, f)", "__nv_fast_powf(f, 2.0f)", "1 / __nv_fast_sinf(-f)"},
                             x);
  EXPECT_GT(std::abs(rows[0][0] - std::sin(x[0])), 1e-4);
  EXPECT_GT(std::abs(rows[1][1] - std::cos(x[1])), 0.1);
  EXPECT_GT(std::abs(rows[2][2] / std::log(x[2]) - 1), 1e-5);
  EXPECT_GT(std::abs(rows[3][3] / std::exp(x[3]) - 1), 1e-6);
  EXPECT_EQ(rows[4][4], 0);
  EXPECT_TRUE(std::isnan(rows[5][5])) << "through the logarithm";
  EXPECT_EQ(rows[6][6], -kInf) << "of -0 it is -0";
  EXPECT_EQ(rows[3][7], 0);
  EXPECT_EQ(rows[3][4], kInf);
  EXPECT_EQ(rows[2][6], -kInf);
  for (int which : {0, 1, 2, 3, 4}) EXPECT_TRUE(std::isnan(rows[which][8])) << which;
}

TEST(Minimum, IgnoresNanAndOrdersZeros) {
  const std::string declarations =
      "extern \"C\" __device__ float __nv_fminf(float, float); extern \"C\" __device__ float __nv_fmaxf(float, float);";
  const auto rows =
      evaluate(declarations,
               {"__nv_fminf(f, 2.0f)", "__nv_fmaxf(2.0f, f)", "1 / __nv_fminf(-0.0f, f)", "1 / __nv_fmaxf(-0.0f, f)"},
               {kNan, 1, 3, 0});
  EXPECT_EQ(rows[0], (std::vector<double>{2, 1, 2, 0}));
  EXPECT_EQ(rows[1], (std::vector<double>{2, 2, 3, 2}));
  EXPECT_EQ(rows[2][3], -kInf);
  EXPECT_EQ(rows[3][3], kInf);
}

TEST(Integers, CountPermuteAndMultiplyAsCuda) {
  const std::string declarations = R"(
extern "C" __device__ int __nv_clz(int); extern "C" __device__ int __nv_popc(int); extern "C" __device__ int __nv_ffs(int);
extern "C" __device__ int __nv_brev(int); extern "C" __device__ int __nv_byte_perm(int, int, int); extern "C" __device__ int __nv_mulhi(int, int);
extern "C" __device__ unsigned __nv_umulhi(unsigned, unsigned); extern "C" __device__ unsigned __nv_usad(unsigned, unsigned, unsigned);)";
  const auto rows = evaluate(declarations,
                             {"__nv_clz(x)", "__nv_popc(x)", "__nv_ffs(x)", "(unsigned)__nv_brev(x)",
                              "(unsigned)__nv_byte_perm(0x33221100, 0x77665544, 0x7531)", "__nv_mulhi(-5, 0x40000000)",
                              "__nv_umulhi(0xffffffffu, 0xffffffffu)", "__nv_usad(3, 10, 100)"},
                             {0, 1, 40});
  EXPECT_EQ(rows[0], (std::vector<double>{32, 31, 26}));
  EXPECT_EQ(rows[1], (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(rows[2], (std::vector<double>{0, 1, 4}));
  EXPECT_EQ(rows[3], (std::vector<double>{0, 2147483648.0, 335544320.0}));
  EXPECT_EQ(rows[4][0], double(0x77553311));
  EXPECT_EQ(rows[5][0], -2);
  EXPECT_EQ(rows[6][0], 4294967294.0);
  EXPECT_EQ(rows[7][0], 107);
}

TEST(Assembly, CommonInstructionsMeanWhatPtxSays) {
  TestImage image = build(R"(
__global__ void k(unsigned* out, const float* in, float* floats) {
  unsigned a = 0xdeadbeef, b = 0x12345678, r; unsigned long long w; float f;
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(a), "r"(b), "r"(77u)); out[0] = r;
  asm("bfe.u32 %0, %1, 8, 12;" : "=r"(r) : "r"(a)); out[1] = r;
  asm("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(r) : "r"(0xabu), "r"(b)); out[2] = r;
  asm("prmt.b32 %0, %1, %2, 0x3210;" : "=r"(r) : "r"(a), "r"(b)); out[3] = r;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(w) : "r"(a), "r"(b)); out[4] = w >> 32; out[5] = (unsigned)w;
  asm("{ .reg .pred p; setp.gt.u32 p, %1, %2; selp.u32 %0, 1, 2, p; }" : "=r"(r) : "r"(a), "r"(b)); out[6] = r;
  asm volatile("{ .reg .pred p; setp.eq.u32 p, %1, 1; @p mov.u32 %0, 5; @!p add.u32 %0, %0, 9; }" : "+r"(r) : "r"(r)); out[7] = r;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(0x1111111122222222ull)); out[8] = a; out[9] = b;
  asm("mov.b64 %0, {%1, %2};" : "=l"(w) : "r"(3u), "r"(4u)); out[10] = w == 0x400000003ull;
  asm("ld.global.nc.f32 %0, [%1+4];" : "=f"(f) : "l"(in)); floats[0] = f;
  asm("fma.rn.f32 %0, %1, %2, 0f3F800000;" : "=f"(f) : "f"(f), "f"(2.0f)); floats[1] = f;
  float x, y, z, v;
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(x), "=f"(y), "=f"(z), "=f"(v) : "l"(in));
  asm volatile("st.global.v2.f32 [%0+8], {%1, %2};" :: "l"(floats), "f"(v), "f"(x) : "memory");
  unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(1.5f)); out[11] = h;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((unsigned short)0x4200)); floats[4] = f;
  asm volatile("atom.global.add.u32 %0, [%1], 5;" : "=r"(r) : "l"(&out[12]) : "memory"); out[13] = r;
  asm volatile("red.global.max.u32 [%0], %1;" :: "l"(&out[14]), "r"(99u) : "memory");
  asm("shf.l.wrap.b32 %0, %1, %2, 8;" : "=r"(r) : "r"(0x11223344u), "r"(0x55667788u)); out[15] = r;
  int s; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(s) : "f"(-3.9f)); out[16] = s;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(3.0f)); floats[5] = f;
  asm("shr.u32 %0, %1, 40;" : "=r"(r) : "r"(~0u)); out[17] = r;
  float nan = __builtin_nanf(""); long long wide; unsigned long long ten = 10; unsigned zero = in[0] - 10;
  asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(wide) : "f"(nan)); out[18] = wide >> 32;
  asm("cvt.rni.s32.f64 %0, %1;" : "=r"(r) : "d"((double)nan)); out[19] = r;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(r) : "f"(nan)); out[20] = r;
  asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(1u), "r"(zero + 32)); out[21] = r;
  asm("shr.s64 %0, %1, %2;" : "=l"(wide) : "l"(-8ll), "r"(zero + 70)); out[22] = wide;
  asm("shr.b64 %0, %1, %2;" : "=l"(wide) : "l"(ten << 32), "r"(zero + 33)); out[23] = wide;
  asm("shl.b16 %0, %1, %2;" : "=h"(h) : "h"((unsigned short)3), "r"(zero + 65536)); out[24] = h;
  asm("div.u32 %0, %1, %2;" : "=r"(r) : "r"(7u), "r"(zero)); out[25] = r;
  asm("{ .reg .b16 b; cvt.rn.bf16.f32 b, %1; mov.b16 %0, b; }" : "=h"(h) : "f"(1.00391f)); out[26] = h;
})");
  std::vector<unsigned> out(27);
  std::vector<float> in = {10, 20, 30, 40}, floats(6);
  out[12] = 7;
  ASSERT_TRUE(image.run("k", grid(1, 1), out.data(), in.data(), floats.data()).ok());
  const unsigned a = 0xdeadbeef, b = 0x12345678;
  EXPECT_EQ(out[0], a ^ b ^ 77);
  EXPECT_EQ(out[1], a >> 8 & 0xfff);
  EXPECT_EQ(out[2], (b & ~0xff0u) | 0xab0u);
  EXPECT_EQ(out[3], a);
  EXPECT_EQ(out[4], unsigned(uint64_t(a) * b >> 32));
  EXPECT_EQ(out[5], unsigned(uint64_t(a) * b));
  EXPECT_EQ(out[6], 1u);
  EXPECT_EQ(out[7], 5u);
  EXPECT_EQ(out[8], 0x22222222u);
  EXPECT_EQ(out[9], 0x11111111u);
  EXPECT_EQ(out[10], 1u);
  EXPECT_EQ(out[11], 0x3e00u);
  EXPECT_EQ(out[12], 12u);
  EXPECT_EQ(out[13], 7u);
  EXPECT_EQ(out[14], 99u);
  EXPECT_EQ(out[15], 0x66778811u);
  EXPECT_EQ(int(out[16]), -3);
  EXPECT_EQ(out[17], 0u);
  EXPECT_EQ(std::vector<unsigned>(out.begin() + 18, out.end()),
            (std::vector<unsigned>{0x80000000, 0x80000000, 0, 0, ~0u, 5, 0, ~0u, 0x3f81}));
  EXPECT_EQ(floats, (std::vector<float>{20, 41, 40, 10, 3, 8}));
}

TEST(Assembly, MasksOfBitsEndAtTheWord) {
  TestImage image = build(R"(
__global__ void k(unsigned* out, unsigned from, unsigned count) {
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(out[0]) : "r"(from), "r"(count));
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(out[1]) : "r"(from), "r"(count));
})");
  const unsigned kCases[][4] = {
      {4, 8, 0xff0, 0xff0}, {28, 8, 0xf0000000, 0xf0000000}, {0, 32, ~0u, 0}, {33, 2, 0, 6}, {5, 0, 0, 0}};
  for (auto [from, count, clamped, wrapped] : kCases) {
    std::vector<unsigned> out(2);
    ASSERT_TRUE(image.run("k", grid(1, 1), out.data(), from, count).ok());
    EXPECT_EQ(out, (std::vector<unsigned>{clamped, wrapped})) << from << " " << count;
  }
}

/// cub's blocks hand a value and its state to later blocks so.
TEST(Assembly, AtomicVectorsAreSeenWhole) {
  TestImage image = build(R"(
__global__ void k(unsigned long long* pairs, unsigned* torn) {
  for (unsigned long long i = 1; i <= 20000; ++i) {
    if (blockIdx.x == 0) {
      asm volatile("st.relaxed.gpu.v2.u64 [%0], {%1, %2};" :: "l"(pairs), "l"(i), "l"(~i) : "memory");
      asm volatile("st.release.gpu.v2.u32 [%0], {%1, %2};" :: "l"(pairs + 2), "r"((unsigned)i), "r"(~(unsigned)i) : "memory");
    } else {
      unsigned long long a, b; unsigned c, d;
      asm volatile("ld.relaxed.gpu.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(pairs) : "memory");
      asm volatile("ld.acquire.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(c), "=r"(d) : "l"(pairs + 2) : "memory");
      if (a != ~b || c != ~d) atomicAdd(torn, 1);
    }
  }
})");
  alignas(16) unsigned long long pairs[] = {0, ~0ull, 0xffffffff00000000, 0};
  unsigned torn = 0;
  ASSERT_TRUE(image.run("k", grid(2, 1), pairs, &torn).ok());
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(pairs[0], 20000u);
  EXPECT_EQ(pairs[2], 0xffffffff00000000 - (20000ull << 32) + 20000);
}

TEST(Assembly, ShufflesVotesAndSharedAddresses) {
  TestImage image = build(R"(
__global__ void k(unsigned* out) {
  __shared__ unsigned box[32];
  unsigned t = threadIdx.x, r, m;
  asm volatile("{ .reg .pred p; shfl.sync.down.b32 %0|p, %1, 4, 31, 0xffffffff; @!p mov.u32 %0, 1000; }" : "=r"(r) : "r"(t));
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 5; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(m) : "r"(t));
  unsigned address;
  asm("{ .reg .u64 a; cvta.to.shared.u64 a, %1; cvt.u32.u64 %0, a; }" : "=r"(address) : "l"(&box[t]));
  asm volatile("st.shared.u32 [%0], %1;" :: "r"(address), "r"(t * 3) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  out[t] = r; out[32 + t] = m; out[64 + t] = box[31 - t];
})");
  std::vector<unsigned> out(96);
  ASSERT_TRUE(image.run("k", grid(1, 32), out.data()).ok());
  for (unsigned t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], t + 4 < 32 ? t + 4 : 1000);
    EXPECT_EQ(out[32 + t], 31u);
    EXPECT_EQ(out[64 + t], 3 * (31 - t));
  }
}

TEST(Assembly, AddsBfloat16sAtomicallyEachRoundedOnce) {
  TestImage image = build(R"(
__global__ void k(unsigned short* sum, unsigned short one) {
  unsigned short old;
  asm volatile("{ atom.add.noftz.bf16 %0, [%1], %2; }" : "=h"(old) : "l"(sum), "h"(one) : "memory");
})");
  std::vector<uint16_t> sum = {0x3f80};  // 1
  ASSERT_TRUE(image.run("k", grid(4, 128), sum.data(), uint16_t(0x3f80)).ok());
  EXPECT_EQ(sum[0], 0x4380);  // 256, which has no 257 after it: 1 added to it is lost, as on a GPU.
}

TEST(Assembly, OfAWrongTypeSpoilsNoOtherKernelsOperation) {
  LowerOptions options;
  options.leave_out_refused = true;
  TestImage image = build(R"(
__global__ void wrong(int* p) { int x; asm volatile("match.any.sync.b128 %0, %1, %2;" : "=r"(x) : "r"(p[0]), "r"(~0u)); p[0] = x; }
__global__ void right(int* p) { int x; asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(x) : "r"(p[threadIdx.x]), "r"(~0u)); p[threadIdx.x] = x; })",
                          options);
  EXPECT_EQ(image.mode("wrong"), "refused");
  std::vector<int> values(32);
  for (int i = 0; i < 32; ++i) values[i] = i / 16;
  ASSERT_TRUE(image.run("right", grid(1, 32), values.data()).ok());
  EXPECT_EQ(values[0], 0xffff);
  EXPECT_EQ(unsigned(values[31]), 0xffff0000u);
}

}  // namespace
}  // namespace kernelift::cpu
