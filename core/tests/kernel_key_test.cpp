// Canonical keys: all compilers' spellings of one entity have one key.
#include "core/model/kernel_key.h"
#include "core/model/kernel/distinct_names.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

TEST(KernelKey, JoinsTheSpellingsOfAStaticKernel) {
  EXPECT_EQ(canonical_key("_Z2skPi"), "sk(int*)");
  EXPECT_EQ(canonical_key("_ZL2skPi"), "sk(int*)");
  EXPECT_EQ(canonical_key("_ZL2skPi__intern__a1b2c3"), "sk(int*)");
}

TEST(KernelKey, JoinsTheSpellingsOfAnAnonymousNamespace) {
  EXPECT_EQ(canonical_key("_ZN12_GLOBAL__N_11kEPf"), "(anonymous)::k(float*)");
  EXPECT_EQ(canonical_key("_ZN36_GLOBAL__N__0323b52d_4_a_cu_123456781kEPf"), "(anonymous)::k(float*)");
}

TEST(KernelKey, JoinsTheSpellingsOfAStaticVariable) {
  EXPECT_EQ(canonical_key("cc"), "cc");
  EXPECT_EQ(canonical_key("_ZL2cc"), "cc");
  EXPECT_EQ(canonical_key("_ZL2cc__static__0011aabb"), "cc");
  EXPECT_EQ(canonical_key("_ZN1aL1bE"), canonical_key("_ZN1a1bE"));
}

TEST(KernelKey, JoinsTheSpellingsOfNamesLocalToAUnitOfRelocatableCode) {
  EXPECT_EQ(canonical_key("__nv_static_23__f24e1562_8_cases_cu_ck__Z2skPi"),
            canonical_key("_ZL2skPi__intern__b04fd23c"));
  EXPECT_EQ(canonical_key("__nv_static_23__f24e1562_8_cases_cu_ck_cc"), "cc");
  EXPECT_EQ(canonical_key("__nv_static_23__f24e1562_8_cases_cu_ck__ZN34_GLOBAL__N__f24e1562_8_cases_cu_ck5inner2dkEPi"),
            "(anonymous)::inner::dk(int*)");
  EXPECT_EQ(canonical_key("__nv_static_999_x"), "__nv_static_999_x") << "not nvcc's mark: the length does not fit";
}

TEST(KernelKey, JoinsTemplateArgumentsThatAreFunctionsOrDeclaredAuto) {
  EXPECT_EQ(canonical_key("_Z2fpIXadL_ZN32_INTERNAL_f24e1562_8_cases_cu_ck6thriceEiEEEvPi"),
            canonical_key("_Z2fpIXadL_ZL6thriceiEEEvPi"));
  EXPECT_EQ(canonical_key("_Z2apITnPDaXadL_Z6targetEEEvPi"), canonical_key("_Z2apIXadL_Z6targetEEEvPi"));
}

TEST(KernelKey, LeavesOutTheReturnTypeSoThatTemplatesReadLikeFunctions) {
  EXPECT_EQ(canonical_key("_ZN3app6smoothIfLi8EEEvPKT_PS1_i"), "app::smooth<float,8>(float const*,float*,int)");
}

TEST(KernelKey, BaseNameHasNeitherArgumentsNorParameters) {
  EXPECT_EQ(base_name("app::smooth<float,8>(float const*,float*,int)"), "app::smooth");
  EXPECT_EQ(base_name("(anonymous)::k(float*)"), "(anonymous)::k");
  EXPECT_EQ(base_name("plain"), "plain");
}

TEST(KernelKey, QualifiedNameHasTemplateArgumentsAndNoParameters) {
  EXPECT_EQ(qualified_name("app::smooth<float,8>(float const*,float*,int)"), "app::smooth<float,8>");
  EXPECT_EQ(qualified_name("heat::(anonymous)::axpy(float*)"), "heat::(anonymous)::axpy");
  EXPECT_EQ(qualified_name("plain"), "plain");
}

TEST(KernelKey, ShownNameLeavesOutTheParametersOfFunctionsAroundALocalType) {
  EXPECT_EQ(
      shown_name("app::each<run(float*,int)::{lambda(int,int)#2}>(app::Range,run(float*,int)::{lambda(int,int)#2})"),
      "app::each<run::{lambda#2}>");
  EXPECT_EQ(shown_name("each<App::run(View<float(*)(int)>&)const::Local<int>>(int)"), "each<App::run::Local<int>>");
  EXPECT_EQ(shown_name("(anonymous)::k<(anonymous)::T>(int)"), "(anonymous)::k<(anonymous)::T>");
  EXPECT_EQ(shown_name("k<float(*)(int)>(int)"), "k<float(*)(int)>");
  EXPECT_EQ(shown_name("k<run("), "k<run(") << "what is no key is shown as it is";
  EXPECT_TRUE(key_matches("app::each<run(float*,int)::{lambda(int)#2}>(int)", "each<run::{lambda#2}>"));
}

TEST(KernelKey, DistinctNameIsAsShortAsTheOthersAllow) {
  const std::string one = "each<run(float)::{lambda(int)#1}>(int)", same = "each<run(double)::{lambda(int)#1}>(int)",
                    other = "each<run(float)::{lambda(int)#2}>(int)",
                    overload = "each<run(float)::{lambda(int)#1}>(long)";
  EXPECT_EQ(DistinctNames({one, other}).of(one), "each<run::{lambda#1}>");
  EXPECT_EQ(DistinctNames({one, same}).of(one), "each<run(float)::{lambda(int)#1}>");
  EXPECT_EQ(DistinctNames({one, same, one}).of(one), "each<run(float)::{lambda(int)#1}>");
  EXPECT_EQ(DistinctNames({one, same, overload}).of(one), one);
  EXPECT_EQ(DistinctNames({same, overload}).of(one), one) << "it is told from the list's, though it is not in it";
}

TEST(KernelKey, NamesOfManyKernelsAreFoundInOnePass) {
  constexpr int kMany = 20000;  // For each to be compared with all others would take minutes.
  std::vector<std::string> keys;
  for (int i = 0; i < kMany; ++i) keys.push_back("k<" + std::to_string(i / 2) + ">(" + (i % 2 ? "int" : "float") + ")");
  const DistinctNames names(keys);
  for (auto& key : keys) ASSERT_EQ(names.of(key), key);
}

TEST(KernelKey, MatchesWithoutTheAnonymousNamespaceAsInSourceText) {
  const char* key = "heat::(anonymous)::axpy<(anonymous)::Tag>(float*)";
  for (auto* typed : {"axpy", "heat::axpy", "heat::axpy<Tag>", "(anonymous)::axpy", "heat::(anonymous)::axpy"})
    EXPECT_TRUE(key_matches(key, typed)) << typed;
  EXPECT_FALSE(key_matches(key, "other::axpy"));
  EXPECT_FALSE(key_matches("heat::axpy(float*)", "(anonymous)::axpy")) << "a namespace that is named must be there";
}

TEST(KernelKey, DistinguishesFunctionsThatAreArgumentsOfArguments) {
  // kern<blck<deq_a, 8>, 8>, where blck is a function template and deq_a a function.
  auto key = [](const std::string& innermost) {
    return canonical_key("_Z4kernIXadL_Z4blckIXadL_Z5deq_" + innermost + "PKviRfEELi8EEvPKcPcEELi8EEvS4_S5_");
  };
  EXPECT_EQ(key("a").substr(0, key("a").find('(')), "kern<&blck<&deq_a,8>,8>");
  EXPECT_NE(key("a"), key("b"));
}

TEST(KernelKey, MatchesAPartOfTheNameWithItsParameters) {
  EXPECT_TRUE(key_matches("b::k(double*,int)", "k(double*, int)"));
  EXPECT_FALSE(key_matches("b::k(double*,int)", "k(float*, int)"));
}

TEST(KernelKey, MatchesPartialNames) {
  const char* key = "app::detail::smooth<float,8>(float const*,int)";
  EXPECT_TRUE(key_matches(key, "smooth"));
  EXPECT_TRUE(key_matches(key, "detail::smooth"));
  EXPECT_TRUE(key_matches(key, "smooth<float, 8>"));
  EXPECT_TRUE(key_matches(key, key));
  EXPECT_FALSE(key_matches(key, "mooth"));
  EXPECT_TRUE(key_matches("convolve<float,5ul>(float*)", "convolve<float, 5UL>"))
      << "numbers as the source spells them";
  EXPECT_TRUE(key_matches("a::convolve<float,5ul>(float*)", "convolve<float, 5>"));
  EXPECT_FALSE(key_matches("convolve<float,15ul>(float*)", "convolve<float, 5UL>"));
  EXPECT_FALSE(key_matches("convolve<u5l>(float*)", "convolve<u5>"));
  EXPECT_FALSE(key_matches(key, "smooth<float, 4>"));
  EXPECT_FALSE(key_matches(key, ""));
}

TEST(KernelKey, OfDamagedNamesDoesNotCrash) {
  for (auto text : {"", "_Z", "_ZN", "_ZN9999999999999999999a", "_ZL", "__intern__", "a<b>>c", "(((", "_ZN1aL",
                    "__nv_static_", "__nv_static_5", "__nv_static_3_abc_", "&(", "a&((", "_Z1aITn", "_Z1aITnDa"})
    canonical_key(text), qualified_name(text), base_name(text), key_matches(text, "a");
}

}  // namespace
}  // namespace kernelift
