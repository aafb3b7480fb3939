// See address_space.h. A mapping must not cross from one reservation into the next, so memory may consist of pieces.
#include "sandbox/device/cuda/address_space.h"

#include <algorithm>
#include <cstdio>

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kPiece = 2 << 20;  ///< Granule of the driver's mappings, in bytes.

uint64_t down(uint64_t value, uint64_t unit) { return value / unit * unit; }
uint64_t up(uint64_t value, uint64_t unit) { return down(value + unit - 1, unit); }

std::string hexadecimal(uint64_t address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", (unsigned long long)address);
  return text;
}

}  // namespace

struct AddressSpace::Piece {
  uint64_t address = 0, bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
};

struct AddressSpace::Placed {
  std::shared_ptr<AddressSpace> space;
  std::vector<Piece> pieces;
  bool seal() const {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE, access.location.id = space->ordinal_;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    // A copy of up to 64 KiB from pageable memory returns before it is complete. Sealing the memory before would make
    // it fault, and destroy the context.
    if (space->driver_.cuCtxSynchronize() != CUDA_SUCCESS) return false;
    return std::all_of(pieces.begin(), pieces.end(), [&](auto& piece) {
      return space->driver_.cuMemSetAccess(piece.address, piece.bytes, &access, 1) == CUDA_SUCCESS;
    });
  }
  ~Placed() {
    if (*space->lost_) return;
    for (auto& piece : pieces) {
      space->driver_.cuMemUnmap(piece.address, piece.bytes);
      space->driver_.cuMemRelease(piece.handle);
    }
  }
};

AddressSpace::~AddressSpace() {
  if (*lost_) return;
  for (auto& [begin, end] : reserved_) driver_.cuMemAddressFree(begin, end - begin);
}

Status AddressSpace::reserve(uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    auto next = reserved_.upper_bound(at);
    if (next != reserved_.begin() && std::prev(next)->second > at) {
      at = std::prev(next)->second;
      continue;
    }
    uint64_t stop = next == reserved_.end() ? end : std::min(end, next->first);
    CUdeviceptr got = 0;
    CUresult result = driver_.cuMemAddressReserve(&got, stop - at, 0, at, 0);
    if (result == CUDA_SUCCESS && got != at) driver_.cuMemAddressFree(got, stop - at);
    if (result != CUDA_SUCCESS || got != at)
      return environment_error(
          "the recorded address " + hexadecimal(at) + " (" + std::to_string((stop - at) >> 20) +
          " MiB) is not available: " +
          (result == CUDA_SUCCESS ? "the driver offers " + hexadecimal(got) : cuda_error_text(driver_, result)));
    reserved_[at] = stop;
    at = stop;
  }
  return done();
}

void AddressSpace::reserve_early(uint64_t begin, uint64_t end) {
  (void)reserve(down(begin, kReservationBlock), up(end, kReservationBlock)).ok();
}

Result<AddressSpace::Piece> AddressSpace::map(uint64_t address, uint64_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal_;
  Piece piece{address, bytes, 0};
  auto refuse = [&](const char* what, CUresult result) {
    size_t free = 0, total = 0;
    driver_.cuMemGetInfo(&free, &total);
    return environment_error(std::string(what) + " " + std::to_string(bytes) + " bytes of device memory at " +
                             hexadecimal(address) + ": " + cuda_error_text(driver_, result) + "; " +
                             std::to_string(free) + " bytes are free");
  };
  if (CUresult result = driver_.cuMemCreate(&piece.handle, bytes, &properties, 0))
    return refuse("cannot allocate", result);
  if (CUresult result = driver_.cuMemMap(address, bytes, 0, piece.handle, 0)) {
    driver_.cuMemRelease(piece.handle);
    return refuse("cannot map", result);
  }
  CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (CUresult result = driver_.cuMemSetAccess(address, bytes, &access, 1)) {
    driver_.cuMemUnmap(address, bytes);
    driver_.cuMemRelease(piece.handle);
    return refuse("cannot open", result);
  }
  return piece;
}

Result<DeviceMemory> AddressSpace::place(uint64_t address, uint64_t bytes) {
  uint64_t begin = down(address, kPiece), end = up(address + bytes, kPiece);
  KERNELIFT_TRY(reserve(down(begin, kReservationBlock), up(end, kReservationBlock)));
  auto placed = std::make_shared<Placed>();
  placed->space = shared_from_this();
  for (uint64_t at = begin; at < end;) {
    auto within = std::prev(reserved_.upper_bound(at));
    uint64_t stop = std::min(end, within->second);
    KERNELIFT_ASSIGN(Piece piece, map(at, stop - at));
    placed->pieces.push_back(piece);
    at = stop;
  }
  DeviceMemory memory{begin, end - begin, placed, {}};
  memory.seal = [placed = std::weak_ptr<Placed>(placed)] {
    auto alive = placed.lock();
    return alive && alive->seal();
  };
  return memory;
}

}  // namespace kernelift::sandbox
