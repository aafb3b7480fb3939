// The reader of cubins, on images made by hand; sandbox/compile/tests/nvcc_image_test.cpp reads nvcc's where there is
// an nvcc.
#include "core/toolchain/cubin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/model/kernel_key.h"
#include "core/tests/handmade_cubin.h"

namespace kernelift {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Cubin, ListsKernelsAndVariablesAndMarksTheCompilersOwn) {
  auto image = sample_image();
  auto symbols = read_cubin(text_of(image));
  ASSERT_TRUE(symbols.ok()) << symbols.error().message;
  EXPECT_THAT(symbols->kernels, ElementsAre("_Z1kPf"));
  ASSERT_EQ(symbols->variables.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(symbols->variables[i].compiler_made, i >= 3) << symbols->variables[i].name;
  EXPECT_EQ(symbols->variables[0].name, "table");
  EXPECT_TRUE(symbols->variables[0].constant);
  EXPECT_EQ(symbols->variables[0].size, 64u);
  EXPECT_FALSE(symbols->variables[1].constant);
  EXPECT_TRUE(symbols->variables[2].managed);
}

TEST(Cubin, IsReadAlsoWithMoreSectionsThanTheHeadsNumbersCount) {
  auto plain = sample_image(), wide = sample_image(64, true);
  auto expected = read_cubin(text_of(plain)), symbols = read_cubin(text_of(wide));
  ASSERT_TRUE(symbols.ok()) << symbols.error().message;
  EXPECT_EQ(symbols->kernels, expected->kernels);
  ASSERT_EQ(symbols->variables.size(), expected->variables.size());
  for (size_t i = 0; i < symbols->variables.size(); ++i)
    EXPECT_EQ(symbols->variables[i].name, expected->variables[i].name);
}

TEST(Cubin, ListsStaticVariablesOfRelocatableCode) {
  HandmadeCubin elf;
  elf.symbol("__nv_static_29__3f26095f_8_rdc_a_cu_4b8d1af2_scale", STT_OBJECT, 0, HandmadeCubin::kGlobal, 4);
  elf.symbol("__nv_static_29__17c00eb2_8_rdc_b_cu_51c2b301_scale", STT_OBJECT, 0, HandmadeCubin::kConstant, 8);
  auto bytes = elf.bytes();
  auto symbols = read_cubin(text_of(bytes));
  ASSERT_TRUE(symbols.ok());
  ASSERT_EQ(symbols->variables.size(), 2u);
  EXPECT_THAT(symbols->variables[0].name, HasSubstr("rdc_a_cu"));
  EXPECT_EQ(canonical_key(symbols->variables[0].name), "scale");
  EXPECT_TRUE(symbols->variables[1].constant);
}

TEST(Cubin, CountsTextureInstructionsOfAKernelForNoFunctionAfterIt) {
  constexpr uint64_t kTex = 0x160, kMove = 0x02, kInstruction = 16;
  HandmadeCubin elf;
  elf.code = {kTex, 0, kMove, 0};
  elf.symbol("_Z1kPf", STT_FUNC, 0x10, HandmadeCubin::kText, 2 * kInstruction);
  elf.symbol("$__internal_0_$__cuda_sm20_rcp_rn_f32_slowpath", STT_FUNC, 0, HandmadeCubin::kText, kInstruction,
             kInstruction);
  auto image = elf.bytes();
  auto textures = read_texture_use(text_of(image));
  ASSERT_TRUE(textures.ok());
  EXPECT_THAT(textures->kernels, ElementsAre("_Z1kPf"));
  EXPECT_FALSE(textures->functions) << "the image's other kernels may call it";
  elf.symbol("helper", STT_FUNC, 0, HandmadeCubin::kText, kInstruction);
  image = elf.bytes();
  EXPECT_TRUE(read_texture_use(text_of(image))->functions);
}

TEST(Cubin, SurvivesEveryTruncationAndFlippedBits) {
  auto image = sample_image();
  for (size_t length = 0; length < image.size(); ++length) {
    auto cut = read_cubin(text_of(image).substr(0, length));
    if (!cut.ok()) EXPECT_THAT(cut.error().message, HasSubstr("not a sound cubin"));
  }
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    auto damaged = image;
    for (int flips = 0; flips < 3; ++flips) damaged[random() % damaged.size()] ^= std::byte(1 << random() % 8);
    auto read = read_cubin(text_of(damaged));
    EXPECT_EQ(read_texture_use(text_of(damaged)).ok(), read.ok());
    cubin_code(text_of(damaged), "k");
    if (!read.ok()) EXPECT_FALSE(read.error().message.empty());
  }
}

TEST(Cubin, MarksVariablesWithLocalBinding) {
  HandmadeCubin elf;
  elf.symbol("static", STT_OBJECT, 0, HandmadeCubin::kGlobal, 4);
  elf.symbol("global", STT_OBJECT, 0, HandmadeCubin::kGlobal, 4, 0, STB_GLOBAL);
  auto bytes = elf.bytes();
  auto symbols = read_cubin(text_of(bytes));
  ASSERT_TRUE(symbols.ok());
  ASSERT_EQ(symbols->variables.size(), 2u);
  EXPECT_TRUE(symbols->variables[0].local);
  EXPECT_FALSE(symbols->variables[1].local);
}

TEST(Cubin, FindsTheMachineCodeOfAKernelByItsCanonicalKey) {
  HandmadeCubin elf;
  elf.code = {1, 2};
  auto bytes = elf.bytes();
  EXPECT_EQ(cubin_code(text_of(bytes), "k").size(), 16u);
  EXPECT_TRUE(cubin_code(text_of(bytes), "other").empty());
  EXPECT_TRUE(cubin_kernels("").empty());
  EXPECT_TRUE(cubin_kernels(std::string(4096, '\x7f')).empty());
}

}  // namespace
}  // namespace kernelift
