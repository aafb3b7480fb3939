// The reader of cubins, on images made by hand; sandbox/compile/tests/nvcc_image_test.cpp reads nvcc's where there is
// an nvcc.
#include "core/toolchain/cubin.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/model/kernel_key.h"

namespace kernelift {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A GPU image with one kernel and some variables, made by hand.
class Elf {
 public:
  Elf() {
    section(".shstrtab", SHT_STRTAB);
    section(".nv.constant3", SHT_PROGBITS);
    section(".nv.global", SHT_NOBITS);
    section(".text.k", SHT_PROGBITS);
    symbols_.push_back({});
  }
  void symbol(const std::string& name, unsigned char type, unsigned char other, uint16_t section, uint64_t size,
              uint64_t at = 0, unsigned char binding = STB_LOCAL) {
    symbols_.push_back({uint32_t(strings_.size()), static_cast<unsigned char>(ELF64_ST_INFO(binding, type)), other,
                        section, at, size});
    strings_ += name + '\0';
  }
  /// Content of the text section.
  std::vector<uint64_t> code;
  std::vector<std::byte> bytes() {
    std::vector<Elf64_Shdr> sections = sections_;
    std::string names = names_;
    auto name = [&](const char* text) {
      names += std::string(text) + '\0';
      return uint32_t(names.size() - std::strlen(text) - 1);
    };
    uint32_t strtab = name(".strtab"), symtab = name(".symtab");
    std::vector<std::byte> out(sizeof(Elf64_Ehdr));
    auto append = [&](const void* from, size_t size) {
      auto* begin = static_cast<const std::byte*>(from);
      size_t at = out.size();
      out.insert(out.end(), begin, begin + size);
      return at;
    };
    sections[kText].sh_offset = append(code.data(), code.size() * sizeof(uint64_t)),
    sections[kText].sh_size = code.size() * sizeof(uint64_t);
    Elf64_Shdr text{}, table{};
    sections[1].sh_offset = append(names.data(), names.size()), sections[1].sh_size = names.size();
    text.sh_name = strtab, text.sh_type = SHT_STRTAB, text.sh_size = strings_.size();
    text.sh_offset = append(strings_.data(), strings_.size());
    table.sh_name = symtab, table.sh_type = SHT_SYMTAB, table.sh_entsize = sizeof(Elf64_Sym);
    table.sh_size = symbols_.size() * sizeof(Elf64_Sym);
    table.sh_offset = append(symbols_.data(), table.sh_size), table.sh_link = uint32_t(sections.size());
    sections.push_back(text), sections.push_back(table);
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64, head.e_ehsize = sizeof head, head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = uint16_t(sections.size()), head.e_shstrndx = 1;
    head.e_shoff = append(sections.data(), sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(out.data(), &head, sizeof head);
    return out;
  }
  static constexpr uint16_t kConstant = 2, kGlobal = 3, kText = 4;

 private:
  void section(const char* name, uint32_t type) {
    if (sections_.empty()) sections_.push_back({});
    Elf64_Shdr header{};
    header.sh_name = uint32_t(names_.size()), header.sh_type = type;
    names_ += std::string(name) + '\0';
    sections_.push_back(header);
  }
  std::string names_ = std::string(1, '\0'), strings_ = std::string(1, '\0');
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
};

std::vector<std::byte> sample_image(uint64_t table_size = 64) {
  Elf elf;
  elf.symbol("_Z1kPf", STT_FUNC, 0x10, Elf::kText, 128);
  elf.symbol("helper", STT_FUNC, 0, Elf::kText, 16);
  elf.symbol("table", STT_OBJECT, 0, Elf::kConstant, table_size);
  elf.symbol("counter", STT_OBJECT, 0, Elf::kGlobal, 4);
  elf.symbol("shared", STT_OBJECT, 4, Elf::kGlobal, 8);
  elf.symbol("$str", STT_OBJECT, 0, Elf::kGlobal, 7);
  elf.symbol("__nv_reserved", STT_OBJECT, 0, Elf::kGlobal, 7);
  elf.symbol("vprintf", STT_FUNC, 0x10, SHN_UNDEF, 0);
  return elf.bytes();
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

TEST(Cubin, ListsStaticVariablesOfRelocatableCode) {
  Elf elf;
  elf.symbol("__nv_static_29__3f26095f_8_rdc_a_cu_4b8d1af2_scale", STT_OBJECT, 0, Elf::kGlobal, 4);
  elf.symbol("__nv_static_29__17c00eb2_8_rdc_b_cu_51c2b301_scale", STT_OBJECT, 0, Elf::kConstant, 8);
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
  Elf elf;
  elf.code = {kTex, 0, kMove, 0};
  elf.symbol("_Z1kPf", STT_FUNC, 0x10, Elf::kText, 2 * kInstruction);
  elf.symbol("$__internal_0_$__cuda_sm20_rcp_rn_f32_slowpath", STT_FUNC, 0, Elf::kText, kInstruction, kInstruction);
  auto image = elf.bytes();
  auto textures = read_texture_use(text_of(image));
  ASSERT_TRUE(textures.ok());
  EXPECT_THAT(textures->kernels, ElementsAre("_Z1kPf"));
  EXPECT_FALSE(textures->functions) << "the image's other kernels may call it";
  elf.symbol("helper", STT_FUNC, 0, Elf::kText, kInstruction);
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
  Elf elf;
  elf.symbol("static", STT_OBJECT, 0, Elf::kGlobal, 4);
  elf.symbol("global", STT_OBJECT, 0, Elf::kGlobal, 4, 0, STB_GLOBAL);
  auto bytes = elf.bytes();
  auto symbols = read_cubin(text_of(bytes));
  ASSERT_TRUE(symbols.ok());
  ASSERT_EQ(symbols->variables.size(), 2u);
  EXPECT_TRUE(symbols->variables[0].local);
  EXPECT_FALSE(symbols->variables[1].local);
}

TEST(Cubin, FindsTheMachineCodeOfAKernelByItsCanonicalKey) {
  Elf elf;
  elf.code = {1, 2};
  auto bytes = elf.bytes();
  EXPECT_EQ(cubin_code(text_of(bytes), "k").size(), 16u);
  EXPECT_TRUE(cubin_code(text_of(bytes), "other").empty());
  EXPECT_TRUE(cubin_kernels("").empty());
  EXPECT_TRUE(cubin_kernels(std::string(4096, '\x7f')).empty());
}

}  // namespace
}  // namespace kernelift
