// Which names a changed text brings, and which of them an application has already.
#include "core/compiler/written/introduced_names.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

const char* const kKernelText =
    "#define B 64\nstruct Body { float x; };\n__global__ void map(const Body* in, float* out) { out[B] = in->x; }\n";

std::set<std::string> declared(const std::string& added) {
  return introduced_names(kKernelText, kKernelText + added).declared;
}
using Names = std::set<std::string>;

TEST(IntroducedNames, AreTheDeclarationsOfEveryNamespace) {
  EXPECT_EQ(declared("template <class T, int N = 4> __device__ __forceinline__ T damp(T v, float4 w) { T near = v; "
                     "return near; }\n"),
            Names{"damp"});
  EXPECT_EQ(
      declared(
          "constexpr int kTile = 32, kOther = MORE; __device__ float4 table[kTile]; static __device__ int n{3};\n"),
      (Names{"kTile", "kOther", "table", "n"}));
  EXPECT_EQ(declared("struct alignas(16) Four : Body { float y; __device__ float sum() const { return y; } } all;\n"),
            (Names{"Four", "all"}));
  EXPECT_EQ(
      declared("namespace near { namespace { enum Side { Left, Right = 4 }; enum class Kind { One }; } int at; }\n"),
      (Names{"near", "Side", "Left", "Right", "Kind", "One", "at"}));
  EXPECT_EQ(declared("using Real = double; typedef float4 Vec; template <class T> using Box = Pair<T, 2>;\n"),
            (Names{"Real", "Vec", "Box"}));
  EXPECT_EQ(declared("__device__ float4 operator+(float4 a, float4 b); __device__ bool operator==(Body, Body);\n"),
            (Names{"operator+", "operator=="}));
  EXPECT_EQ(
      declared("__launch_bounds__(128) __global__ void beside(Pair<float, 4> p);\n#define SCALE(x) (x)\nint after;\n"),
      (Names{"beside", "after"}));
  EXPECT_EQ(
      declared(
          "template <class T> __device__ auto f(T t) -> decltype(t.x) { return t.x; }\nextern \"C\" { int g(); }\n"),
      (Names{"f", "g"}));
  EXPECT_EQ(
      declared("template <> struct Traits<Body> { static const int size = 2; };\nfloat Body::later() { return x; }\n"),
      Names{"Traits"});
  EXPECT_EQ(
      declared(
          "__global__ void map(Body* b, int count) { auto SCALE = [](float v) { return v; }; b->x = SCALE(1); }\n"),
      Names{});
}

TEST(IntroducedNames, AllWordsAreComparedWithMacros) {
  auto names = introduced_names(
      kKernelText,
      std::string(kKernelText) + "__device__ void f() { auto SCALE = [](float v) { return v; }; SCALE(FLT_MAX); }");
  EXPECT_TRUE(names.words.contains("SCALE"));
  EXPECT_FALSE(names.words.contains("Body"));
  EXPECT_NE(first_clash(names, {}, macros_of("#  define SCALE(x) ((x) * 0.5f)\n")).find("'SCALE'"), std::string::npos);
  EXPECT_NE(first_clash(names, {}, macros_of("#if 0\n#define v 4\n#endif\n")), "");
  EXPECT_EQ(first_clash(names, {}, macros_of("#define FLT_MAX 1e38f\n#define B 64\n")), "");
}

TEST(IntroducedNames, AnOverloadOfTheApplicationClashes) {
  auto names = introduced_names(
      kKernelText, std::string(kKernelText) + "template <class T> __device__ float damp(T v) { return v; }\n");
  EXPECT_NE(
      first_clash(names, words_of("__device__ inline float damp(float v) { return v * 0.5f; }\n"), {}).find("'damp'"),
      std::string::npos);
  EXPECT_EQ(first_clash(names, words_of("__device__ inline float damped(float v, float T);\n"), {}), "");
  auto sum = introduced_names(kKernelText,
                              std::string(kKernelText) + "template <class T> __device__ T operator + (T a, Body b);\n");
  EXPECT_NE(first_clash(sum, words_of("float4 operator+(float4, float4);"), {}), "");
  EXPECT_EQ(first_clash(sum, words_of("float4 operator-(float4, float4); int x = 1 + 2;"), {}), "");
}

TEST(StaticFunctions, AreTheNewOnesThatOtherFilesCouldLink) {
  const std::string own = "__device__ float known(float x) { return x; }\n";
  auto made = [&](const std::string& text) { return with_static_functions(own, own + text).substr(own.size()); };
  EXPECT_EQ(made("// A helper.\n__device__ float f(float x);\n__device__ float f(float x) { return x; }\n"),
            "// A helper.\nstatic __device__ float f(float x);\nstatic __device__ float f(float x) { return x; }\n");
  EXPECT_EQ(made("namespace a {\nfloat __device__ g() { return 1; }\n}\n"),
            "namespace a {\nstatic float __device__ g() { return 1; }\n}\n");
  EXPECT_EQ(made("[[nodiscard]] __device__ int h() { return 1; }\n"),
            "[[nodiscard]] static __device__ int h() { return 1; }\n");
  EXPECT_EQ(made("__device__ float2 operator+(float2 a, float2 b) { return a; }\n"),
            "static __device__ float2 operator+(float2 a, float2 b) { return a; }\n");
  EXPECT_EQ(made("__device__ float x(float y) { return y; }\n"), "static __device__ float x(float y) { return y; }\n")
      << "a parameter of the own text has the name, no function";
  for (std::string same :
       {"static __device__ int s();\n", "__device__ inline int i() { return 1; }\n",
        "__device__ __forceinline__ int j() { return 1; }\n", "template <class T> __device__ T t(T x) { return x; }\n",
        "__device__ constexpr int c() { return 1; }\n", "__global__ void k(int* x) { f(x); }\n",
        "struct S {\n  __device__ int m() { return 1; }\n};\n", "__device__ float known(int x) { return x; }\n",
        "__device__ int S::n() { return 1; }\n", "int x = (1);\n", "#define F __device__ int f(int)\n"})
    EXPECT_EQ(made(same), same);
}

}  // namespace
}  // namespace kernelift
