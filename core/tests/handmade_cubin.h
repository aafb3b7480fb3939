// A cubin made by hand, for tests of readers of cubins.
#pragma once
#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace kernelift {

/// A GPU image with one kernel and some variables, made by hand.
class HandmadeCubin {
 public:
  HandmadeCubin() {
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
  /// The numbers of sections are written as in a file that has too many for 16 bits.
  bool wide_numbers = false;
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
    std::vector<Elf64_Sym> symbols = symbols_;
    std::vector<uint32_t> numbers;
    for (auto& symbol : symbols) {
      numbers.push_back(symbol.st_shndx);
      if (wide_numbers) symbol.st_shndx = SHN_XINDEX;
    }
    table.sh_offset = append(symbols.data(), table.sh_size), table.sh_link = uint32_t(sections.size());
    sections.push_back(text), sections.push_back(table);
    if (wide_numbers) {
      Elf64_Shdr beside{};
      beside.sh_name = symtab, beside.sh_type = SHT_SYMTAB_SHNDX, beside.sh_link = uint32_t(sections.size() - 1);
      beside.sh_size = numbers.size() * sizeof(uint32_t), beside.sh_offset = append(numbers.data(), beside.sh_size);
      sections.push_back(beside);
      sections[0].sh_size = sections.size(), sections[0].sh_link = 1;
    }
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64, head.e_ehsize = sizeof head, head.e_shentsize = sizeof(Elf64_Shdr);
    head.e_shnum = wide_numbers ? uint16_t(0) : uint16_t(sections.size()),
    head.e_shstrndx = wide_numbers ? uint16_t(SHN_XINDEX) : uint16_t(1);
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

inline std::vector<std::byte> sample_image(uint64_t table_size = 64, bool wide_numbers = false) {
  HandmadeCubin elf;
  elf.wide_numbers = wide_numbers;
  elf.symbol("_Z1kPf", STT_FUNC, 0x10, HandmadeCubin::kText, 128);
  elf.symbol("helper", STT_FUNC, 0, HandmadeCubin::kText, 16);
  elf.symbol("table", STT_OBJECT, 0, HandmadeCubin::kConstant, table_size);
  elf.symbol("counter", STT_OBJECT, 0, HandmadeCubin::kGlobal, 4);
  elf.symbol("shared", STT_OBJECT, 4, HandmadeCubin::kGlobal, 8);
  elf.symbol("$str", STT_OBJECT, 0, HandmadeCubin::kGlobal, 7);
  elf.symbol("__nv_reserved", STT_OBJECT, 0, HandmadeCubin::kGlobal, 7);
  elf.symbol("vprintf", STT_FUNC, 0x10, SHN_UNDEF, 0);
  return elf.bytes();
}

}  // namespace kernelift
