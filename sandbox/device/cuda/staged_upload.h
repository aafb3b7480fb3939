// Large copies from pageable memory to a GPU. The driver stages them through one buffer with one thread; here all cores
// fill one of two pinned buffers while the GPU fetches the other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/toolchain/cuda_driver.h"

namespace kernelift::sandbox {

class StagedUpload {
 public:
  static constexpr size_t kWorthIt = 8 << 20;  ///< Bytes; smaller copies are left to the driver.

  explicit StagedUpload(const CudaDriver& driver) : driver_(driver) {}
  ~StagedUpload();
  StagedUpload(const StagedUpload&) = delete;
  StagedUpload& operator=(const StagedUpload&) = delete;

  /// Whether there are pinned buffers; makes them first.
  bool ready();
  /// Copies, and waits for it. EXPECTS: ready().
  CUresult write(CUstream stream, uint64_t to, std::span<const std::byte> bytes);

 private:
  static constexpr size_t kStageBytes = 16 << 20;
  struct Stage {
    std::byte* memory = nullptr;
    CUevent fetched = nullptr;
  };

  const CudaDriver& driver_;
  Stage stages_[2];
  bool tried_ = false, made_ = false;
};

}  // namespace kernelift::sandbox
