// Copies of the environment: the strings that the kernel put above the first stack, at which argv and environ point;
// copies that setenv() makes; and what std::string and other callers of getenv() left on the heap, freed perhaps, with
// the first bytes overwritten. The last kind is searched for, and only for variables that are named like secrets:
// zeroing each place where the bytes of, say, LANG occur would damage strings that have nothing to do with it.
#include "sandbox/jail/environment.h"

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

extern char** environ;

// Whole mappings are searched, bytes included that a sanitizer holds to be no object's.
#define KERNELIFT_ANY_MEMORY __attribute__((no_sanitize_address, no_sanitize_thread))

namespace kernelift::sandbox {
namespace {

constexpr const char* kKept[] = {"PATH",
                                 "HOME",
                                 "TMPDIR",
                                 "LD_LIBRARY_PATH",
                                 "CUDA_HOME",
                                 "CUDA_PATH",
                                 "CUDA_VISIBLE_DEVICES",
                                 "CUDA_DEVICE_ORDER",
                                 "CUDA_MPS_PIPE_DIRECTORY",
                                 "CUDA_MPS_LOG_DIRECTORY",
                                 "CUDA_MODULE_LOADING",
                                 "CUDA_CACHE_DISABLE",
                                 "NVIDIA_VISIBLE_DEVICES",
                                 "NVIDIA_DRIVER_CAPABILITIES",
                                 "CPATH",
                                 "C_INCLUDE_PATH",
                                 "CPLUS_INCLUDE_PATH",
                                 "KERNELIFT_DATA",
                                 "KERNELIFT_CUDA_LIBRARIES",
                                 "KERNELIFT_CPU_WORKERS",
                                 "ASAN_OPTIONS",
                                 "UBSAN_OPTIONS",
                                 "TSAN_OPTIONS"};

constexpr size_t kShortestSecret = 8;
constexpr size_t kLargestMapping = 1 << 30;  // Larger ones are reserved address space, hardly touched.

struct Range {
  uintptr_t begin = 0, end = 0;
  bool holds(uintptr_t at) const { return at >= begin && at < end; }
};

/// The strings that the kernel put above the stack for argv and environ; empty if it does not say where.
Range first_strings() {
  constexpr int kArgumentsBegin = 48, kEnvironmentEnd = 51;  // Fields of /proc/self/stat, counted from 1.
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  size_t behind_name = text.rfind(')');
  if (behind_name == text.npos) return {};
  std::istringstream fields(text.substr(behind_name + 1));
  Range range;
  std::string word;
  for (int field = 3; fields >> word; ++field) {
    if (field == kArgumentsBegin) range.begin = std::strtoull(word.c_str(), nullptr, 10);
    if (field == kEnvironmentEnd) range.end = std::strtoull(word.c_str(), nullptr, 10);
  }
  constexpr uintptr_t kMost = 16 << 20;
  return range.end > range.begin && range.end - range.begin < kMost ? range : Range{};
}

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

bool is_one_of(std::string_view name, std::span<const char* const> names) {
  return std::ranges::find(names, name) != names.end();
}

bool named_like_a_secret(std::string_view name) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const char* word : {"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"})
    if (upper.find(word) != upper.npos) return true;
  return false;
}

/// Memory that may hold copies: private and writable.
std::vector<Range> writable_mappings() {
  std::vector<Range> ranges;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char rights[8] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %7s", &begin, &end, rights) != 3) continue;
    if (std::strncmp(rights, "rw", 2) == 0 && rights[3] == 'p' && end - begin <= kLargestMapping)
      ranges.push_back({static_cast<uintptr_t>(begin), static_cast<uintptr_t>(end)});
  }
  return ranges;
}

KERNELIFT_ANY_MEMORY void overwrite(volatile char* from, volatile char* to) {
  for (; from < to; ++from) *from = 0;
}

/// Copies memory of this process; what cannot be read (guard pages in the middle of a mapping, a file's pages behind
/// its end) ends the copy instead of this process. Returns how many bytes were copied.
size_t copied(uintptr_t from, char* to, size_t size) {
  iovec local{to, size}, remote{reinterpret_cast<void*>(from), size};
  const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return got > 0 ? static_cast<size_t>(got) : 0;
}

/// Memory for copies, which is in none of the mappings that were listed before, and gone with this object.
class Window {
 public:
  static constexpr size_t kBytes = 1 << 20;
  Window() : at_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Window() {
    if (at_ != MAP_FAILED) munmap(at_, kBytes);
  }
  char* data() const { return at_ == MAP_FAILED ? nullptr : static_cast<char*>(at_); }

 private:
  void* at_;
};

/// Overwrites the copy of `secret`, or of a tail of it, that ends before `end`; kShortestSecret bytes of it are there.
KERNELIFT_ANY_MEMORY void overwrite_copy(std::string_view secret, uintptr_t begin_of_memory, uintptr_t end) {
  size_t length = kShortestSecret;
  char before = 0;
  while (length < secret.size() && end - length > begin_of_memory && copied(end - length - 1, &before, 1) == 1 &&
         before == secret[secret.size() - length - 1])
    ++length;
  overwrite(reinterpret_cast<volatile char*>(end - length), reinterpret_cast<volatile char*>(end));
}

/// Overwrites each copy of `secret`, or of a tail of it of kShortestSecret bytes or more, except in `kept`, where the
/// secret itself lies.
void overwrite_copies(std::string_view secret, const Range& memory, const std::vector<Range>& kept,
                      const Window& window) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const std::string_view tail = secret.substr(secret.size() - kShortestSecret);
  for (uintptr_t at = memory.begin; at < memory.end;) {
    const size_t got = copied(at, window.data(), std::min<size_t>(Window::kBytes, memory.end - at));
    if (got == 0) {
      at += page - at % page;
      continue;
    }
    const std::string_view bytes(window.data(), got);
    for (size_t found = bytes.find(tail); found != bytes.npos; found = bytes.find(tail, found + 1))
      if (std::ranges::none_of(kept, [&](const Range& range) { return range.holds(at + found); }))
        overwrite_copy(secret, memory.begin, at + found + tail.size());
    // A copy may lie across the ends of two windows.
    at += got >= tail.size() && at + got < memory.end ? got - (tail.size() - 1) : got;
  }
}

}  // namespace

std::span<const char* const> kept_variables() { return kKept; }

void forget_environment(std::string_view name) {
  std::vector<std::string> kept;
  std::vector<Range> entries;
  const Range strings = first_strings();
  if (strings.end) entries.push_back(strings);
  for (char** entry = environ; entry && *entry; ++entry) {
    auto begin = reinterpret_cast<uintptr_t>(*entry);
    entries.push_back({begin, begin + std::strlen(*entry)});
    if (is_one_of(name_of(*entry), kKept)) kept.emplace_back(*entry);
  }
  std::vector<Range> memory;
  std::optional<Window> window;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry, variable = name_of(text);
    if (is_one_of(variable, kKept) || !named_like_a_secret(variable)) continue;
    std::string_view value = text.substr(std::min(text.size(), variable.size() + 1));
    if (value.size() < kShortestSecret) continue;
    if (!window) memory = writable_mappings(), window.emplace();
    if (!window->data()) continue;
    for (const Range& range : memory) overwrite_copies(value, range, entries, *window);
  }
  for (const Range& entry : entries)
    overwrite(reinterpret_cast<volatile char*>(entry.begin), reinterpret_cast<volatile char*>(entry.end));
  clearenv();
  for (auto& entry : kept)
    if (size_t equals = entry.find('='); equals != entry.npos)
      setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  if (strings.end) name.copy(reinterpret_cast<char*>(strings.begin), strings.end - strings.begin - 1);
}

void narrow_environment(std::span<const char* const> further) {
  static std::vector<char*> narrow;
  narrow.clear();
  for (char** entry = environ; entry && *entry; ++entry)
    if (is_one_of(name_of(*entry), kKept) || is_one_of(name_of(*entry), further)) narrow.push_back(*entry);
  narrow.push_back(nullptr);
  environ = narrow.data();
}

}  // namespace kernelift::sandbox
