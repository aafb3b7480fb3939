// See images.h.
#include "extractor/record/cuda/memory/images.h"

#include <algorithm>
#include <atomic>

namespace kernelift::record {

/// One walk over a range of memory: what is done with each chunk.
struct Images::Pass {
  CaptureWriter* writer = nullptr;             ///< Null: chunks are not stored.
  const AllocationMap* allocations = nullptr;  ///< Null: addresses are not looked for.
  const Image* base = nullptr;                 ///< Of equal size, or null.
  Image image;
  std::vector<std::vector<AddressFound>> found;  ///< By chunk.
  bool shared = false;                           ///< The application's threads may write to it meanwhile.
  std::mutex turn;
  std::atomic<bool> failed{false};
  Status status;

  void fail(Status why) {
    std::lock_guard lock(turn);
    if (status.ok()) status = std::move(why);
    failed = true;
  }
  void take(size_t chunk, std::span<const std::byte> bytes, uint64_t address) {
    if (failed) return;
    // What is hashed must be what is stored, or the chunk reads as damaged.
    std::vector<std::byte> own;
    if (shared) {
      own.assign(bytes.begin(), bytes.end());
      bytes = own;
    }
    if (allocations) found[chunk] = find_addresses(bytes, address + chunk * kChunkBytes, address, *allocations);
    if (!writer) return;
    auto hash = writer->store_chunk(bytes, base ? &base->chunks[chunk] : nullptr);
    if (hash.ok()) image.chunks[chunk] = *hash;
    else fail(hash.error());
  }
};

void Images::begin(CaptureWriter& writer, bool keep) {
  writer_ = &writer;
  keep_ = keep;
  stored_.clear();
}

Status Images::stream(uint64_t address, uint64_t size, MemoryKind kind, Pass& pass) {
  size_t chunks = (size + kChunkBytes - 1) / kChunkBytes;
  pass.image.size = size;
  pass.image.chunks.resize(chunks);
  pass.found.resize(chunks);
  bytes_read_ += size;
  Countdown work[kBuffers];
  auto give = [&](Countdown& count, const std::byte* from, uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; at += kChunkBytes) {
      std::span bytes(from + (at - begin), std::min<uint64_t>(kChunkBytes, end - at));
      count.add();
      // A small image is done sooner than it is handed over.
      auto one = [&pass, &count, at, bytes, address] {
        try {
          pass.take(at / kChunkBytes, bytes, address);
        } catch (...) {
          pass.fail(environment_error("out of memory while an image was stored"));
        }
        count.done();
      };
      if (size <= kChunkBytes) one();
      else crew_.give(std::move(one));
    }
  };
  auto settle = [&](Status status) {
    for (auto& one : work) one.wait();
    return status.ok() ? std::move(pass.status) : std::move(status);
  };
  if (const std::byte* direct = source_.direct(address, kind)) {
    pass.shared = true;
    give(work[0], direct, 0, size);
    return settle(done());
  }
  if (buffers_.empty()) {
    KERNELIFT_ASSIGN(buffers_, source_.buffers(kBuffers, kBufferBytes));
  }
  size_t slices = (size + kBufferBytes - 1) / kBufferBytes;
  auto begin_of = [&](size_t slice) { return uint64_t(slice) * kBufferBytes; };
  auto end_of = [&](size_t slice) { return std::min<uint64_t>(size, begin_of(slice) + kBufferBytes); };
  auto arrived = [&](size_t slice) -> Status {
    size_t buffer = slice % kBuffers;
    KERNELIFT_TRY(source_.finish(buffer));
    give(work[buffer], buffers_[buffer], begin_of(slice), end_of(slice));
    return done();
  };
  for (size_t slice = 0; slice < slices && !pass.failed; ++slice) {
    size_t buffer = slice % kBuffers;
    work[buffer].wait();
    if (auto status = source_.start(buffer, address + begin_of(slice), end_of(slice) - begin_of(slice)); !status.ok())
      return settle(std::move(status));
    if (slice > 0)
      if (auto status = arrived(slice - 1); !status.ok()) return settle(std::move(status));
    if (slice + 1 == slices)
      if (auto status = arrived(slice); !status.ok()) return settle(std::move(status));
  }
  return settle(done());
}

Result<std::vector<AddressFound>> Images::look_through(uint64_t address, uint64_t size, MemoryKind kind,
                                                       const AllocationMap& allocations) {
  Pass pass;
  pass.allocations = &allocations;
  if (keep_) pass.writer = writer_;
  KERNELIFT_TRY(stream(address, size, kind, pass));
  if (keep_) stored_[{address, size}] = std::move(pass.image);
  std::vector<AddressFound> found;
  std::vector<bool> seen(allocations.size(), false);
  for (auto& chunk : pass.found)
    for (auto& one : chunk)
      if (!seen[one.allocation]) seen[one.allocation] = true, found.push_back(one);
  return found;
}

Result<Image> Images::image(uint64_t address, uint64_t size, MemoryKind kind, const Image* base) {
  if (auto known = stored_.find({address, size}); known != stored_.end()) return known->second;
  Pass pass;
  pass.writer = writer_;
  if (base && base->size == size) pass.base = base;
  KERNELIFT_TRY(stream(address, size, kind, pass));
  return std::move(pass.image);
}

}  // namespace kernelift::record
