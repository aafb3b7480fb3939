// Copies of the environment: the strings that the kernel put above the first stack, at which argv and environ point;
// copies that setenv() makes; and what std::string and other callers of getenv() left on the heap, freed perhaps, with
// the first bytes overwritten. The last kind is searched for, and only for variables that are named like secrets:
// zeroing each place where the bytes of, say, LANG occur would damage strings that have nothing to do with it.
#include "sandbox/jail/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
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
                                 "KERNELIFT_CUPTI",
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

/// Overwrites each copy of `secret`, or of a tail of it of kShortestSecret bytes or more, except in `kept`, where the
/// secret itself lies.
KERNELIFT_ANY_MEMORY void overwrite_copies(std::string_view secret, const Range& memory,
                                           const std::vector<Range>& kept) {
  const char* secret_end = secret.data() + secret.size();
  uint64_t tail = 0;
  for (size_t i = 0; i < sizeof tail; ++i) reinterpret_cast<volatile char*>(&tail)[i] = (secret_end - sizeof tail)[i];
  for (uintptr_t at = memory.begin; at + sizeof tail <= memory.end; ++at) {
    struct __attribute__((packed)) Unaligned {
      uint64_t value;
    };
    if (reinterpret_cast<const Unaligned*>(at)->value != tail) continue;
    if (std::ranges::any_of(kept, [&](const Range& range) { return range.holds(at); })) continue;
    if (reinterpret_cast<const uint64_t*>(at) == &tail) continue;
    size_t length = sizeof tail;
    while (length < secret.size() && at - 1 >= memory.begin &&
           *reinterpret_cast<const char*>(at + sizeof tail - length - 1) == *(secret_end - length - 1))
      if (++length; at + sizeof tail - length == memory.begin) break;
    overwrite(reinterpret_cast<volatile char*>(at + sizeof tail - length),
              reinterpret_cast<volatile char*>(at + sizeof tail));
  }
  overwrite(reinterpret_cast<volatile char*>(&tail), reinterpret_cast<volatile char*>(&tail) + sizeof tail);
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
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view text = *entry, variable = name_of(text);
    if (is_one_of(variable, kKept) || !named_like_a_secret(variable)) continue;
    std::string_view value = text.substr(std::min(text.size(), variable.size() + 1));
    if (value.size() < kShortestSecret) continue;
    if (memory.empty()) memory = writable_mappings();
    for (const Range& range : memory) overwrite_copies(value, range, entries);
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
