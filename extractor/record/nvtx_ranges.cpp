// A launch asks for the present thread's occurrence, so pushed ranges are counted without a lock. Everything lives as
// long as the process: ranges end in destructors, too.
#include "extractor/record/nvtx_ranges.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

namespace kernelift::record {
namespace {

constexpr size_t kMostNames = 24;  ///< Of ranges that are told if the wanted one is missing.
constexpr size_t kDeepest = 128;   ///< Nested ranges of a thread; deeper ones are not told apart.

struct Domain {
  std::string name;
};

struct Watched {
  std::string name, domain;
  bool any_domain = true;
  std::mutex mutex;                  ///< Guards the rest.
  std::map<uint64_t, bool> started;  ///< Started ranges that have not ended; whether it is the one.
  uint64_t next_id = 1;
  std::set<std::string> seen;
};

std::atomic<Watched*> watched{nullptr};
std::atomic<uint64_t> occurrences{0};
std::atomic<uint64_t> process_occurrence{0};  ///< Of started ranges; 0: none is open.
std::atomic<int> process_open{0};

struct Open {
  const void* domain;
  bool wanted;
};
struct Thread {
  Open open[kDeepest];
  size_t depth = 0;
  int wanted = 0;
  uint64_t occurrence = 0;
};
thread_local Thread thread;

const std::string& name_of(const void* domain) {
  static const std::string& none = *new std::string;
  return domain ? static_cast<const Domain*>(domain)->name : none;
}

bool is_wanted(Watched& region, const void* domain, const char* name) {
  if (!name) return false;
  const bool wanted = region.name == name && (region.any_domain || region.domain == name_of(domain));
  if (!wanted) {
    std::lock_guard lock(region.mutex);
    if (region.seen.size() < kMostNames) region.seen.insert(name + (domain ? "@" + name_of(domain) : ""));
  }
  return wanted;
}

}  // namespace

void NvtxRanges::watch(const std::string& region) noexcept {
  if (watched) return;
  try {
    auto made = new Watched;
    const size_t at = region.rfind('@');
    made->any_domain = at == region.npos || at == 0;
    made->name = made->any_domain ? region : region.substr(0, at);
    if (!made->any_domain) made->domain = region.substr(at + 1);
    Watched* none = nullptr;
    if (!watched.compare_exchange_strong(none, made)) delete made;
  } catch (...) {}
}

bool NvtxRanges::watching() noexcept { return watched != nullptr; }

uint64_t NvtxRanges::occurrence() noexcept { return thread.wanted > 0 ? thread.occurrence : process_occurrence.load(); }

std::string NvtxRanges::title() noexcept {
  try {
    Watched* region = watched;
    return region ? "the NVTX range '" + region->name + (region->any_domain ? "" : "@" + region->domain) + "'" : "";
  } catch (...) {
    return {};
  }
}

std::string NvtxRanges::missed() noexcept {
  try {
    Watched* region = watched;
    if (!region) return {};
    std::lock_guard lock(region->mutex);
    const std::string none = "no kernel was launched in it; ";
    if (region->seen.empty()) return none + "the application marked no other NVTX range either";
    std::string names;
    for (auto& name : region->seen) names += (names.empty() ? "'" : ", '") + name + "'";
    return none + "other NVTX ranges of the run: " + names;
  } catch (...) {
    return {};
  }
}

void NvtxRanges::push(const void* domain, const char* name) noexcept {
  Watched* region = watched;
  if (!region) return;
  try {
    const bool wanted = is_wanted(*region, domain, name);
    if (thread.depth < kDeepest) {
      thread.open[thread.depth] = {domain, wanted};
      if (wanted && thread.wanted++ == 0) thread.occurrence = ++occurrences;
    }
    ++thread.depth;
  } catch (...) {}
}

void NvtxRanges::pop(const void* domain) noexcept {
  if (!watched || thread.depth == 0) return;
  if (thread.depth > kDeepest) {
    --thread.depth;
    return;
  }
  for (size_t i = thread.depth; i-- > 0;) {  // Each domain has a stack of its own.
    if (thread.open[i].domain != domain) continue;
    if (thread.open[i].wanted) --thread.wanted;
    for (--thread.depth; i < thread.depth; ++i) thread.open[i] = thread.open[i + 1];
    return;
  }
}

uint64_t NvtxRanges::start(const void* domain, const char* name) noexcept {
  Watched* region = watched;
  if (!region) return 0;
  try {
    const bool wanted = is_wanted(*region, domain, name);
    std::lock_guard lock(region->mutex);
    const uint64_t id = region->next_id++;
    region->started.emplace(id, wanted);
    if (wanted && process_open++ == 0) process_occurrence = ++occurrences;
    return id;
  } catch (...) {
    return 0;
  }
}

void NvtxRanges::end(uint64_t id) noexcept {
  Watched* region = watched;
  if (!region) return;
  try {
    std::lock_guard lock(region->mutex);
    auto found = region->started.find(id);
    if (found == region->started.end()) return;
    if (found->second && --process_open == 0) process_occurrence = 0;
    region->started.erase(found);
  } catch (...) {}
}

void* NvtxRanges::new_domain(const char* name) noexcept {
  try {
    return new Domain{name ? name : ""};
  } catch (...) {
    return nullptr;
  }
}

}  // namespace kernelift::record
