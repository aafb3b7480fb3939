// See cubin.h. In NVIDIA's ELF, constant variables lie in .nv.constant3 (older toolkits: .nv.constant2), others in
// .nv.global and .nv.global.init; bit 2 of st_other marks a managed variable, bit 4 a function that can be launched.
// ELF64, little-endian; structures are copied, because those in the file may be misaligned.
#include "core/toolchain/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/model/kernel_key.h"

namespace kernelift {
namespace {

constexpr unsigned char kEntry = 0x10;    ///< STO_CUDA_ENTRY
constexpr unsigned char kManaged = 0x04;  ///< STO_CUDA_MANAGED

template <class T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  T value;
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Error damaged(const char* what) {
  return environment_error(std::string("the image is not a sound cubin: ") + what + "; compile it again");
}

/// Section and symbol tables of a cubin; every offset is checked.
class CubinFile {
 public:
  static Result<CubinFile> open(std::string_view bytes) {
    CubinFile file(bytes);
    auto head = read_at<Elf64_Ehdr>(bytes, 0);
    if (!is_cubin(bytes) || !head) return damaged("it has no ELF head");
    if (head->e_ident[EI_CLASS] != ELFCLASS64) return damaged("it is of another ELF class");
    // What does not fit into the head's 16 bits is in the first section, which is else empty.
    uint64_t count = head->e_shnum, names = head->e_shstrndx;
    if (auto first = read_at<Elf64_Shdr>(bytes, head->e_shoff); head->e_shoff != 0 && first) {
      if (count == 0) count = first->sh_size;
      if (names == SHN_XINDEX) names = first->sh_link;
    }
    for (uint64_t i = 0; i < count; ++i) {
      auto section = read_at<Elf64_Shdr>(bytes, head->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return damaged("its section table is cut off");
      file.sections_.push_back(*section);
    }
    if (names >= file.sections_.size()) return damaged("it has no section names");
    file.names_ = names;
    return file;
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const { return text(names_, section.sh_name); }
  /// The section's bytes; empty if they do not lie inside the file.
  std::string_view content(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset) return {};
    return {bytes_.data() + section.sh_offset, section.sh_size};
  }

  /// Calls visit(symbol, its name, its section) for each symbol that is defined in this file.
  template <class Visit>
  Status each_symbol(Visit&& visit) const {
    for (uint64_t index = 0; index < sections_.size(); ++index) {
      const Elf64_Shdr& table = sections_[index];
      if (table.sh_type != SHT_SYMTAB) continue;
      if (table.sh_link >= sections_.size()) return damaged("its symbols have no names");
      std::string_view symbols = content(table);
      if (symbols.size() != table.sh_size) return damaged("its symbol table is cut off");
      // Sections whose numbers do not fit into a symbol's 16 bits.
      const auto beyond = std::ranges::find_if(
          sections_, [&](auto& section) { return section.sh_type == SHT_SYMTAB_SHNDX && section.sh_link == index; });
      const std::string_view numbers = beyond == sections_.end() ? std::string_view() : content(*beyond);
      for (uint64_t at = 0; symbols.size() - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol = *read_at<Elf64_Sym>(symbols, at);
        uint64_t section = symbol.st_shndx;
        if (section == SHN_XINDEX)
          section = read_at<uint32_t>(numbers, at / sizeof symbol * sizeof(uint32_t)).value_or(SHN_UNDEF);
        else if (section >= SHN_LORESERVE) continue;
        if (section == SHN_UNDEF || section >= sections_.size()) continue;
        visit(symbol, text(table.sh_link, symbol.st_name), sections_[section]);
      }
    }
    return done();
  }

 private:
  explicit CubinFile(std::string_view bytes) : bytes_(bytes) {}
  /// A zero-terminated string of section `table`.
  std::string_view text(uint64_t table, uint64_t at) const {
    std::string_view strings = content(sections_[table]);
    if (at >= strings.size()) return {};
    strings.remove_prefix(at);
    return {strings.data(), strnlen(strings.data(), strings.size())};
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  uint64_t names_ = 0;  ///< Index of the section that holds the names of sections.
};

/// String literals ("$str"), switch tables and the like. (The user's own static variables in relocatable code are
/// called __nv_static_<file>_<name>.)
bool is_compiler_made(std::string_view name) {
  if (name.starts_with("__nv_static_")) return false;
  return name.starts_with('$') || name.starts_with('.') || name.starts_with("__nv_") ||
         name.starts_with("__unnamed_") || name.starts_with("__cudart_");
}

bool is_function(const Elf64_Sym& symbol) { return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC; }

/// TEX, TLD4, TLD, TXD, TXQ, SUATOM, SULD, SUST: the low nine bits of their opcodes. Instructions are 16 bytes long.
bool has_texture_instruction(std::string_view code) {
  constexpr uint16_t kOpcodes[] = {0x160, 0x161, 0x163, 0x164, 0x166, 0x167, 0x16c, 0x16d, 0x16f,
                                   0x170, 0x194, 0x195, 0x196, 0x199, 0x19a, 0x19c, 0x19d};
  constexpr size_t kInstructionBytes = 16;
  for (uint64_t at = 0; code.size() - at >= kInstructionBytes; at += kInstructionBytes)
    if (std::ranges::binary_search(kOpcodes, *read_at<uint64_t>(code, at) & 0x1ff)) return true;
  return false;
}

}  // namespace

bool is_cubin(std::string_view image) {
  return image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0;
}

Result<CubinSymbols> read_cubin(std::string_view image) {
  KERNELIFT_ASSIGN(CubinFile file, CubinFile::open(image));
  CubinSymbols found;
  KERNELIFT_TRY(file.each_symbol([&](const Elf64_Sym& symbol, std::string_view name, const Elf64_Shdr& section) {
    if (is_function(symbol) && (symbol.st_other & kEntry)) found.kernels.emplace_back(name);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 || name.empty()) return;
    std::string_view in = file.name(section);
    bool constant = in == ".nv.constant3" || in == ".nv.constant2";
    if (!constant && in != ".nv.global" && in != ".nv.global.init") return;
    found.variables.push_back({std::string(name), symbol.st_size, constant, (symbol.st_other & kManaged) != 0,
                               ELF64_ST_BIND(symbol.st_info) == STB_LOCAL, is_compiler_made(name)});
  }));
  return found;
}

std::vector<std::string> cubin_kernels(std::string_view image) {
  auto found = read_cubin(image);
  return found.ok() ? std::move(found->kernels) : std::vector<std::string>();
}

std::string_view cubin_code(std::string_view image, const std::string& key) {
  constexpr std::string_view kCode = ".text.";
  auto file = CubinFile::open(image);
  if (!file.ok()) return {};
  for (auto& section : file->sections())
    if (auto name = file->name(section); name.starts_with(kCode) && canonical_key(name.substr(kCode.size())) == key)
      return file->content(section);
  return {};
}

Result<CubinTextureUse> read_texture_use(std::string_view image) {
  KERNELIFT_ASSIGN(CubinFile file, CubinFile::open(image));
  CubinTextureUse found;
  KERNELIFT_TRY(file.each_symbol([&](const Elf64_Sym& symbol, std::string_view name, const Elf64_Shdr& section) {
    if (!is_function(symbol)) return;
    // Several functions share a section: after a kernel's code come the compiler's helper functions for its divisions.
    std::string_view code = file.content(section);
    code.remove_prefix(std::min<uint64_t>(symbol.st_value, code.size()));
    if (symbol.st_size > 0) code.remove_suffix(code.size() - std::min<uint64_t>(symbol.st_size, code.size()));
    if (!has_texture_instruction(code)) return;
    if (symbol.st_other & kEntry) found.kernels.emplace_back(name);
    else found.functions = true;
  }));
  return found;
}

}  // namespace kernelift
