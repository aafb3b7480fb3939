// See replay_memory.h. Buffers are placed by the application: they begin and end anywhere in a page. Whole pages are
// mapped; the bytes of a page that belong to no buffer hold a canary, and beyond the pages lies memory that faults.
#include "sandbox/evaluate/cpu/replay_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "sandbox/jail/channel.h"
#include "sandbox/jail/jail.h"

namespace kernelift {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 64 << 10;  // Faulting bytes on each side; strides of a few rows still land in it.
constexpr std::byte kCanary{0xc9};
constexpr std::byte kPoison{0xc5};  // As a float about -6317: no NaN, which would be swallowed by fmax and the like.
constexpr uint64_t kNear = kGuard + kPage;

uint64_t down(uint64_t address) { return address / kPage * kPage; }
uint64_t up(uint64_t address) { return down(address + kPage - 1); }

bool reserve(uint64_t begin, uint64_t size, int protection, int flags, int fd) {
  void* wanted = reinterpret_cast<void*>(begin);
  void* got = mmap(wanted, size, protection, flags | MAP_FIXED_NOREPLACE, fd, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, size);  // Kernels before 4.17 take the address as a hint.
  return false;
}

}  // namespace

/// Data files, each once, in read-only memory backed by a file of its own: forking does not copy its page tables.
struct ReplayMemory::Images {
  std::map<std::string, uint64_t> offsets;
  std::byte* base = nullptr;
  size_t size = 0;

  ~Images() {
    if (base) munmap(base, size);
  }
  static Result<std::unique_ptr<Images>> load(const std::filesystem::path& folder,
                                              const std::map<std::string, uint64_t>& files) {
    auto images = std::make_unique<Images>();
    for (auto& [file, bytes] : files) images->offsets[file] = images->size, images->size += up(bytes);
    if (images->size == 0) return images;
    Descriptor memory(memfd_create("kernelift-images", MFD_CLOEXEC));
    void* writable = MAP_FAILED;
    if (memory && ftruncate(memory.get(), static_cast<off_t>(images->size)) == 0)
      writable = mmap(nullptr, images->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
    if (writable == MAP_FAILED)
      return environment_error("not enough memory for " + std::to_string(images->size >> 20) + " MiB of recorded data");
    for (auto& [file, bytes] : files) {
      auto loaded = Mep::load(folder, file);
      if (!loaded.ok()) {
        munmap(writable, images->size);
        return std::move(loaded).error();
      }
      std::memcpy(static_cast<std::byte*>(writable) + images->offsets[file], loaded->data(),
                  std::min<size_t>(bytes, loaded->size()));
    }
    munmap(writable, images->size);
    void* readable = mmap(nullptr, images->size, PROT_READ, MAP_PRIVATE, memory.get(), 0);
    if (readable == MAP_FAILED) return environment_error("not enough address space for the recorded data");
    images->base = static_cast<std::byte*>(readable);
    return images;
  }
};

Result<std::unique_ptr<ReplayMemory>> ReplayMemory::map(const Mep& mep, const std::filesystem::path& folder) {
  for (auto& instance : mep.instances)
    if (!instance.symbols.empty())
      return refused(
          "instance " + instance.id + " holds the address of module variable " + instance.symbols.front().key +
          ", which lies elsewhere in every image; the CPU device cannot put its own there: replay and tune it on the "
          "GPU (--device cuda)");
  std::unique_ptr<ReplayMemory> memory(new ReplayMemory);
  KERNELIFT_TRY(memory->map_live(mep));
  KERNELIFT_TRY(memory->map_images(mep, folder));
  memory->describe(mep);
  if (memory->mirror_bytes_ > 0) memory->mirror_ = static_cast<std::byte*>(shared_memory(memory->mirror_bytes_));
  if (memory->mirror_bytes_ > 0 && !memory->mirror_) return environment_error("not enough memory for module variables");
  return memory;
}

ReplayMemory::~ReplayMemory() {
  for (auto* spans : {&spans_, &guards_})
    for (auto& span : *spans) munmap(reinterpret_cast<void*>(span.begin), span.end - span.begin);
  if (mirror_) munmap(mirror_, mirror_bytes_);
}

Status ReplayMemory::map_live(const Mep& mep) {
  std::vector<Span> wanted;
  for (auto& instance : mep.instances)
    for (auto& region : instance.regions) {
      if (region.size == 0) continue;
      if (region.address + region.size < region.address)
        return environment_error("mep.json: a region wraps around the address space");
      wanted.push_back({down(region.address), up(region.address + region.size)});
    }
  std::sort(wanted.begin(), wanted.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  for (auto& span : wanted) {
    if (!spans_.empty() && span.begin <= spans_.back().end + 2 * kGuard)
      spans_.back().end = std::max(spans_.back().end, span.end);
    else spans_.push_back(span);
  }
  for (size_t i = 0; i < spans_.size(); ++i) {
    auto [begin, end] = spans_[i];
    Descriptor backing(memfd_create("kernelift-live", MFD_CLOEXEC));
    if (!backing || ftruncate(backing.get(), static_cast<off_t>(end - begin)) != 0 ||
        !reserve(begin, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED, backing.get())) {
      spans_.resize(i);
      char text[160];
      std::snprintf(text, sizeof text,
                    "cannot map %llu bytes at the recorded address 0x%llx: %s; addresses of this process are random, "
                    "so try again",
                    (unsigned long long)(end - begin), (unsigned long long)begin,
                    errno == EEXIST ? "something else is there" : std::strerror(errno));
      return environment_error(text);
    }
    for (uint64_t guard : {begin - kGuard, end})
      if (reserve(guard, kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1))
        guards_.push_back({guard, guard + kGuard});
  }
  return done();
}

Status ReplayMemory::map_images(const Mep& mep, const std::filesystem::path& folder) {
  std::map<std::string, uint64_t> given, answers;
  bool answered = true;
  auto note = [&](const std::string& before, const std::string& after, uint64_t size) {
    given[before] = std::max(given[before], size);
    answered &= !after.empty();
    if (after != before) answers[after] = std::max(answers[after], size);
  };
  for (auto& instance : mep.instances) {
    for (auto& region : instance.regions) note(region.before, region.after, region.size);
    for (auto& variable : instance.variables) note(variable.before, variable.after, variable.size);
  }
  if (!answered)
    return answer_is_no((folder / "mep.json").string() +
                        ": the answers of this MEP are not known (its README.md says why), so nothing can be " +
                        "verified with it; record a run of the application instead");
  KERNELIFT_ASSIGN(given_, Images::load(folder, given));
  KERNELIFT_ASSIGN(answers_, Images::load(folder, answers));
  if (answers_->base && madvise(answers_->base, answers_->size, MADV_DONTFORK) != 0)
    return environment_error("cannot hide the recorded answers from candidates: madvise failed");
  return done();
}

void ReplayMemory::describe(const Mep& mep) {
  auto place = [&](const std::string& before, const std::string& after, const std::byte*& given,
                   const std::byte*& answer) {
    given = given_->base + given_->offsets[before];
    answer = after == before ? given : answers_->base + answers_->offsets[after];
  };
  const WrittenRegions written(mep);
  for (auto& instance : mep.instances) {
    InstanceMemory memory;
    for (auto& region : instance.regions) {
      if (region.size == 0) continue;
      MemoryRegion mapped;
      mapped.address = region.address, mapped.size = region.size;
      place(region.before, region.after, mapped.given, mapped.answer);
      mapped.yardstick = Yardstick(ElementLayout::parse(region.element));
      bool named = region.parameter >= 0 && static_cast<size_t>(region.parameter) < mep.parameters.size();
      mapped.writes = written.of(instance, region);
      mapped.name = named ? mep.parameters[region.parameter].name : "";
      if (mapped.name.empty()) mapped.name = region.reached_from.empty() ? "memory" : region.reached_from;
      memory.regions.push_back(std::move(mapped));
    }
    std::sort(memory.regions.begin(), memory.regions.end(), [](auto& a, auto& b) { return a.address < b.address; });
    uint64_t mirror = 0;
    for (auto& variable : instance.variables) {
      MemoryVariable mapped;
      mapped.name = variable.name, mapped.key = variable.key, mapped.size = variable.size;
      mapped.constant = variable.constant;
      place(variable.before, variable.after, mapped.given, mapped.answer);
      mapped.yardstick = Yardstick(ElementLayout::parse(variable.element));
      mapped.mirror_offset = mirror;
      mirror += variable.size;
      memory.variables.push_back(std::move(mapped));
    }
    mirror_bytes_ = std::max<size_t>(mirror_bytes_, mirror);
    auto region = memory.regions.begin();
    for (auto& span : spans_) {
      uint64_t at = span.begin;
      for (; region != memory.regions.end() && region->address < span.end; ++region) {
        if (region->address > at) memory.canaries.push_back({at, region->address});
        at = std::max(at, region->address + region->size);
      }
      if (at < span.end) memory.canaries.push_back({at, span.end});
    }
    instances_.push_back(std::move(memory));
  }
}

void ReplayMemory::restore(size_t instance, bool poison) const {
  for (auto& canary : instances_[instance].canaries)
    std::memset(reinterpret_cast<void*>(canary.begin), static_cast<int>(kCanary), canary.size());
  for (auto& region : instances_[instance].regions) std::memcpy(region.live(), region.given, region.size);
  if (poison) this->poison(instance);
}

void ReplayMemory::poison(size_t instance) const {
  for (auto& region : instances_[instance].regions)
    for (auto& range : region.written)
      std::memset(region.live() + range.begin, static_cast<int>(kPoison), range.size());
}

void ReplayMemory::fill(const MemoryRegion& region, std::byte byte) {
  std::memset(region.live(), static_cast<int>(byte), region.size);
}

std::string ReplayMemory::neighbourhood(size_t instance, uint64_t address) const {
  const MemoryRegion* nearest = nullptr;
  uint64_t distance = kNear;
  bool behind = true;
  for (auto& region : instances_[instance].regions) {
    uint64_t end = region.address + region.size;
    if (address >= region.address && address < end) return "inside " + region.name;
    uint64_t away = address >= end ? address - end : region.address - address;
    if (away >= distance) continue;
    nearest = &region, distance = away, behind = address >= end;
  }
  if (!nearest) return {};
  return std::to_string(distance) + " bytes " + (behind ? "after the end of " : "before the start of ") + nearest->name;
}

std::optional<std::string> ReplayMemory::broken_canary(size_t instance) const {
  for (auto& canary : instances_[instance].canaries) {
    auto* begin = reinterpret_cast<const std::byte*>(canary.begin);
    auto* end = reinterpret_cast<const std::byte*>(canary.end);
    auto* broken = std::find_if(begin, end, [](std::byte byte) { return byte != kCanary; });
    if (broken != end) return neighbourhood(instance, reinterpret_cast<uint64_t>(broken));
  }
  return std::nullopt;
}

}  // namespace kernelift
