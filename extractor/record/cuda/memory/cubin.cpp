// See cubin.h. NVIDIA's ELF: constant variables lie in .nv.constant3 (older toolkits: .nv.constant2), others in
// .nv.global and .nv.global.init; bit 2 of st_other marks a managed variable; kernels are functions that have a section
// .nv.info.<name>… of their own, which device functions have not always, so a kernel is a function with STO_CUDA_ENTRY.
#include "extractor/record/cuda/memory/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace kernelift {
namespace {

constexpr unsigned char kEntry = 0x10;    ///< STO_CUDA_ENTRY
constexpr unsigned char kManaged = 0x04;  ///< STO_CUDA_MANAGED

/// A view of `count` items at `offset`, or empty if they do not lie inside.
template <class Item>
std::span<const std::byte> items_at(std::span<const std::byte> image, uint64_t offset, uint64_t count) {
  if (offset > image.size() || count > (image.size() - offset) / sizeof(Item)) return {};
  return image.subspan(offset, count * sizeof(Item));
}

template <class Item>
Item item_at(std::span<const std::byte> items, uint64_t index) {
  Item item;
  std::memcpy(&item, items.data() + index * sizeof(Item), sizeof(Item));
  return item;
}

std::string_view text_at(std::span<const std::byte> strings, uint64_t at) {
  if (at >= strings.size()) return {};
  auto* begin = reinterpret_cast<const char*>(strings.data()) + at;
  return {begin, strnlen(begin, strings.size() - at)};
}

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

/// String literals ("$str"), switch tables and the like: part of the code, never written by anybody. (The user's own
/// static variables in relocatable code are called __nv_static_<file>_<name>.)
bool compiler_made(std::string_view name) {
  if (begins(name, "__nv_static_")) return false;
  return name.empty() || name[0] == '$' || begins(name, ".") || begins(name, "__nv_") || begins(name, "__unnamed_") ||
         begins(name, "__cudart_");
}

/// TEX, TLD4, TLD, TXD, TXQ, SUATOM, SULD, SUST: the low nine bits of their opcodes. Instructions are 16 bytes long.
bool has_texture_instruction(std::span<const std::byte> code) {
  constexpr uint64_t kInstructionWords = 2;
  for (uint64_t i = 0; i + 1 < code.size() / sizeof(uint64_t); i += kInstructionWords)
    switch (item_at<uint64_t>(code, i) & 0x1ff) {
      case 0x160:
      case 0x161:
      case 0x163:
      case 0x164:
      case 0x166:
      case 0x167:
      case 0x16c:
      case 0x16d:
      case 0x16f:
      case 0x170:
      case 0x194:
      case 0x195:
      case 0x196:
      case 0x199:
      case 0x19a:
      case 0x19c:
      case 0x19d: return true;
      default: break;
    }
  return false;
}

}  // namespace

Result<CubinSymbols> read_cubin(std::span<const std::byte> image) {
  auto damaged = [](const char* what) { return environment_error(std::string("the GPU image has ") + what); };
  if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0)
    return damaged("no ELF head");
  auto head = item_at<Elf64_Ehdr>(image, 0);
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(Elf64_Shdr))
    return damaged("another ELF class");
  auto sections = items_at<Elf64_Shdr>(image, head.e_shoff, head.e_shnum);
  uint64_t count = sections.size() / sizeof(Elf64_Shdr);
  if (count == 0) return damaged("no section table");
  auto section_at = [&](uint64_t i) { return item_at<Elf64_Shdr>(sections, i); };
  auto content_of = [&](uint64_t i) -> std::span<const std::byte> {
    if (i >= count) return {};
    auto section = section_at(i);
    return items_at<char>(image, section.sh_offset, section.sh_size);
  };
  auto names = content_of(head.e_shstrndx);
  CubinSymbols found;
  for (uint64_t i = 0; i < count; ++i) {
    auto table = section_at(i);
    if (table.sh_type != SHT_SYMTAB || table.sh_entsize != sizeof(Elf64_Sym)) continue;
    auto strings = content_of(table.sh_link);
    auto symbols = items_at<Elf64_Sym>(image, table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
    for (uint64_t j = 0; j < symbols.size() / sizeof(Elf64_Sym); ++j) {
      auto symbol = item_at<Elf64_Sym>(symbols, j);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= count) continue;
      std::string_view name = text_at(strings, symbol.st_name);
      unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FUNC) {
        // Several share a section: a kernel's has the compiler's own functions (of its divisions) behind it.
        auto code = content_of(symbol.st_shndx);
        code = code.subspan(std::min<uint64_t>(symbol.st_value, code.size()));
        if (symbol.st_size > 0) code = code.first(std::min<uint64_t>(symbol.st_size, code.size()));
        bool textures = has_texture_instruction(code);
        if (symbol.st_other & kEntry) {
          found.kernels.emplace_back(name);
          if (textures) found.texture_kernels.emplace_back(name);
        } else {
          found.texture_functions |= textures;
        }
        continue;
      }
      if (type != STT_OBJECT || symbol.st_size == 0 || compiler_made(name)) continue;
      std::string_view section = text_at(names, section_at(symbol.st_shndx).sh_name);
      bool constant = section == ".nv.constant3" || section == ".nv.constant2";
      if (!constant && section != ".nv.global" && section != ".nv.global.init") continue;
      found.variables.push_back({std::string(name), symbol.st_size, constant, (symbol.st_other & kManaged) != 0});
    }
  }
  return found;
}

}  // namespace kernelift
