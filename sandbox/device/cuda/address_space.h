// Device memory at given addresses. Addresses are reserved in whole blocks of 32 MiB, because the driver grants a
// wanted address only with that alignment; memory is mapped in them in granules of 2 MiB. Blocks stay reserved for the
// lifetime of this object; memory is released with its last holder.
#pragma once
#include <map>
#include <memory>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/device.h"

namespace kernelift::sandbox {

inline constexpr uint64_t kReservationBlock = 32 << 20;

class AddressSpace : public std::enable_shared_from_this<AddressSpace> {
 public:
  /// `lost`: once it is true, memory and addresses are no longer released.
  AddressSpace(const CudaDriver& driver, int ordinal, std::shared_ptr<const bool> lost)
      : driver_(driver), ordinal_(ordinal), lost_(std::move(lost)) {}
  ~AddressSpace();
  /// Reserves the blocks that contain `begin` to `end`; if they are not available, place() reports it later.
  void reserve_early(uint64_t begin, uint64_t end);
  Result<DeviceMemory> place(uint64_t address, uint64_t bytes);

 private:
  struct Piece;
  struct Placed;
  Status reserve(uint64_t begin, uint64_t end);
  Result<Piece> map(uint64_t address, uint64_t bytes);

  const CudaDriver& driver_;
  int ordinal_;
  std::map<uint64_t, uint64_t> reserved_;  ///< Ends of reservations by their beginnings.
  std::shared_ptr<const bool> lost_;
};

}  // namespace kernelift::sandbox
