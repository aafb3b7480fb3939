// Writer and reader of the file that chunk_store.h describes, side by side so that they cannot drift apart. Compression
// uses zstd's fastest level: a recorder holds up the user's application while it writes, and chunks that remain after
// deduplication (arrays of floats) gain little from higher levels. Chunks that zstd cannot shorten are stored raw.
#include "core/base/chunk_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "core/base/descriptor.h"
#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr char kFileMagic[8] = {'K', 'L', 'B', 'L', 'O', 'B', 'S', '1'};
constexpr uint32_t kRecordMagic = 0x52424c4bu;  // "KLBR"
constexpr uint64_t kAlignment = 8;
constexpr int kCompressionLevel = 1;
constexpr uint64_t kWriteBack = 32 << 20;  ///< Bytes after which write-back to the disk is started.
constexpr uint32_t kOldestReader = 2;
constexpr int kLongestChain = 16;  ///< Most differences of differences that a reader has to follow.
enum Encoding : uint32_t { kRaw = 0, kZstd = 1, kDifference = 2 };

struct FileHead {
  char magic[8];
  uint32_t version, oldest_reader;
};

struct RecordHead {
  uint32_t magic, encoding;
  uint64_t hash_high, hash_low;
  uint32_t raw, stored;
  uint64_t check;

  uint64_t expected_check() const {
    return hash_bytes({reinterpret_cast<const std::byte*>(this), offsetof(RecordHead, check)}).low;
  }
  bool sound() const {
    return magic == kRecordMagic && check == expected_check() && encoding <= kDifference && raw <= kLargestChunk &&
           stored <= raw && (encoding != kRaw || stored == raw);
  }
};
static_assert(sizeof(FileHead) == 16 && sizeof(RecordHead) == 40);

struct HashOfHash {
  size_t operator()(const Hash& hash) const { return hash.low; }
};

/// Where a chunk's data is in the file.
struct Place {
  uint64_t offset = 0;
  uint32_t raw = 0, stored = 0, encoding = kRaw;
};

uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) & ~(kAlignment - 1); }

bool write_at(int fd, const void* data, size_t size, uint64_t offset) {
  auto* from = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t put = pwrite(fd, from, size, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    from += put, size -= static_cast<size_t>(put), offset += static_cast<uint64_t>(put);
  }
  return true;
}

/// Bytes read; fewer than `size` only at the end of the file or on an error.
size_t read_at(int fd, void* data, size_t size, uint64_t offset) {
  size_t filled = 0;
  while (filled < size) {
    ssize_t got = pread(fd, static_cast<char*>(data) + filled, size - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

/// A difference's data begins with the hash of its base, the chunk that it differs from.
constexpr size_t kBaseBytes = 2 * sizeof(uint64_t);

/// Reads the chunk at `place`, `place.raw` bytes long; `find` gives the Place of another chunk or nullptr. False if a
/// size or encoding does not fit; the content is not checked here.
template <class Find>
bool load(int fd, const Place& place, std::byte* into, Find&& find, int depth = 0) {
  if (place.encoding == kRaw) return read_at(fd, into, place.raw, place.offset) == place.raw;
  std::vector<char> stored(place.stored);
  if (read_at(fd, stored.data(), place.stored, place.offset) != place.stored) return false;
  size_t skip = place.encoding == kDifference ? kBaseBytes : 0;
  if (stored.size() < skip) return false;
  if (ZSTD_decompress(into, place.raw, stored.data() + skip, stored.size() - skip) != place.raw) return false;
  if (place.encoding == kZstd) return true;
  Hash base;
  std::memcpy(&base.high, stored.data(), sizeof base.high);
  std::memcpy(&base.low, stored.data() + sizeof base.high, sizeof base.low);
  const Place* from = depth < kLongestChain ? find(base) : nullptr;
  if (!from || from->raw != place.raw) return false;
  std::vector<std::byte> other(place.raw);
  if (!load(fd, *from, other.data(), find, depth + 1)) return false;
  for (size_t i = 0; i < other.size(); ++i) into[i] ^= other[i];
  return true;
}

}  // namespace

/// The buffers with which one thread makes a record.
struct RecordMaker {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  std::vector<char> record;  ///< Head, data and padding of one chunk, written by one call.
  std::vector<std::byte> other;
  ~RecordMaker() { ZSTD_freeCCtx(zstd); }

  char* data() { return record.data() + sizeof(RecordHead); }
  void make_room(size_t bytes) {
    record.resize(sizeof(RecordHead) + kBaseBytes + ZSTD_compressBound(bytes) + kAlignment);
  }
  /// Writes compressed `bytes` after `skip` bytes of the record's data. Returns the data's size, or 0 if it is not
  /// shorter than `bytes`.
  size_t compress(std::span<const std::byte> bytes, size_t skip) {
    make_room(bytes.size());
    if (!zstd) return 0;
    size_t stored = ZSTD_compressCCtx(zstd, data() + skip, ZSTD_compressBound(bytes.size()), bytes.data(), bytes.size(),
                                      kCompressionLevel);
    return ZSTD_isError(stored) || stored + skip >= bytes.size() ? 0 : stored + skip;
  }
  /// Writes the difference from the first chunk of `bases`. Returns the data's size, or 0 if too little is saved.
  size_t difference(int fd, std::span<const std::byte> bytes, const std::vector<std::pair<Hash, Place>>& bases) {
    constexpr size_t kWorthIt = 4;  ///< A difference must be at least this many times shorter than the chunk.
    auto find = [&](const Hash& hash) -> const Place* {
      for (auto& [key, place] : bases)
        if (key == hash) return &place;
      return nullptr;
    };
    other.resize(bytes.size());
    if (bases.empty() || !load(fd, bases.front().second, other.data(), find)) return 0;
    for (size_t i = 0; i < other.size(); ++i) other[i] ^= bytes[i];
    size_t stored = compress(other, kBaseBytes);
    if (stored == 0 || stored > bytes.size() / kWorthIt) return 0;
    std::memcpy(data(), &bases.front().first.high, sizeof(uint64_t));
    std::memcpy(data() + sizeof(uint64_t), &bases.front().first.low, sizeof(uint64_t));
    return stored;
  }
};

struct ChunkWriter::State {
  fs::path file;
  OwnFile own;
  std::mutex mutex;             ///< Guards the members below; hashing and compression are done without it.
  uint64_t end = 0, begun = 0;  ///< End of the file; end of the part whose write-back was started.
  struct Known {
    Place place;
    int chain = 0;  ///< Number of differences from the chunk to one that is stored whole.
    Hash base{};    ///< If the chunk is stored as a difference: the chunk that it differs from.
  };
  /// The chunk, its base, the base's base and so on, up to one that is stored whole.
  std::vector<std::pair<Hash, Place>> bases_of(Hash hash) const {
    std::vector<std::pair<Hash, Place>> bases;
    for (auto at = known.find(hash); at != known.end(); at = known.find(at->second.base)) {
      bases.emplace_back(at->first, at->second.place);
      if (at->second.chain == 0) break;
    }
    return bases;
  }

  std::unordered_map<Hash, Known, HashOfHash> known;
  std::vector<std::unique_ptr<RecordMaker>> idle;
};

ChunkWriter::ChunkWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChunkWriter::~ChunkWriter() = default;

Result<std::unique_ptr<ChunkWriter>> ChunkWriter::create(const fs::path& file) {
  auto state = std::make_unique<State>();
  state->file = file;
  KERNELIFT_ASSIGN(state->own, OwnFile::create(file));
  state->idle.push_back(std::make_unique<RecordMaker>());
  if (!state->idle.back()->zstd) return environment_error("cannot write " + file.string() + ": out of memory");
  FileHead head{{}, kChunkStoreVersion, kOldestReader};
  std::memcpy(head.magic, kFileMagic, sizeof kFileMagic);
  if (!write_at(state->own.number(), &head, sizeof head, 0)) return file_error("write", file);
  state->end = sizeof head;
  return std::unique_ptr<ChunkWriter>(new ChunkWriter(std::move(state)));
}

Result<Hash> ChunkWriter::put(std::span<const std::byte> bytes) { return store(bytes, nullptr); }
Result<Hash> ChunkWriter::put_like(std::span<const std::byte> bytes, const Hash& base) { return store(bytes, &base); }

Result<Hash> ChunkWriter::store(std::span<const std::byte> bytes, const Hash* base) {
  KERNELIFT_ASSERT(bytes.size() <= kLargestChunk, "chunks are cut by the caller");
  State& s = *state_;
  Hash hash = hash_bytes(bytes);
  std::unique_ptr<RecordMaker> maker;
  int chain = 0, fd = -1;
  std::vector<std::pair<Hash, Place>> bases;  // A copy, so that the chunks are read without the lock.
  {
    std::lock_guard lock(s.mutex);
    if (s.known.contains(hash)) return hash;
    KERNELIFT_TRY(s.own.hold());
    fd = s.own.number();
    if (!s.idle.empty()) maker = std::move(s.idle.back()), s.idle.pop_back();
    if (base)
      if (auto found = s.known.find(*base);
          found != s.known.end() && found->second.chain < kLongestChain && found->second.place.raw == bytes.size()) {
        chain = found->second.chain + 1;
        bases = s.bases_of(*base);
      }
  }
  if (!maker) maker = std::make_unique<RecordMaker>();
  RecordHead head{kRecordMagic, kZstd, hash.high, hash.low, static_cast<uint32_t>(bytes.size()), 0, 0};
  size_t stored = 0;
  if (chain > 0) stored = maker->difference(fd, bytes, bases);
  if (stored > 0) {
    head.encoding = kDifference;
  } else {
    chain = 0;
    stored = maker->compress(bytes, 0);
    if (stored == 0) {
      head.encoding = kRaw;
      stored = bytes.size();
      if (stored > 0) std::memcpy(maker->data(), bytes.data(), stored);
    }
  }
  std::vector<char>& record = maker->record;
  char* data = maker->data();
  head.stored = static_cast<uint32_t>(stored);
  head.check = head.expected_check();
  std::memcpy(record.data(), &head, sizeof head);
  uint64_t size = aligned(sizeof head + stored);
  std::memset(data + stored, 0, size - sizeof head - stored);
  std::lock_guard lock(s.mutex);
  if (!s.known.contains(hash)) {  // Another thread may have stored an equal chunk meanwhile.
    KERNELIFT_TRY(s.own.hold());
    fd = s.own.number();
    if (!write_at(fd, record.data(), size, s.end)) {
      Error error = file_error("write", s.file);
      // Cuts off the half-written record, so that the file remains sound.
      if (ftruncate(fd, static_cast<off_t>(s.end)) != 0) error.message += " (and its tail could not be cut off)";
      return error;
    }
    s.known[hash] = {{s.end + sizeof head, head.raw, head.stored, head.encoding}, chain};
    if (chain > 0) s.known[hash].base = *base;
    s.end += size;
    if (s.end - s.begun >= kWriteBack) {
      // Write-back starts now, not at the sync that a caller waits for. Where the system does not offer this, it starts
      // later.
      sync_file_range(fd, static_cast<off_t>(s.begun), static_cast<off_t>(s.end - s.begun), SYNC_FILE_RANGE_WRITE);
      s.begun = s.end;
    }
  }
  s.idle.push_back(std::move(maker));
  return hash;
}

Status ChunkWriter::sync() {
  int fd = -1;
  {
    std::lock_guard lock(state_->mutex);
    KERNELIFT_TRY(state_->own.hold());
    fd = state_->own.number();
  }
  if (fdatasync(fd) != 0 && errno != EINVAL) return file_error("write", state_->file);
  return done();
}

uint64_t ChunkWriter::file_bytes() const {
  std::lock_guard lock(state_->mutex);
  return state_->end;
}

struct ChunkReader::State {
  fs::path file;
  int fd = -1;
  uint64_t size = 0;
  std::unordered_map<Hash, Place, HashOfHash> places;
  std::vector<std::string> damage;

  ~State() {
    if (fd >= 0) close(fd);
  }

  void walk() {
    uint64_t at = sizeof(FileHead);
    while (at < size) {
      RecordHead head{};
      bool whole = read_at(fd, &head, sizeof head, at) == sizeof head && head.sound();
      uint64_t data = at + sizeof head;
      if (whole && data + head.stored <= size) {
        places.try_emplace(Hash{head.hash_high, head.hash_low}, Place{data, head.raw, head.stored, head.encoding});
        at = aligned(data + head.stored);
        continue;
      }
      uint64_t next = whole ? size : next_record(at + kAlignment);
      damage.push_back(file.string() + ": " + (next >= size ? "truncated record" : "damaged record") + " at offset " +
                       std::to_string(at) + (next < size ? " (readable again from " + std::to_string(next) + ")" : ""));
      at = next;
    }
  }

  /// The first sound head at or behind `from`, or the file's size.
  uint64_t next_record(uint64_t from) const {
    constexpr size_t kWindow = 1 << 16;
    std::vector<char> window(kWindow + sizeof(RecordHead));
    for (uint64_t base = from; base < size; base += kWindow) {
      size_t got = read_at(fd, window.data(), window.size(), base);
      for (size_t at = 0; at + sizeof(RecordHead) <= got && at < kWindow; at += kAlignment) {
        RecordHead head;
        std::memcpy(&head, window.data() + at, sizeof head);
        if (head.magic == kRecordMagic && head.sound()) return base + at;
      }
    }
    return size;
  }
};

ChunkReader::ChunkReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChunkReader::~ChunkReader() = default;

Result<std::unique_ptr<ChunkReader>> ChunkReader::open(const fs::path& file) {
  auto state = std::make_unique<State>();
  state->file = file;
  state->fd = above_standard(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (state->fd < 0) return file_error("read", file);
  struct stat info{};
  if (fstat(state->fd, &info) != 0) return file_error("read", file);
  state->size = static_cast<uint64_t>(info.st_size);
  FileHead head{};
  if (read_at(state->fd, &head, sizeof head, 0) != sizeof head)
    return environment_error(file.string() + " is truncated at offset " + std::to_string(state->size) +
                             ": not even its head is there; record again");
  if (std::memcmp(head.magic, kFileMagic, sizeof kFileMagic) != 0)
    return environment_error(file.string() +
                             " does not begin as a chunk file (offset 0); it is damaged or not Kernelift's");
  if (head.oldest_reader > kChunkStoreVersion || head.version == 0)
    return environment_error(file.string() + " was written by a newer Kernelift (format version " +
                             std::to_string(head.version) + ", this one reads up to " +
                             std::to_string(kChunkStoreVersion) + "); update Kernelift to read it");
  state->walk();
  return std::unique_ptr<ChunkReader>(new ChunkReader(std::move(state)));
}

bool ChunkReader::has(const Hash& hash) const { return state_->places.contains(hash); }
const std::vector<std::string>& ChunkReader::damage() const { return state_->damage; }

Status ChunkReader::read(const Hash& hash, uint64_t size, std::vector<std::byte>& out) const {
  size_t start = out.size();
  // A size that differs from the chunk's own is damage, and no memory may be reserved for it.
  if (auto found = state_->places.find(hash); found != state_->places.end()) {
    if (found->second.raw != size)
      return environment_error(state_->file.string() + ": chunk at offset " + std::to_string(found->second.offset) +
                               " is " + std::to_string(found->second.raw) + " bytes long, not " + std::to_string(size));
    out.resize(start + size);
  }
  Status got = read(hash, std::span(out).subspan(start));
  if (!got.ok()) out.resize(start);
  return got;
}

Status ChunkReader::read(const Hash& hash, std::span<std::byte> out) const {
  const State& s = *state_;
  auto found = s.places.find(hash);
  if (found == s.places.end())
    return environment_error(s.file.string() + ": chunk " + hash.hex() + " is missing" +
                             (s.damage.empty() ? "" : "; " + s.damage.front()));
  auto& place = found->second;
  std::string where = s.file.string() + ": chunk at offset " + std::to_string(place.offset);
  if (place.raw != out.size())
    return environment_error(where + " is " + std::to_string(place.raw) + " bytes long, not " +
                             std::to_string(out.size()));
  auto find = [&](const Hash& base) -> const Place* {
    auto other = s.places.find(base);
    return other == s.places.end() ? nullptr : &other->second;
  };
  if (load(s.fd, place, out.data(), find) && hash_bytes(out) == hash) return done();
  return environment_error(where + " is damaged: its content does not match its checksum; record again");
}

}  // namespace kernelift
