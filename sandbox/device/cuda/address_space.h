// Device memory at given addresses. Reservations are made of whole 32 MiB blocks, since the driver grants a
// hint only when it is aligned so; memory is mapped in them by granules of 2 MiB. Blocks stay reserved as long as this
// object lives, memory goes when its last holder does.
#pragma once
#include <map>
#include <memory>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/device.h"

namespace kernelift {

inline constexpr uint64_t kReservationBlock = 32 << 20;

class AddressSpace : public std::enable_shared_from_this<AddressSpace> {
 public:
  /// `lost`: once true, nothing is given back any more.
  AddressSpace(const CudaDriver& driver, int ordinal, std::shared_ptr<const bool> lost)
      : driver_(driver), ordinal_(ordinal), lost_(std::move(lost)) {}
  ~AddressSpace();
  /// Reserves the blocks around `begin` to `end`, if they can be had; place() says it where they cannot.
  void reserve_early(uint64_t begin, uint64_t end);
  Result<DeviceMemory> place(uint64_t address, uint64_t bytes);

 private:
  struct Piece;
  struct Placed;
  Status reserve(uint64_t begin, uint64_t end);
  Result<Piece> map(uint64_t address, uint64_t bytes);

  const CudaDriver& driver_;
  int ordinal_;
  std::map<uint64_t, uint64_t> reserved_;  ///< begin → end, as they were reserved.
  std::shared_ptr<const bool> lost_;
};

}  // namespace kernelift
