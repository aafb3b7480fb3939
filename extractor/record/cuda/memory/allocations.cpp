// See allocations.h. A range is taken off the list before the driver frees it and put on it after the driver gave it,
// so that the list never holds memory that is not there.
#include "extractor/record/cuda/memory/allocations.h"

#include <cupti.h>

#include <algorithm>

#include "extractor/record/shared_mapping.h"

namespace kernelift::record {

Classified classify(const CudaDriver& driver, uint64_t address) {
  Classified result;
  unsigned type = 0, managed = 0;
  CUdeviceptr start = 0;
  size_t size = 0;
  void* host = nullptr;
  int ordinal = -1;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                  CU_POINTER_ATTRIBUTE_HOST_POINTER,     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void* into[] = {&type, &managed, &start, &size, &host, &ordinal};
  if (driver.cuPointerGetAttributes(std::size(wanted), wanted, into, address) != CUDA_SUCCESS) return result;
  if (type == CU_MEMORYTYPE_ARRAY) result.known = Classified::Kind::Array;
  if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED) return result;
  if (size == 0 || start == 0 || address < start || address - start > size) return result;
  result.known = Classified::Kind::Memory;
  result.memory = {start, size,
                   managed                      ? MemoryKind::Managed
                   : type == CU_MEMORYTYPE_HOST ? MemoryKind::HostMapped
                                                : MemoryKind::Device};
  result.host = reinterpret_cast<uint64_t>(host);
  result.device = ordinal;
  return result;
}

void Allocations::added(uint64_t address, uint64_t size, MemoryKind kind, CUcontext context) {
  if (address == 0 || size == 0) return;
  std::lock_guard lock(mutex_);
  live_[address] = {{address, size, kind}, context};
  ++version_;
}

void Allocations::removed(uint64_t address) {
  std::lock_guard lock(mutex_);
  version_ += live_.erase(address);
  borrowed_.erase(address);
}

void Allocations::borrowed(uint64_t address) {
  std::lock_guard lock(mutex_);
  borrowed_.insert(address);
}

void Allocations::imported(uint64_t handle) {
  std::lock_guard lock(mutex_);
  imported_.insert(handle);
}

bool Allocations::is_imported(uint64_t handle) const {
  std::lock_guard lock(mutex_);
  return imported_.contains(handle);
}

bool Allocations::borrowed_within(uint64_t address, uint64_t size) const {
  std::lock_guard lock(mutex_);
  auto first = borrowed_.lower_bound(address);
  return first != borrowed_.end() && *first < address + size;
}

void Allocations::mapped(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  mapped_[address] = size;
  ++version_;
}

std::vector<uint64_t> Allocations::mappings(uint64_t address, uint64_t size) const {
  std::lock_guard lock(mutex_);
  std::vector<uint64_t> list;
  for (auto at = mapped_.lower_bound(address); at != mapped_.end() && at->first < address + size; ++at)
    list.push_back(at->first);
  return list;
}

void Allocations::unmapped(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  auto from = mapped_.lower_bound(address), to = mapped_.lower_bound(address + size);
  mapped_.erase(from, to);
  borrowed_.erase(borrowed_.lower_bound(address), borrowed_.lower_bound(address + size));
  ++version_;
}

void Allocations::reserved(uint64_t address, uint64_t size) {
  std::lock_guard lock(mutex_);
  reserved_[address] = size;
}

void Allocations::unreserved(uint64_t address) {
  std::lock_guard lock(mutex_);
  reserved_.erase(address);
}

void Allocations::context_gone(CUcontext context) {
  std::lock_guard lock(mutex_);
  version_ += std::erase_if(live_, [&](auto& one) { return one.second.context == context; });
}

std::shared_ptr<const AllocationMap> Allocations::map(const Modules& modules) {
  std::lock_guard lock(mutex_);
  uint64_t variables_version = modules.version();
  if (made_ && made_version_ == version_ && made_variables_ == variables_version) return made_;
  std::vector<LiveMemory> list = modules.variables();
  for (auto& [_, owned] : live_) list.push_back(owned.memory);
  LiveMemory run;
  uint64_t run_reservation = 0;
  for (auto& [address, size] : mapped_) {
    auto reservation = reserved_.upper_bound(address);
    uint64_t inside = reservation == reserved_.begin() ? 0 : std::prev(reservation)->first;
    if (run.size > 0 && run.address + run.size == address && inside == run_reservation) {
      run.size += size;
      continue;
    }
    if (run.size > 0) list.push_back(run);
    run = {address, size, MemoryKind::Device}, run_reservation = inside;
  }
  if (run.size > 0) list.push_back(run);
  std::sort(list.begin(), list.end(), [](auto& a, auto& b) { return a.address < b.address; });
  // A variable that is in the list as an allocation too counts once.
  list.erase(std::unique(list.begin(), list.end(), [](auto& a, auto& b) { return a.address == b.address; }),
             list.end());
  made_ = std::make_shared<const AllocationMap>(std::move(list));
  made_version_ = version_, made_variables_ = variables_version;
  return made_;
}

#define KL_CBID(name) CUPTI_DRIVER_TRACE_CBID_##name
#define KL_PARAMETERS(name) (*static_cast<const name##_params*>(parameters))

namespace {

enum class Effect { None, Gives, Takes };

/// What the call does to the list. Forms for per-thread streams have the same layout.
Effect effect_of(uint32_t cbid) {
  switch (cbid) {
    case KL_CBID(cuMemAlloc_v2):
    case KL_CBID(cuMemAllocPitch_v2):
    case KL_CBID(cuMemAllocManaged):
    case KL_CBID(cuMemAllocAsync):
    case KL_CBID(cuMemAllocAsync_ptsz):
    case KL_CBID(cuMemAllocFromPoolAsync):
    case KL_CBID(cuMemAllocFromPoolAsync_ptsz):
    case KL_CBID(cuMemHostAlloc):
    case KL_CBID(cuMemHostAlloc_v2):
    case KL_CBID(cuMemAllocHost_v2):
    case KL_CBID(cuMemHostRegister):
    case KL_CBID(cuMemHostRegister_v2):
    case KL_CBID(cuIpcOpenMemHandle):
    case KL_CBID(cuIpcOpenMemHandle_v2):
    case KL_CBID(cuMemPoolImportPointer):
    case KL_CBID(cuMemImportFromShareableHandle):
    case KL_CBID(cuMemMap):
    case KL_CBID(cuMemAddressReserve): return Effect::Gives;
    case KL_CBID(cuMemFree_v2):
    case KL_CBID(cuMemFreeAsync):
    case KL_CBID(cuMemFreeAsync_ptsz):
    case KL_CBID(cuMemFreeHost):
    case KL_CBID(cuMemHostUnregister):
    case KL_CBID(cuIpcCloseMemHandle):
    case KL_CBID(cuMemUnmap):
    case KL_CBID(cuMemAddressFree): return Effect::Takes;
    default: return Effect::None;
  }
}

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void note_given(uint32_t cbid, const void* parameters, CUcontext context, Allocations& into) {
  switch (cbid) {
    case KL_CBID(cuMemAlloc_v2):
    case KL_CBID(cuMemAllocManaged):
    case KL_CBID(cuMemAllocAsync):
    case KL_CBID(cuMemAllocAsync_ptsz):
    case KL_CBID(cuMemAllocFromPoolAsync):
    case KL_CBID(cuMemAllocFromPoolAsync_ptsz): {
      auto& p = KL_PARAMETERS(cuMemAlloc_v2);  // All these have the same first parameters.
      bool managed = cbid == KL_CBID(cuMemAllocManaged);
      return into.added(*p.dptr, p.bytesize, managed ? MemoryKind::Managed : MemoryKind::Device, context);
    }
    case KL_CBID(cuMemAllocPitch_v2): {
      auto& p = KL_PARAMETERS(cuMemAllocPitch_v2);
      return into.added(*p.dptr, *p.pPitch * p.Height, MemoryKind::Device, context);
    }
    case KL_CBID(cuMemHostAlloc):
    case KL_CBID(cuMemHostAlloc_v2):
    case KL_CBID(cuMemAllocHost_v2): {
      auto& p = KL_PARAMETERS(cuMemAllocHost_v2);
      return into.added(number(*p.pp), p.bytesize, MemoryKind::HostMapped, context);
    }
    case KL_CBID(cuMemHostRegister):
    case KL_CBID(cuMemHostRegister_v2): {
      auto& p = KL_PARAMETERS(cuMemHostRegister);
      if (is_shared_mapping(number(p.p), p.bytesize)) into.borrowed(number(p.p));
      return into.added(number(p.p), p.bytesize, MemoryKind::HostMapped, context);
    }
    // How large it is only the driver knows, which is asked when a launch has its address.
    case KL_CBID(cuIpcOpenMemHandle):
    case KL_CBID(cuIpcOpenMemHandle_v2): return into.borrowed(*KL_PARAMETERS(cuIpcOpenMemHandle).pdptr);
    case KL_CBID(cuMemPoolImportPointer): return into.borrowed(*KL_PARAMETERS(cuMemPoolImportPointer).ptr_out);
    case KL_CBID(cuMemImportFromShareableHandle):
      return into.imported(*KL_PARAMETERS(cuMemImportFromShareableHandle).handle);
    case KL_CBID(cuMemMap): {
      auto& p = KL_PARAMETERS(cuMemMap);
      if (into.is_imported(p.handle)) into.borrowed(p.ptr);
      return into.mapped(p.ptr, p.size);
    }
    case KL_CBID(cuMemAddressReserve): {
      auto& p = KL_PARAMETERS(cuMemAddressReserve);
      return into.reserved(*p.ptr, p.size);
    }
    default: return;
  }
}

void note_taken(uint32_t cbid, const void* parameters, Allocations& into) {
  switch (cbid) {
    case KL_CBID(cuMemFree_v2): return into.removed(KL_PARAMETERS(cuMemFree_v2).dptr);
    case KL_CBID(cuMemFreeAsync):
    case KL_CBID(cuMemFreeAsync_ptsz): return into.removed(KL_PARAMETERS(cuMemFreeAsync).dptr);
    case KL_CBID(cuMemFreeHost): return into.removed(number(KL_PARAMETERS(cuMemFreeHost).p));
    case KL_CBID(cuMemHostUnregister): return into.removed(number(KL_PARAMETERS(cuMemHostUnregister).p));
    case KL_CBID(cuIpcCloseMemHandle): return into.removed(KL_PARAMETERS(cuIpcCloseMemHandle).dptr);
    case KL_CBID(cuMemUnmap): return into.unmapped(KL_PARAMETERS(cuMemUnmap).ptr, KL_PARAMETERS(cuMemUnmap).size);
    case KL_CBID(cuMemAddressFree): return into.unreserved(KL_PARAMETERS(cuMemAddressFree).ptr);
    default: return;
  }
}

}  // namespace

bool is_memory_call(uint32_t cbid) { return effect_of(cbid) != Effect::None; }

void note_memory_call(uint32_t cbid, const void* parameters, CUcontext context, bool before, bool succeeded,
                      Allocations& into) {
  Effect effect = effect_of(cbid);
  if (effect == Effect::Takes && before) note_taken(cbid, parameters, into);
  if (effect == Effect::Gives && !before && succeeded) note_given(cbid, parameters, context, into);
}

}  // namespace kernelift::record
