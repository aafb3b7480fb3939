// Device memory at given addresses (DESIGN D2). Reservations are made of whole 32 MiB blocks, since the driver grants a
// hint only when it is aligned so; memory is mapped in them by granules of 2 MiB. Blocks stay reserved as long as this
// object lives, memory goes when its last holder does.
#pragma once
#include <map>
#include <memory>
#include <set>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/device.h"

namespace kernelift {

inline constexpr uint64_t kReservationBlock = 32 << 20;

class AddressSpace : public std::enable_shared_from_this<AddressSpace> {
 public:
  AddressSpace(const CudaDriver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}
  ~AddressSpace();
  /// Before the driver starts: the blocks around these addresses are taken, until place() wants them. What something else
  /// holds already is left alone; place() will say so.
  void keep_clear(const std::vector<std::pair<uint64_t, uint64_t>>& ranges);
  Result<DeviceMemory> place(uint64_t address, uint64_t bytes);

 private:
  struct Piece;
  struct Placed;
  Status reserve(uint64_t begin, uint64_t end);
  Result<Piece> map(uint64_t address, uint64_t bytes);

  const CudaDriver& driver_;
  int ordinal_;
  std::map<uint64_t, uint64_t> reserved_;  ///< begin → end, as they were reserved.
  std::set<uint64_t> cleared_;             ///< Blocks that keep_clear() holds.
};

}  // namespace kernelift
