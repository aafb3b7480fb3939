// Content-addressed chunks in one append-only file (blobs.klb of a capture). Made for a writer that may be killed at
// any moment inside someone else's process: every record carries its own checked head, so an index is rebuilt by
// walking the file, and one damaged record never hides the ones behind it. There is deliberately no trailer to lose and
// no delete.
//
//   file   "KLBLOBS1" u32 version u32 oldest_reader, then records, each at a multiple of 8
//   record u32 "KLBR" u32 encoding(0 raw, 1 zstd, 2 zstd of the difference from another chunk) u64 hash.high u64
//   hash.low u32 raw u32 stored u64 check, data, padding
//
// `check` is the low word of the hash of the 32 bytes before it. The data is checked by its content hash when it is
// read.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"

namespace kernelift {

inline constexpr uint32_t kChunkStoreVersion = 2;
inline constexpr uint32_t kLargestChunk = 16 << 20;  ///< Larger sizes in a record's head are damage, not data.

/// Appends chunks; put() may be called by several threads at once, which then hash and compress side by side. Memory:
/// one compressed chunk per thread, and about 100 bytes per distinct chunk for the index of what is stored.
class ChunkWriter {
 public:
  /// Fails if the file exists: an archive is never appended to by a second process.
  static Result<std::unique_ptr<ChunkWriter>> create(const std::filesystem::path& file);
  ~ChunkWriter();
  /// Stores `bytes` (at most kLargestChunk) unless an equal chunk is stored. After an Error the file is as it was
  /// before.
  Result<Hash> put(std::span<const std::byte> bytes);
  /// The same, but if the chunk differs little from `base` (a stored chunk of equal length), only the difference is
  /// stored: a kernel that changes a word in every page makes no new copy of its memory.
  Result<Hash> put_like(std::span<const std::byte> bytes, const Hash& base);
  /// Returns when all chunks are on disk.
  Status sync();
  uint64_t file_bytes() const;

 private:
  struct State;
  explicit ChunkWriter(std::unique_ptr<State>);
  Result<Hash> store(std::span<const std::byte> bytes, const Hash* base);
  std::unique_ptr<State> state_;
};

/// Reads chunks; safe to share between threads.
class ChunkReader {
 public:
  /// An Error only if the file cannot be read at all or has a newer version; damaged records are listed in damage().
  static Result<std::unique_ptr<ChunkReader>> open(const std::filesystem::path& file);
  ~ChunkReader();
  bool has(const Hash& hash) const;
  /// Appends the chunk, `size` bytes long, to `out`; every byte is checked against the hash.
  Status read(const Hash& hash, uint64_t size, std::vector<std::byte>& out) const;
  /// The same, into memory of the chunk's size; its content is undefined after an Error.
  Status read(const Hash& hash, std::span<std::byte> out) const;
  /// "blobs.klb: damaged record at offset 4096 (readable again from 8192)", one for each unreadable part of the file;
  /// empty if the file is sound.
  const std::vector<std::string>& damage() const;

 private:
  struct State;
  explicit ChunkReader(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

}  // namespace kernelift
