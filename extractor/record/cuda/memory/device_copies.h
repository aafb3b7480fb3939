// The CopySource of a real GPU: pinned buffers, a stream of our own, one event per buffer. Belongs to one context and
// is forgotten, not destroyed, with it.
#pragma once
#include <vector>

#include "core/toolchain/cuda_driver.h"
#include "extractor/record/cuda/memory/images.h"
#include "extractor/record/cuda/memory/textures.h"

namespace kernelift::record {

class DeviceCopies : public CopySource {
 public:
  /// EXPECTS: calls come with the context it is first used in being current.
  DeviceCopies(const CudaDriver& driver, const Textures& textures) : driver_(driver), textures_(textures) {}
  Result<std::vector<std::byte*>> buffers(size_t count, size_t bytes) override;
  const std::byte* direct(uint64_t address, MemoryKind kind) override;
  Status start(size_t buffer, uint64_t address, uint64_t size) override;
  Status finish(size_t buffer) override;

 private:
  Status check(CUresult result, const char* what) const;

  const CudaDriver& driver_;
  const Textures& textures_;  ///< Whose arrays are read as memory is.
  CUstream stream_ = nullptr;
  std::vector<std::byte*> buffers_;
  std::vector<CUevent> events_;
};

}  // namespace kernelift::record
