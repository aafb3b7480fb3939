// Tests of vectorised_accesses and sliding_window, as text before and after. Every rewritten text must parse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tuner/source/tests/rule_text.h"

namespace kernelift::tuner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Bindings kFour = {{"width", 4}}, kTwo = {{"width", 2}};

const std::string kScale = R"(__global__ void k(const float* x, float* out, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  // In bounds.
  if (i < n) out[i] = by * x[i];
}
)";

const std::string kVolume = R"(__global__ void k(const float* u, float* v, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int plane = nx * ny;
  if (x < nx && y < ny) {
    // Planes inside.
    for (int z = 1; z < nz - 1; ++z) {
      int at = z * plane + y * nx + x;
      v[at] = u[at - plane] + u[at] + u[at + plane];
    }
  }
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  KERNELIFT_ASSERT(at != text.npos, "a test changes what there is");
  return text.replace(at, from.size(), to);
}

std::string reason(const char* rule, const std::string& text, const Bindings& values, RuleContext known = facts()) {
  std::string why;
  known.declined = [&](const Rule&, const std::string& sentence) { why = sentence; };
  EXPECT_TRUE(offers(rule, text, values, known).empty());
  return why;
}

std::vector<std::string> premises(const Opportunity& offer) {
  std::vector<std::string> texts;
  for (auto& premise : offer.premises) texts.push_back(premise.text());
  return texts;
}

TEST(VectorisedAccesses, LoadAndStoreFourAtOnceAndTheRestOneByOne) {
  EXPECT_EQ(after("vectorised_accesses", kScale, kFour),
            R"(__global__ void k(const float* x, float* out, float by, int n) {
  int i_first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  // In bounds.
  if (i_first + 3 < n) {
    // Each thread accesses 4 elements at once.
    alignas(16) float x_values[4];
    alignas(16) float out_values[4];
    *reinterpret_cast<float4*>(x_values) = *reinterpret_cast<const float4*>(&x[i_first]);
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
      out_values[u] = by * x_values[u];
    }
    *reinterpret_cast<float4*>(&out[i_first]) = *reinterpret_cast<const float4*>(out_values);
  } else {
    for (int i = i_first; i < n; ++i) {
      out[i] = by * x[i];
    }
  }
}
)");
  auto found = offers("vectorised_accesses", kScale, kFour);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].launch.at("gx").text(), "ceil_div(gx, 4)");
  EXPECT_THAT(premises(found[0]), ElementsAre("out is a multiple of 16 bytes", "x is a multiple of 16 bytes"));
}

TEST(VectorisedAccesses, TakeRowsWhoseLengthIsAMultiple) {
  const std::string text = R"(#define PITCH 256
__global__ void k(const double* a, double* out, int w, int h) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int at = y * PITCH + x;
  out[at] = a[at] + a[0];
}
)";
  auto found = offers("vectorised_accesses", text, kTwo, plane());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(premises(found[0]), ElementsAre("a is a multiple of 16 bytes", "out is a multiple of 16 bytes"));
  EXPECT_THAT(after("vectorised_accesses", text, kTwo, 0, plane()), HasSubstr(R"(
  if (y >= h) return;
  if (x_first + 1 < w) {
    // Each thread accesses 2 elements at once.
    int at_first = y * PITCH + x_first;
    alignas(16) double a_values[2];
    alignas(16) double out_values[2];
    *reinterpret_cast<double2*>(a_values) = *reinterpret_cast<const double2*>(&a[at_first]);
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
      out_values[u] = a_values[u] + a[0];
    }
    *reinterpret_cast<double2*>(&out[at_first]) = *reinterpret_cast<const double2*>(out_values);
  } else {
    for (unsigned x = x_first; x < w; ++x) {
      int at = y * PITCH + x;
      out[at] = a[at] + a[0];
    }
  }
)"));
  EXPECT_TRUE(offers("vectorised_accesses", text, kFour, plane()).empty()) << "32 bytes";
  EXPECT_EQ(reason("vectorised_accesses", replaced(text, "256", "w"), kTwo, plane()),
            "the elements along x: whether `a` is accessed at multiples of the width is not known");
}

TEST(VectorisedAccesses, KeepTheIndexWhereItIsAValue) {
  EXPECT_THAT(after("vectorised_accesses", replaced(kScale, "by *", "i *"), kFour),
              HasSubstr("      int i = i_first + u;\n      out_values[u] = i * x_values[u];\n"));
  EXPECT_THAT(after("vectorised_accesses", replaced(kScale, "] = by", "] += by"), kFour),
              HasSubstr("*reinterpret_cast<float4*>(out_values) = *reinterpret_cast<const float4*>(&out[i_first]);"));
}

TEST(VectorisedAccesses, AskForTheSizeOfATypeThatTheProgramNames) {
  auto of_type = [](const std::string& define, const std::string& name) {
    return define + replaced(replaced(kScale, "const float* x", "const " + name + "* x"), "float* out", name + "* out");
  };
  for (auto& [define, name] : std::map<std::string, std::string>{{"typedef float real;\n", "real"},
                                                                 {"using real = float;\n", "real"},
                                                                 {"#define DATA_TYPE float\n", "DATA_TYPE"}}) {
    const std::string text = after("vectorised_accesses", of_type(define, name), kFour);
    EXPECT_THAT(text, HasSubstr("  if (sizeof(" + name + ") == 4 && i_first + 3 < n) {\n"));
    EXPECT_THAT(text, HasSubstr("    alignas(16) " + name + " x_values[4];\n"));
    EXPECT_THAT(text, HasSubstr("    for (int i = i_first; i < i_first + 4 && i < n; ++i) {\n"));
  }
}

TEST(VectorisedAccesses, TakeGridStrideLoops) {
  const std::string direct = R"(__global__ void k(const float* x, float* out, float by, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    out[i] = by * x[i];
}
)",
                    named = R"(__global__ void k(const float* x, float* out, float by, int n) {
  const int first = threadIdx.x + blockIdx.x * blockDim.x;
  const int stride = gridDim.x * blockDim.x;
  for (int i = first; i < n; i += stride) {
    // Scaled.
    const float value = x[i];
    out[i] = by * value;
  }
}
)";
  EXPECT_EQ(after("vectorised_accesses", direct, kFour),
            R"(__global__ void k(const float* x, float* out, float by, int n) {
  for (int i_first = (blockIdx.x * blockDim.x + threadIdx.x) * 4; i_first < n; i_first += (blockDim.x * gridDim.x) * 4) {
    if (i_first + 3 < n) {
      // Each thread accesses 4 elements at once.
      alignas(16) float x_values[4];
      alignas(16) float out_values[4];
      *reinterpret_cast<float4*>(x_values) = *reinterpret_cast<const float4*>(&x[i_first]);
      #pragma unroll
      for (int u = 0; u < 4; ++u) {
        out_values[u] = by * x_values[u];
      }
      *reinterpret_cast<float4*>(&out[i_first]) = *reinterpret_cast<const float4*>(out_values);
    } else {
      for (int i = i_first; i < n; ++i) {
        out[i] = by * x[i];
      }
    }
  }
}
)");
  EXPECT_THAT(after("vectorised_accesses", named, kFour), HasSubstr(R"(
  for (int i_first = (first) * 4; i_first < n; i_first += (stride) * 4) {
    if (i_first + 3 < n) {
)"));
  auto found = offers("vectorised_accesses", named, kFour);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].launch.empty()) << "any grid executes all iterations";
  auto none = [&](const std::string& from, const std::string& to) {
    return offers("vectorised_accesses", replaced(named, from, to), kFour).empty();
  };
  EXPECT_TRUE(none("by * value", "first * value")) << "a thread learns which iterations are its own";
  EXPECT_TRUE(none("i += stride", "i += 2 * stride"));
  EXPECT_TRUE(none("    out[i]", "    if (value > 3) continue;\n    out[i]"));
  EXPECT_TRUE(none("  for", "  if (first < n) out[first] = 0;\n  for")) << "of an element that another thread writes";
}

TEST(VectorisedAccesses, SayWhyAccessesStayAsTheyAre) {
  auto why = [](const std::string& from, const std::string& to) {
    return reason("vectorised_accesses", replaced(kScale, from, to), kFour);
  };
  const std::string of = "the elements along i: ";
  EXPECT_EQ(why("if (i < n) out", "if (i < n) if (by > 0) out"), of + "`out` is stored to under a condition");
  EXPECT_EQ(why("x[i]", "x[i + 1]"), of + "whether `x` is accessed at multiples of the width is not known");
  EXPECT_EQ(why("x[i]", "out[i + 4]"), of + "`out` is accessed at several elements");
  EXPECT_EQ(why("if (i < n)", "if (i > 0 && i < n)"), of + "a condition on i is more than upper bounds");
  EXPECT_EQ(why("out[i] =", "out[0] = out[i] ="), of + "`out` is accessed at several elements");
  RuleContext aliased = facts();
  aliased.shared_pointers = {0, 1};
  EXPECT_EQ(reason("vectorised_accesses", kScale, kFour, aliased), of + "`out` may overlap what the kernel reads");
}

TEST(VectorisedAccesses, LeaveOtherKernelsAlone) {
  auto none = [](const std::string& text, const RuleContext& known = facts()) {
    return reason("vectorised_accesses", text, kFour, known);
  };
  EXPECT_EQ(none(kProduct), "");
  EXPECT_EQ(none(kGemm, plane()), "");
  EXPECT_EQ(none(replaced(kScale, "out[i] = by * x[i]", "out[2 * i] = x[2 * i]")), "");
  EXPECT_EQ(none(kScale, facts(3)), "") << "fewer blocks than elements of a thread";
}

TEST(SlidingWindow, KeepsWhatIterationsShare) {
  EXPECT_EQ(after("sliding_window", kVolume, {}, 0, plane()),
            replaced(replaced(kVolume, "    for (int z", R"(    // What iterations over z share of u stays in registers.
    float u_window[3];
    for (int z)"),
                     "      v[at] = u[at - plane] + u[at] + u[at + plane];\n", R"(      if (z == 1) {
        u_window[0] = u[at - plane];
        u_window[1] = u[at];
      }
      u_window[2] = u[at + plane];
      v[at] = u_window[0] + u_window[1] + u_window[2];
      u_window[0] = u_window[1];
      u_window[1] = u_window[2];
)"));
  auto found = offers("sliding_window", kVolume, {}, plane());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(premises(found[0]), ElementsAre("u overlaps no other array"));
  EXPECT_TRUE(found[0].launch.empty());
}

TEST(SlidingWindow, SaysWhyALoopIsLeftAlone) {
  auto why = [](const std::string& from, const std::string& to) {
    return reason("sliding_window", replaced(kVolume, from, to), {}, plane());
  };
  EXPECT_EQ(why(" + u[at] + u[at + plane]", " + u[at + plane]"),
            "the loop over z: it reads u at distances larger than one");
  RuleContext aliased = plane();
  aliased.shared_pointers = {0, 1};
  EXPECT_EQ(reason("sliding_window", kVolume, {}, aliased), "the loop over z: `u` may overlap what the kernel stores");
  EXPECT_EQ(why("++z", "z += 2"), "");
  EXPECT_EQ(why("      v[at] =", "      if (u[at] > 3) continue;\n      v[at] ="), "");
  EXPECT_EQ(why("      v[at] =", "      if (z % 2) v[at] ="), "");
  EXPECT_EQ(why("      int at", "      plane += 1;\n      int at"), "");
}

}  // namespace
}  // namespace kernelift::tuner
