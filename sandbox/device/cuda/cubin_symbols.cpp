// See cubin_symbols.h. ELF64, little endian; structures are copied out, never pointed at.
#include "sandbox/device/cuda/cubin_symbols.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <regex>

namespace kernelift {
namespace {

template <class T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string text_at(std::string_view bytes, const Elf64_Shdr& table, uint64_t offset) {
  if (table.sh_offset > bytes.size() || table.sh_size > bytes.size() - table.sh_offset || offset >= table.sh_size)
    return {};
  std::string_view strings = bytes.substr(table.sh_offset, table.sh_size).substr(offset);
  return std::string(strings.substr(0, strings.find('\0')));
}

Error damaged(const char* what) {
  return environment_error(std::string("the image is not a sound cubin: ") + what + "; compile it again");
}

std::vector<CubinVariable> variables_of_ptx(std::string_view text) {
  static const std::regex declaration(
      R"((\.visible|\.weak|\.common)?\s*\.(global|const)\s+(?:\.attribute\([^)]*\)\s*)?(?:\.align\s+\d+\s+)?\.([bsuf])(\d+)\s+([\w$]+)((?:\[\d+\])?))");
  std::vector<CubinVariable> found;
  std::string all(text);
  for (std::sregex_iterator at(all.begin(), all.end(), declaration), end; at != end; ++at) {
    const std::smatch& match = *at;
    uint64_t width = std::stoul(match[4]) / 8, count = 1;
    std::string dimension = match[6];
    if (dimension.size() > 2) count = std::strtoull(dimension.c_str() + 1, nullptr, 10);
    found.push_back({match[5], width * count, match[2] == "const", !match[1].matched});
  }
  return found;
}

}  // namespace

bool is_cubin(std::string_view image) {
  return image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

Result<std::vector<CubinVariable>> variables_of_image(std::string_view image) {
  if (!is_cubin(image)) return variables_of_ptx(image);
  auto head = read_at<Elf64_Ehdr>(image, 0);
  if (!head || head->e_ident[EI_CLASS] != ELFCLASS64) return damaged("its head is cut off, or not of 64 bits");
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < head->e_shnum; ++i) {
    auto section = read_at<Elf64_Shdr>(image, head->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section) return damaged("its section table is cut off");
    sections.push_back(*section);
  }
  if (head->e_shstrndx >= sections.size()) return damaged("it has no section names");
  auto name_of = [&](const Elf64_Shdr& section) { return text_at(image, sections[head->e_shstrndx], section.sh_name); };
  std::vector<CubinVariable> found;
  for (auto& table : sections) {
    if (table.sh_type != SHT_SYMTAB) continue;
    if (table.sh_link >= sections.size()) return damaged("its symbols have no names");
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      auto symbol = read_at<Elf64_Sym>(image, table.sh_offset + at);
      if (!symbol) return damaged("its symbol table is cut off");
      if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx >= sections.size()) continue;
      std::string section = name_of(sections[symbol->st_shndx]);
      // .nv.constant3 is __constant__; 0 is arguments, others are the compiler's own.
      bool constant = section == ".nv.constant3";
      if (!constant && section != ".nv.global" && section != ".nv.global.init") continue;
      std::string name = text_at(image, sections[table.sh_link], symbol->st_name);
      if (name.empty() || symbol->st_size == 0) continue;
      found.push_back({name, symbol->st_size, constant, ELF64_ST_BIND(symbol->st_info) == STB_LOCAL});
    }
  }
  return found;
}

}  // namespace kernelift
