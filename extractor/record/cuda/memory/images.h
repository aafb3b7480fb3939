// Images of memory on their way from the device to the archive: slices are copied into a few pinned buffers, and while
// the next one arrives a crew looks for addresses in the last one, hashes, compresses and stores it. Host memory in use
// is the buffers, however large an image is. Where memory is copied from is behind a seam, so that all of this is
// tested without a GPU.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/model/capture.h"
#include "extractor/record/cuda/memory/crew.h"
#include "extractor/record/reach.h"

namespace kernelift::record {

/// Copies device memory; used by one thread at a time, with nothing running on the device.
class CopySource {
 public:
  virtual ~CopySource() = default;
  /// `buffers` times `bytes` of memory that copies are fast to.
  virtual Result<std::vector<std::byte*>> buffers(size_t count, size_t bytes) = 0;
  /// Memory the host can read where it lies, or nullptr.
  virtual const std::byte* direct(uint64_t address, MemoryKind kind) = 0;
  /// Starts a copy into buffer `buffer`.
  virtual Status start(size_t buffer, uint64_t address, uint64_t size) = 0;
  /// Returns when the last copy started into that buffer is there.
  virtual Status finish(size_t buffer) = 0;
};

class Images : public MemoryReader {
 public:
  static constexpr size_t kBuffers = 4;
  static constexpr size_t kBufferBytes = 16 << 20;

  Images(CopySource& source, Crew& crew) : source_(source), crew_(crew) {}
  /// From here on images go to `writer`. With `keep`, what look_through() reads is stored in the same pass.
  void begin(CaptureWriter& writer, bool keep);
  Result<std::vector<AddressFound>> look_through(uint64_t address, uint64_t size, MemoryKind kind,
                                                 const AllocationMap& allocations) override;
  /// The image as look_through() stored it since begin(), or read and stored now; of chunks that are much like those of
  /// `base`, what the same memory held before, only what differs is stored.
  Result<Image> image(uint64_t address, uint64_t size, MemoryKind kind, const Image* base = nullptr);
  /// Forgets what was stored: memory has changed. Returns to where begin() was.
  void changed() { stored_.clear(); }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Pass;
  Status stream(uint64_t address, uint64_t size, MemoryKind kind, Pass& pass);

  CopySource& source_;
  Crew& crew_;
  CaptureWriter* writer_ = nullptr;
  bool keep_ = false;
  std::vector<std::byte*> buffers_;
  std::map<std::pair<uint64_t, uint64_t>, Image> stored_;  ///< By address and size.
  uint64_t bytes_read_ = 0;
};

}  // namespace kernelift::record
