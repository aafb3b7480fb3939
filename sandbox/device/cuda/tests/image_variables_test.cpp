// Variables of cubins made by hand (nvcc's own are tested on a GPU), and of PTX.
#include "sandbox/device/cuda/image_variables.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace kernelift::sandbox {
namespace {

/// A small ELF file: a null section, .nv.global, .nv.constant3, .text.k, .symtab, .strtab, .shstrtab.
std::string little_cubin() {
  constexpr char kNames[] = "\0.nv.global\0.nv.constant3\0.text.k\0.symtab\0.strtab\0.shstrtab";
  constexpr char kStrings[] = "\0counter\0_ZL5table\0k";
  std::string names(kNames, sizeof kNames), strings(kStrings, sizeof kStrings);
  auto name_at = [&](const char* name) { return static_cast<Elf64_Word>(names.find(std::string("\0", 1) + name) + 1); };
  auto string_at = [&](const char* text) {
    return static_cast<Elf64_Word>(strings.find(std::string("\0", 1) + text) + 1);
  };
  Elf64_Sym symbols[4] = {};
  symbols[1].st_name = string_at("counter"), symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
  symbols[1].st_shndx = 1, symbols[1].st_size = 8;
  symbols[2].st_name = string_at("_ZL5table"), symbols[2].st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
  symbols[2].st_shndx = 2, symbols[2].st_size = 64;
  symbols[3].st_name = string_at("k"), symbols[3].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
  symbols[3].st_shndx = 3, symbols[3].st_size = 128;
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64, head.e_shnum = 7, head.e_shstrndx = 6;
  std::string symbol_bytes(reinterpret_cast<const char*>(symbols), sizeof symbols);
  Elf64_Shdr sections[7] = {};
  const char* section_names[] = {"", ".nv.global", ".nv.constant3", ".text.k", ".symtab", ".strtab", ".shstrtab"};
  for (int i = 1; i < 7; ++i) sections[i].sh_name = name_at(section_names[i]), sections[i].sh_type = SHT_PROGBITS;
  std::string body(sizeof head, '\0');
  auto put = [&](int section, const std::string& bytes) {
    sections[section].sh_offset = body.size(), sections[section].sh_size = bytes.size(), body += bytes;
  };
  put(4, symbol_bytes), put(5, strings), put(6, names);
  sections[4].sh_type = SHT_SYMTAB, sections[4].sh_link = 5;
  head.e_shoff = body.size();
  std::memcpy(body.data(), &head, sizeof head);
  body.append(reinterpret_cast<const char*>(sections), sizeof sections);
  return body;
}

TEST(ImageVariables, ReadsSizeConstantAndBindingFromACubin) {
  auto found = variables_of_image(little_cubin());
  ASSERT_TRUE(found.ok()) << found.error().message;
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].name, "counter");
  EXPECT_EQ((*found)[0].size, 8u);
  EXPECT_FALSE((*found)[0].constant);
  EXPECT_FALSE((*found)[0].local);
  EXPECT_EQ((*found)[1].name, "_ZL5table");
  EXPECT_TRUE((*found)[1].constant);
  EXPECT_TRUE((*found)[1].local);
}

TEST(ImageVariables, ReadsDeclarationsFromPtx) {
  auto found = variables_of_image(
      ".version 8.0\n.target sm_90\n.visible .const .align 4 .b8 cc[64];\n"
      ".visible .global .align 4 .u32 dd;\n.global .align 8 .b8 _ZL2ss[16];\n"
      ".visible .entry k(\n.param .u64 k_param_0\n)\n{ .shared .align 4 .b8 tile[128]; }\n");
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ((*found)[0].name, "cc");
  EXPECT_EQ((*found)[0].size, 64u);
  EXPECT_TRUE((*found)[0].constant);
  EXPECT_EQ((*found)[1].size, 4u);
  EXPECT_EQ((*found)[2].name, "_ZL2ss");
  EXPECT_TRUE((*found)[2].local);
}

TEST(ImageVariables, SurvivesDamagedImages) {
  std::string sound = little_cubin();
  for (size_t size = SELFMAG; size < sound.size(); ++size) {
    auto found = variables_of_image(std::string_view(sound).substr(0, size));
    if (!found.ok()) EXPECT_NE(found.error().message.find("not a sound cubin"), std::string::npos);
  }
  for (size_t bit = SELFMAG * 8; bit < sound.size() * 8; ++bit) {
    std::string damaged = sound;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    auto found = variables_of_image(damaged);
    if (found.ok()) EXPECT_LE(found->size(), 4u);
  }
}

}  // namespace
}  // namespace kernelift::sandbox
