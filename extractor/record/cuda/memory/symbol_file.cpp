// See symbol_file.h. The file of the loaded object is mapped and read in place: its symbol table is not loaded with it.
#include "extractor/record/cuda/memory/symbol_file.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cstdint>
#include <cstring>
#include <span>

namespace kernelift::record {
namespace {

/// A file's bytes for as long as this lives.
class Mapped {
 public:
  explicit Mapped(const char* path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat info{};
    if (fstat(fd, &info) == 0 && info.st_size > 0) size_ = static_cast<size_t>(info.st_size);
    void* memory = size_ ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (memory == MAP_FAILED) size_ = 0;
    else memory_ = memory;
    close(fd);
  }
  ~Mapped() {
    if (memory_) munmap(memory_, size_);
  }
  Mapped(const Mapped&) = delete;
  /// `count` items at `offset`, none if they do not lie inside.
  template <class Item>
  std::span<const Item> items(uint64_t offset, uint64_t count) const {
    if (offset > size_ || count > (size_ - offset) / sizeof(Item) || offset % alignof(Item)) return {};
    return {reinterpret_cast<const Item*>(static_cast<const char*>(memory_) + offset), count};
  }

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

std::string symbol_file_of(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return "";
  // The program itself may be known by a name that leads nowhere from here.
  Mapped named(info.dli_fname), self("/proc/self/exe");
  const Mapped& file = named.items<Elf64_Ehdr>(0, 1).empty() ? self : named;
  auto head = file.items<Elf64_Ehdr>(0, 1);
  if (head.empty() || std::memcmp(head[0].e_ident, ELFMAG, SELFMAG) != 0 || head[0].e_ident[EI_CLASS] != ELFCLASS64)
    return "";
  uint64_t wanted = reinterpret_cast<uint64_t>(address);
  if (head[0].e_type != ET_EXEC) wanted -= reinterpret_cast<uint64_t>(info.dli_fbase);
  auto sections = file.items<Elf64_Shdr>(head[0].e_shoff, head[0].e_shnum);
  for (auto& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    auto strings = file.items<char>(sections[table.sh_link].sh_offset, sections[table.sh_link].sh_size);
    auto text = [&](uint32_t at) -> std::string_view {
      return at < strings.size() ? std::string_view(&strings[at], strnlen(&strings[at], strings.size() - at)) : "";
    };
    std::string_view current;
    for (auto& symbol : file.items<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym))) {
      if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL) break;  // Local ones come first.
      unsigned type = ELF64_ST_TYPE(symbol.st_info);
      if (type == STT_FILE) current = text(symbol.st_name);
      else if (type != STT_SECTION && symbol.st_value == wanted && !current.empty()) return std::string(current);
    }
  }
  return "";
}

std::string object_at(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return kInMemory;
  std::string_view path = info.dli_fname;
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string source_stem(std::string_view file) {
  if (size_t made = file.find(".cudafe"); made != file.npos) {
    file = file.substr(0, made);
    // nvcc's temporary files: tmpxft_<process>_<number>-<step>_<stem>
    if (file.starts_with("tmpxft_")) {
      size_t step = file.find('-');
      size_t stem = step == file.npos ? step : file.find('_', step);
      file = stem == file.npos ? std::string_view() : file.substr(stem + 1);
    }
    // Built for several architectures, the host's part is named after one of them: app.compute_90.cudafe1.cpp
    if (size_t last = file.rfind('.'); last != file.npos && file.substr(last).starts_with(".compute_"))
      file = file.substr(0, last);
    return std::string(file);
  }
  size_t dot = file.rfind('.');
  if (dot == file.npos || file == "link.stub") return "";
  return std::string(file.substr(0, dot));
}

}  // namespace kernelift::record
