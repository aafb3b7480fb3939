// See checked_memory.h. Shadow memory is reserved whole and comes page by page as a kernel touches the objects.
#include "sandbox/device/cpu/executor/check/checked_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

namespace kernelift::cpu {

namespace {

constexpr size_t kMostFindings = 32;

std::atomic<uint64_t> launches{0};

}  // namespace

CheckedMemory::CheckedMemory(CheckedExtents extents)
    : follow_all_reads_(extents.follow_all_reads), forbidden_(std::move(extents.forbidden)) {
  std::ranges::sort(forbidden_);
  std::ranges::sort(extents.objects, {}, &CheckedObject::begin);
  for (CheckedObject& extent : extents.objects) {
    if (extent.bytes == 0) continue;
    Object& object = objects_.emplace_back();
    object.extent = std::move(extent);
    object.first = object.extent.begin / kGranule * kGranule;
    if (object.extent.unwritten) object.written.resize(object.granules());
  }
}

CheckedMemory::~CheckedMemory() {
  for (Object& object : objects_)
    if (object.words) munmap(object.words, object.word_bytes());
}

bool CheckedMemory::begin_launch(uint64_t blocks) {
  // Sites are numbered anew, so that those of earlier launches need not be there any more.
  number_ = ++launches, sites_.assign(1, nullptr), known_.clear();
  changed_ = trusts_ = false;
  for (Object& object : objects_) {
    object.changed = object.plainly_read = false;
    if (object.words) continue;
    void* words =
        mmap(nullptr, object.word_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) {
      not_checked_ = "no memory for what is to be noted of " + std::to_string(object.extent.bytes >> 20) + " MiB of " +
                     object.extent.name;
      return false;
    }
    (void)madvise(words, object.word_bytes(), MADV_HUGEPAGE);  // Fewer faults where the system has them.
    object.words = static_cast<Word*>(words);
  }
  forget_accesses();
  const size_t numbers = std::min<uint64_t>(blocks, Moment::kMostBlocks) + 1;
  released.assign(numbers, 0), acquired.assign(numbers, 0);
  return true;
}

void CheckedMemory::end_launch() {
  for (kl_site* site : sites_)
    if (site) site->quick_count = 0;
}

/// What sites remember of their objects is asked again.
void CheckedMemory::trust_reads() {
  trusts_ = true;
  for (kl_site* site : sites_)
    if (site && !site->variable) site->bytes = site->quick_count = 0;
}

void CheckedMemory::forget_accesses() {
  for (Object& object : objects_)
    if (object.words) madvise(object.words, object.word_bytes(), MADV_DONTNEED);
  cells_.clear(), free_cells_.clear(), taken_cells_ = 0;
}

uint64_t CheckedMemory::take_cell() {
  if (!free_cells_.empty()) {
    const uint64_t number = free_cells_.back();
    free_cells_.pop_back();
    return number;
  }
  if (taken_cells_ == cells_.size() * kCellsOfChunk) cells_.push_back(std::make_unique<Cell[]>(kCellsOfChunk));
  return taken_cells_++;
}

Cell CheckedMemory::cell_of(Word word) const {
  if (word.is_cell()) return cell(word.cell());
  Cell cell;
  (word.is_write() ? cell.writer : cell.reader) = word.access();
  return cell;
}

void CheckedMemory::keep(Word& word, const Cell& now, bool plain) {
  if (plain && !now.other_reader && !(now.writer && now.reader)) {
    if (word.is_cell()) free_cells_.push_back(word.cell());
    word = now.writer ? Word::of_write(now.writer) : Word::of_read(now.reader);
    return;
  }
  if (!word.is_cell()) word = Word::of_cell(take_cell());
  cell(word.cell()) = now;
}

bool CheckedMemory::find(kl_site& site, uint64_t address, uint64_t bytes) {
  auto next = std::ranges::upper_bound(objects_, address, {}, [](const Object& object) { return object.extent.begin; });
  if (next == objects_.begin()) return false;
  Object& object = *std::prev(next);
  if (address - object.extent.begin >= object.extent.bytes) return false;
  site.begin = object.extent.begin, site.bytes = object.extent.bytes, site.shadow = object.words;
  site.written = object.written.empty() ? nullptr : object.written.data();
  site.quick_begin = site.begin, site.quick_count = 0, site.quick_shadow = object.words;
  const uint64_t places =
      site.bytes >= bytes && site.begin % site.align == 0 && !site.written ? (site.bytes - bytes) / site.align + 1 : 0;
  if (site.flags & KL_SITE_WRITE) {
    object.changed = changed_ = true;
    if (object.plainly_read && not_checked_.empty())
      not_checked_ = "it began to write to " + object.extent.name + " after other blocks had read it";
  } else if (trusts_ && !object.changed && is_plain(site) && places) {
    site.quick_count = places, site.quick_shadow = nullptr;
    object.plainly_read = true;
  }
  if (is_quick(site, bytes)) site.quick_count = places;
  return true;
}

bool CheckedMemory::is_forbidden(uint64_t address) const {
  auto next = std::ranges::upper_bound(forbidden_, address, {}, &std::pair<uint64_t, uint64_t>::first);
  return next != forbidden_.begin() && address < std::prev(next)->second;
}

std::pair<std::string, uint64_t> CheckedMemory::nearest(uint64_t address) const {
  if (objects_.empty()) return {"memory", 0};
  auto distance = [&](const Object& object) {
    const uint64_t begin = object.extent.begin, end = begin + object.extent.bytes;
    return address < begin ? begin - address : address < end ? 0 : address - end;
  };
  const Object& object = *std::ranges::min_element(objects_, {}, distance);
  return {object.extent.name, object.extent.begin};
}

void CheckedMemory::number(kl_site& site) {
  const bool last = sites_.size() > Moment::kMostSites;
  site.owner = number_, site.bytes = 0, site.quick_count = 0;
  site.mark = Access::mark(last ? 0 : uint32_t(sites_.size()), site.flags & KL_SITE_STRONG);
  if (!last) sites_.push_back(&site);
}

bool CheckedMemory::is_news(FindingKind kind, const void* object, uint32_t site, uint32_t other) {
  return known_.emplace(kind, object, site, other).second;
}

void CheckedMemory::add(AccessFinding finding) {
  const bool known = std::ranges::any_of(findings_, [&](const AccessFinding& one) { return one.is_like(finding); });
  if (!known && findings_.size() < kMostFindings) findings_.push_back(std::move(finding));
}

struct AccessCheck::State {
  CheckedMemory memory;
};

AccessCheck::AccessCheck(CheckedExtents extents) : state_(new State{CheckedMemory(std::move(extents))}) {}
AccessCheck::~AccessCheck() = default;
CheckedMemory& AccessCheck::memory() const { return state_->memory; }
const std::vector<AccessFinding>& AccessCheck::findings() const { return state_->memory.findings(); }
const std::string& AccessCheck::not_checked() const { return state_->memory.not_checked(); }

}  // namespace kernelift::cpu
