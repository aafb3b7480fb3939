// See checked_memory.h. Shadow memory is reserved whole and comes page by page as a kernel touches the objects.
#include "sandbox/device/cpu/executor/check/checked_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace kernelift::cpu {

namespace {

constexpr size_t kMostFindings = 32;

}  // namespace

CheckedMemory::CheckedMemory(CheckedExtents extents) : forbidden_(std::move(extents.forbidden)) {
  std::ranges::sort(forbidden_);
  std::ranges::sort(extents.objects, {}, &CheckedObject::begin);
  for (CheckedObject& extent : extents.objects) {
    if (extent.bytes == 0) continue;
    Object& object = objects_.emplace_back();
    object.extent = std::move(extent);
    object.first = object.extent.begin / kGranule * kGranule;
    if (object.extent.unwritten) object.written.resize(object.cell_bytes() / sizeof(Cell));
  }
}

CheckedMemory::~CheckedMemory() {
  for (Object& object : objects_)
    if (object.cells) munmap(object.cells, object.cell_bytes());
}

bool CheckedMemory::begin_launch(uint64_t blocks) {
  for (Object& object : objects_) {
    if (object.cells) continue;
    void* cells =
        mmap(nullptr, object.cell_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED) {
      not_checked_ = "no memory for what is to be noted of " + std::to_string(object.extent.bytes >> 20) + " MiB of " +
                     object.extent.name;
      return false;
    }
    object.cells = static_cast<Cell*>(cells);
  }
  forget_accesses();
  const size_t numbers = std::min<uint64_t>(blocks, Moment::kMostBlocks) + 1;
  released.assign(numbers, 0), acquired.assign(numbers, 0);
  return true;
}

void CheckedMemory::forget_accesses() {
  for (Object& object : objects_)
    if (object.cells) madvise(object.cells, object.cell_bytes(), MADV_DONTNEED);
}

CheckedMemory::Object* CheckedMemory::find(kl_site& site, uint64_t address) {
  auto holds = [&](const Object& object) { return address - object.extent.begin < object.extent.bytes; };
  if (site.object < objects_.size() && holds(objects_[site.object])) return &objects_[site.object];
  auto next = std::ranges::upper_bound(objects_, address, {}, [](const Object& object) { return object.extent.begin; });
  if (next == objects_.begin() || !holds(*std::prev(next))) return nullptr;
  site.object = uint32_t(next - objects_.begin()) - 1;
  return &*std::prev(next);
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

uint32_t CheckedMemory::number_of(kl_site& site) {
  if (site.number < sites_.size() && sites_[site.number] == &site) return site.number;
  if (sites_.size() > Moment::kMostSites) return 0;
  site.number = uint32_t(sites_.size());
  site.object = 0;
  sites_.push_back(&site);
  return site.number;
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
