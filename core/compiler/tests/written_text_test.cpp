// Which texts a candidate may add, by its tokens alone: every spelling of what it may not, and the honest ones.
#include "core/compiler/written/written_text.h"

#include <gtest/gtest.h>

#include "core/compiler/written/source_tokens.h"

namespace kernelift {
namespace {

const char* const kOwn =
    "#include <cstdint>\n"
    "#define B 64\n"
    "#define AT(r, c) ((r) * n + (c))\n"
    "#pragma once\n"
    "#ifdef SOMETHING\n"
    "#endif\n"
    "extern \"C\" __global__ void k(float* x, int n) { x[AT(0, 1)] = B; }\n";

/// Why the text may not be added to kOwn; empty if it may.
std::string refusal(const std::string& added, const std::string& own = kOwn) {
  return OwnText(own).first_refusal(written_constructs(own + added), "kernel.cu");
}
std::string rule_of(const std::string& added) {
  std::string why = refusal(added);
  return why.substr(0, why.find(':'));
}

TEST(WrittenText, AdmitsWhatTheOwnTextContains) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(OwnText(kOwn).first_refusal(written_constructs("// All of it deleted.\n"), "kernel.cu"), "");
}

TEST(WrittenText, AdmitsDeviceCode) {
  for (const char* text : {
           "__device__ __forceinline__ float f(float x) { return x; }\n",
           "template <int N> __launch_bounds__(128, 2) __global__ void g(float* __restrict__ x) { x[N] = 1; }\n",
           "struct alignas(16) Pair { float a, b; };\nstruct __align__(8) Other { int a, b; };\n",
           "struct __attribute__((aligned(16))) Pair { float a, b; };\n",
           "[[nodiscard]] __device__ int f() { if (true) [[likely]] return 1; return 2; }\n",
           "__device__ void f([[maybe_unused]] int x) { int a[4] = {1}; a[a[0]] = 2; }\n",
           "__device__ __attribute__((noinline, unused)) void f();\n",
           "constexpr int kTile = 32;\nconst char* const kText = \"#include <x> ?\";\n",
           "// #include <x>\n/* #define system */\n",
           "__device__ int f(int x) { return x <<1 >> 2, x ? 1 : 2; }\n",
       })
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(WrittenText, AdmitsPragmasThatOnlyAdviseTheOptimiser) {
  for (const char* text :
       {"#pragma unroll\n", "#pragma unroll 4\n", "#pragma unroll(N / 2)\n", "#pragma nounroll\n",
        "#pragma GCC unroll 4\n", "#pragma GCC ivdep\n", "#pragma clang loop unroll(full) vectorize_width(4)\n",
        "#pragma clang fp contract(fast)\n", "#pragma STDC FP_CONTRACT ON\n", "#pragma nv_diag_suppress 177, 550\n",
        "#  pragma   unroll /* four */ 4\n", "_Pragma(\"unroll 4\")\n", "%:pragma unroll\n",
        "#define LOOP _Pragma(\"unroll 8\")\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(WrittenText, RefusesPragmasThatOnlyBeginLikeThose) {
  for (const char* text : {"#pragma unrollx\n",
                           "#pragma unroll \"x\"\n",
                           "#pragma nounroll 4\n",
                           "#pragma GCC unroll 4 poison\n",
                           "#pragma clang loop unroll(full) poison\n",
                           "#pragma clang loop\n",
                           "#pragma clang fp exceptions(strict)\n",
                           "#pragma nv_diag_suppress\n",
                           "#pragma nv_diag_error 177\n",
                           "#pragma push_macro(\"B\")\n",
                           "#pragma pack(1)\n",
                           "#pragma weak main\n",
                           "#pragma omp parallel\n",
                           "#pragma GCC poison malloc\n",
                           "#pragma clang optimize off\n",
                           "#pragma\n",
                           "_Pragma(\"pack(1)\")\n",
                           "_Pragma(\"unroll\" \"x\")\n",
                           "_Pragma(R\"(unroll)\")\n",
                           "__pragma(pack(1))\n",
                           "_Prag\\\nma(\"pack(1)\")\n",
                           "#define P _Pragma(\"GCC poison malloc\")\n",
                           "_Pragma(\"unroll\\npack(1)\")\n"})
    EXPECT_EQ(rule_of(text), "pragma") << text;
}

TEST(WrittenText, NoSpellingHidesADirectiveThatReadsAFile) {
  for (const char* text :
       {"#include \"/etc/passwd\"\n", "# \\\ninclude \"x\"\n", "#inc\\\nlude \"x\"\n", "%:include \"x\"\n",
        "%\\\n:include \"x\"\n", "/* a\n */ #include \"x\"\n", "#/* */include/* */\"x\"\n", "#include WHERE\n",
        "#include_next <x>\n", "#import <x>\n", "#if 0\n#include \"x\"\n#endif\n", "\t#\tinclude <cstdint>\n",
        "#ifdef __CUDA_ARCH__\n#else\n#include <x>\n#endif\n", "#\\\r\ninclude \"x\"\n"})
    EXPECT_EQ(rule_of(text), "include") << text;
  for (const char* text :
       {"#embed \"/etc/passwd\"\n", "#em\\\nbed \"/etc/passwd\"\n", "%:embed \"x\"\n", "#\\\nembed \"x\"\n",
        "#if 0\n#em\\\nbed \"x\"\n#endif\n", "# /* */ embed WHERE\n", "#embed __FILE__ limit(1)\n"})
    EXPECT_EQ(rule_of(text), "embed") << text;
  for (const char* text : {"#if __has_include(\"x\")\n#endif\n", "#if __has_em\\\nbed(\"x\")\n#endif\n",
                           "#if __has_include_next(\"x\")\n#endif\n", "#define HAS __has_include(\"x\")\n",
                           "int x = __has_embed(\"x\");\n"})
    EXPECT_EQ(rule_of(text), "probe") << text;
}

TEST(WrittenText, ASecondUseOfAnOwnDirectiveIsNotItsOwn) {
  EXPECT_EQ(rule_of("#include <cstdint>\n"), "include");
  EXPECT_EQ(refusal("#define B 64\n").substr(0, 5), "") << "the same value again changes nothing";
}

TEST(WrittenText, RefusesOtherDirectives) {
  for (const char* text : {"#undef B\n", "#un\\\ndef B\n"}) EXPECT_EQ(rule_of(text), "undef");
  for (const char* text : {"#line 1 \"x.h\"\n", "# 1 \"x.h\" 1 3\n", "#line __LINE__\n"})
    EXPECT_EQ(rule_of(text), "line") << text;
  for (const char* text : {"#error no\n", "#warning no\n", "#ident \"x\"\n", "#assert a(b)\n", "#unknown\n"})
    EXPECT_EQ(rule_of(text), "directive") << text;
  for (const char* text : {"import <vector>;\n", "module;\n", "export module a;\n", "imp\\\nort <vector>;\n"})
    EXPECT_EQ(rule_of(text), "module") << text;
}

TEST(WrittenText, AdmitsMacrosUnderNewNames) {
  for (const char* text :
       {"#define TILE 32\n", "#define TWICE(x) (2 * (x))\n", "#define EMPTY\n", "#if B > 4\n#define HALF 2\n#endif\n",
        "#define LONG \\\n  32\n", "#define B 32\n", "#define B (2 * 16)\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(WrittenText, RefusesMacrosUnderNamesThatMeanSomething) {
  for (const char* text : {"#define int long\n",
                           "#define for if (0) for\n",
                           "#define private public\n",
                           "#define main hidden\n",
                           "#define __device__ __host__ __device__\n",
                           "#define _Pragma(x)\n",
                           "#define AT(r, c) 0\n",
                           "#define B(x) x\n",
                           "#define B run()\n",
                           "#define k other\n",
                           "#define x y\n",
                           "#de\\\nfine n 4\n",
                           "%:define float double\n",
                           "#define TILE 1\n#define TILE 2\n",
                           "#define\n",
                           "__device__ int LATE;\n#define LATE 1\n",
                           "#define PASTE(a, b) a##b\n",
                           "#define PASTE(a, b) a %:%: b\n",
                           "#define TEXT(x) #x\n",
                           "#define TEXT(x) %: x\n",
                           "#define P(x) _Pragma(#x)\n",
                           "#define if while\n",
                           "#define and or\n",
                           "#define SOMETHING 1\n",
                           "#define override\n#define my__name 1\n"})
    EXPECT_EQ(rule_of(text), "macro") << text;
}

TEST(WrittenText, RefusesAttributesOutsideOfTheList) {
  for (const char* text :
       {"__attribute__((constructor)) __device__ void f() {}\n", "__attribute__((const, section(\"x\"))) int a;\n",
        "__attri\\\nbute__((constructor)) void f();\n", "[[gnu::constructor]] void f();\n", "[[noreturn]] void f();\n",
        "[[using gnu: constructor]] void f();\n", "<:<:gnu::constructor:>:> void f();\n",
        "__attribute((weak)) int a;\n", "__declspec(dllexport) int a;\n",
        "__attribute__((__ifunc__(\"f\"))) void g();\n", "[[vendor::nodiscard]] int f();\n",
        "[[deprecated]] [[clang::annotate(\"x\")]] int f();\n", "#define RUN __attribute__((constructor))\n",
        "__attribute__(()) int a;\n__attribute__\n"})
    EXPECT_EQ(rule_of(text), "attribute") << text;
}

TEST(WrittenText, RefusesInstantiationsOfTemplates) {
  for (const char* text :
       {"template struct Box<double>;\n", "extern template int f<int>(int);\n", "template\nclass Box<int>;\n",
        "#define MADE template\nMADE struct Box<int>;\n", "#define MADE(x) template x\n",
        "const int n = 1\n#define MADE template\n< 2;\n", "#define X ::\ntemplate struct Box<int>;\n"})
    EXPECT_EQ(rule_of(text), "instantiation") << text;
  for (const char* text :
       {"template <class T> __device__ int f(T t) { return t.template get<1>() + T::template of<2>::x; }\n",
        "template\n<class T> struct Box;\n", "template __global__ void g<4>(float*);\n",
        "#\ntemplate <> struct Box<int>;\n", "#define HEAD template <class T>\n"})
    EXPECT_EQ(refusal(text), "") << text;
  EXPECT_EQ(refusal("template struct Box<double>;\n", std::string(kOwn) + "template struct Box<double>;\n"), "");
}

TEST(WrittenText, RefusesConditionalsThatAreNotClosedOrDifferByCompiler) {
  for (const char* text : {"#if 0\n", "#endif\n", "#else\n", "#if 1\n#else\n", "#if 1\n#endif\n#endif\n",
                           "#ifdef __clang__\n#endif\n", "#if __GNUC__ > 4\n#endif\n", "#elif 1\n",
                           "#if 1\n#elif defined(__clang__)\n#endif\n", "#if 0\n#\\\nendif\n#endif\n"})
    EXPECT_EQ(rule_of(text), "conditional") << text;
}

TEST(WrittenText, RefusesConditionalsThatOneArchitectureOfSeveralFulfils) {
  for (const char* text :
       {"#if __CUDA_ARCH__ >= 800\n#endif\n", "#if (__CUDA_ARCH__) == 900\n#endif\n",
        "#if 1\n#elif __CUDA_ARCH__ != 900\n#endif\n", "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 1\n#endif\n"})
    EXPECT_EQ(rule_of(text), "conditional") << text;
  for (const char* text : {"#ifdef __CUDA_ARCH__\n#endif\n", "#if defined __CUDA_ARCH__\n#endif\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(WrittenText, RefusesPromisesAboutFunctions) {
  for (const char* text : {"__attribute__((const)) __device__ int f();\n", "[[gnu::pure]] __device__ int f();\n"})
    EXPECT_EQ(rule_of(text), "attribute") << text;
}

TEST(WrittenText, AConditionAsksOnlyWhatTheTextItselfDefines) {
  for (const char* text :
       {"#ifndef _GLIBCXX_VECTOR\n#endif\n", "#ifdef NDEBUG\n#endif\n", "#if defined(EOF) && B > 4\n#endif\n",
        "#if 1\n#elifdef OTHER\n#endif\n", "#if B == CHAR_BIT\n#endif\n",
        "#if defined(X) || __has_include(<x>)\n#endif\n", "#if 0\n#ifdef OTHER\n#endif\n#endif\n"})
    EXPECT_EQ(rule_of(text), "conditional") << text;
  for (const char* text : {"#define TILE 8\n#if TILE > 4\n#endif\n", "#if B > 4 and true\n#else\n#endif\n",
                           "#ifdef SOMETHING\n#endif\n", "#if defined(__CUDA_ARCH__) && !defined(B)\n#endif\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(WrittenText, RefusesWhatAnotherCompilerPlaceOrBuildMakesAnotherValueOf) {
  for (const char* word : {"__GXX_ABI_VERSION",
                           "__PRETTY_FUNCTION__",
                           "__func__",
                           "__FUNCTION__",
                           "__VERSION__",
                           "__clang__",
                           "__GNUC__",
                           "__NVCC__",
                           "__CUDACC_VER_MAJOR__",
                           "__LINE__",
                           "__FILE__",
                           "__COUNTER__",
                           "__TIME__",

                           "__builtin_LINE()",
                           "__builtin_COLUMN()",
                           "__builtin_FILE()",
                           "__builtin_FUNCTION()",
                           "__builtin_execl(\"\")",
                           "__builtin_source_location()",
                           "__builtin_constant_p(1)",
                           "__SSE2__",
                           "_GLIBCXX_RELEASE",
                           "CUDART_VERSION",
                           "CUDA_VERSION",
                           "std::source_location::current()",
                           "typeid(int)",
                           "linux",
                           "__builtin_unheard_of()"})
    for (const std::string& text :
         {"const int v = sizeof(" + std::string(word) + ");\n", "#define V " + std::string(word) + "\n",
          "#if 0\n" + std::string(word) + "\n#endif\n"})
      EXPECT_EQ(rule_of(text), "value") << text;
  EXPECT_EQ(rule_of("__global__ void g(float* x) { x[0] = __LI\\\nNE__; }\n"), "value");
  EXPECT_EQ(rule_of("_Unheard h;\n"), "reserved");
}

TEST(WrittenText, AValueOfTheOwnTextStaysInItsStatement) {
  const std::string own =
      std::string(kOwn) + "__device__ void said(int line) {}\n__device__ void say() { said(__LINE__); }\n";
  EXPECT_EQ(refusal("", own), "");
  EXPECT_EQ(refusal("__device__ void again() { said(__LINE__); }\n", own), "");
  EXPECT_EQ(refusal("__device__ int other() { return __LINE__; }\n", own).substr(0, 5), "value");
  EXPECT_EQ(refusal("_Float16 b;\n", std::string(kOwn) + "_Float16 a;\n"), "");
}

TEST(WrittenText, AMacroOrParameterOfTheOwnTextMayBeUsedAnywhere) {
  const std::string own =
      "#define _PB_N n\n__global__ void k(float* _A, int _N, int n) {\n  if (_N < _PB_N) _A[0] = "
      "__GXX_ABI_VERSION;\n}\n";
  auto refusal = [&](const std::string& line) {
    std::string changed = own;
    changed.insert(changed.rfind('}'), line);
    return OwnText(own).first_refusal(written_constructs(changed), "kernel.cu");
  };
  EXPECT_EQ(refusal("  for (int i = 0; i < _PB_N + _N; ++i) _A[i] = 1;\n"), "");
  EXPECT_NE(refusal("  _A[1] = 2 * __GXX_ABI_VERSION;\n"), "") << "what a compiler predefines stays where it was";
  EXPECT_NE(refusal("  _A[1] = _OTHER;\n"), "");
}

TEST(WrittenText, AdmitsReservedWordsOfDeviceCode) {
  for (const char* text :
       {"__device__ float f(const float* __restrict__ x) { return __ldg(x) + __shfl_xor_sync(~0u, *x, 1); }\n",
        "__global__ void g(float* x) { __stcs(x, __fmaf_rn(*x, 2, 1)); __syncthreads(); __builtin_expect(1, 1); }\n",
        "__device__ __half2 h(__nv_bfloat16 x, __int128 y);\n", "#define SUM(...) sum(__VA_ARGS__)\n",
        "struct __attribute__((__aligned__(16))) S { int x; };\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(WrittenText, RefusesSpellingsThatCompilersReadDifferently) {
  EXPECT_EQ(rule_of("?\?=include \"x\"\n"), "trigraph");
  EXPECT_EQ(rule_of("// what?\?/\nint x;\n"), "trigraph");
  EXPECT_EQ(rule_of("// comment \\\nint x;\n"), "splice");
  EXPECT_EQ(rule_of("// comment \\ \nint x;\n"), "splice");
  EXPECT_EQ(rule_of("int x; \\ \n int y;\n"), "splice");
  EXPECT_EQ(rule_of("int x; \\"), "unknown-token");
  EXPECT_EQ(rule_of("#define LAST 1 \\\n"), "splice");
  EXPECT_EQ(rule_of("// x \r#define y\n"), "character");
  EXPECT_EQ(rule_of(std::string("int x;\0#define y\n", 18)), "character");
  EXPECT_EQ(rule_of("int x;\f\n"), "character");
  EXPECT_EQ(rule_of("/* \xE2\x80\xAE */ int x;\n"), "character");
  EXPECT_EQ(rule_of("const char* t = R\"(\n#include <x>\n)\";\n"), "raw-string");
  EXPECT_EQ(rule_of("int sys\\u00e4tem;\n"), "identifier");
  EXPECT_EQ(rule_of("int sys\\u0074em;\n"), "unknown-token");
  EXPECT_EQ(rule_of("int \xC3\xBC;\n"), "identifier");
  EXPECT_EQ(rule_of("/* never closed"), "unknown-token");
  EXPECT_EQ(rule_of("/\\\n* never closed\n"), "unknown-token");
  EXPECT_EQ(rule_of("const char* t = R\"(never closed"), "unknown-token");
  EXPECT_EQ(rule_of("const char* t = \"never closed\n"), "unknown-token");
  EXPECT_EQ(rule_of("int x = __COUNTER__;\n"), "value");
  EXPECT_EQ(rule_of("int x = __TI\\\nME__[0];\n"), "value");
  EXPECT_EQ(rule_of("extern \"C\" int system(const char*);\n"), "linkage");
  EXPECT_EQ(rule_of("extern \"C\" {\n}\n"), "linkage");
  EXPECT_EQ(refusal("// ümlaut\n"), "") << "comments may be in any language";
}

TEST(WrittenText, KeepsAnExternCKernelWhoseBodyChanges) {
  std::string own = "extern \"C\" __global__ void k(float* x) { x[0] = 1; }\n";
  EXPECT_EQ(OwnText(own).first_refusal(written_constructs("extern \"C\" __global__ void k(float* x) { x[0] = 2; }\n"),
                                       "kernel.cu"),
            "");
}

TEST(WrittenText, SurvivesBeingSent) {
  OwnText sent(OwnText(kOwn).words());
  EXPECT_EQ(sent.first_refusal(written_constructs(kOwn), "kernel.cu"), "");
  EXPECT_NE(sent.first_refusal(written_constructs("#define x y\n"), "kernel.cu"), "");
}

TEST(SourceTokens, GiveEachTokenItsPlace) {
  auto tokens = source_tokens("a\n  b /* c\n */ d \\\ne");
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_TRUE(tokens[1].starts_line);
  EXPECT_EQ(tokens[1].line, 2u);
  EXPECT_FALSE(tokens[2].starts_line) << "a comment is white space";
  EXPECT_EQ(tokens[2].line, 3u);
  EXPECT_FALSE(tokens[3].starts_line) << "a joined line";
  EXPECT_EQ(tokens[3].text, "e");
}

}  // namespace
}  // namespace kernelift
