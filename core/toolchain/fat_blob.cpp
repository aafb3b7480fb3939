// The blob's layout, little-endian, everything 16-byte aligned:
//
//   head    magic u64, size u64, version u32, count u32, checksum u32 of all bytes after the head, checksum u32 of the
//           preceding members of the head
//   entry   kind u32, reserved u32, then offset u64 and length u64 for each of name, flags and bytes
//   data
//
// Offsets count from the blob's first byte. The reader trusts nothing, because the blob comes from an arbitrary
// program. The head has a checksum of its own, because its size says how many bytes may be read at all.
#include "core/toolchain/fat_blob.h"

#include <cstddef>
#include <cstring>

#include "core/base/hash.h"

namespace kernelift {

namespace {

constexpr uint32_t kBlobVersion = 2;
constexpr size_t kBlobAlignment = 16;
constexpr uint64_t kLargest = uint64_t{1} << 32;  // 4 GiB: a larger length is damaged.

struct Head {
  uint64_t magic, size;
  uint32_t version, count;
  uint32_t data_check, head_check;
};
struct Range {
  uint64_t offset, length;
};
struct Entry {
  uint32_t kind, reserved;
  Range name, flags, bytes;
};
static_assert(sizeof(Head) == kFatBlobHeadBytes && sizeof(Entry) == 56);

uint32_t checksum(const void* data, size_t size) {
  return static_cast<uint32_t>(hash_text({static_cast<const char*>(data), size}).low);
}
uint32_t checksum(const Head& head) { return checksum(&head, offsetof(Head, head_check)); }

Error damaged_blob(const std::string& what) {
  return environment_error("the device code embedded in the program is damaged (" + what +
                           "); rebuild the program with kernelift build");
}

}  // namespace

std::vector<char> write_fat_blob(const std::vector<FatEntry>& entries) {
  std::vector<char> blob(sizeof(Head) + entries.size() * sizeof(Entry));
  auto append = [&](const char* data, size_t length) {
    blob.resize((blob.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment);
    Range range{blob.size(), length};
    blob.insert(blob.end(), data, data + length);
    return range;
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    const FatEntry& entry = entries[i];
    Entry out{static_cast<uint32_t>(entry.kind), 0, append(entry.name.data(), entry.name.size()),
              append(entry.flags.data(), entry.flags.size()), append(entry.bytes.data(), entry.bytes.size())};
    std::memcpy(blob.data() + sizeof(Head) + i * sizeof(Entry), &out, sizeof out);
  }
  blob.resize((blob.size() + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment);
  Head head{kFatBlobMagic, blob.size(), kBlobVersion, static_cast<uint32_t>(entries.size()), 0, 0};
  head.data_check = checksum(blob.data() + sizeof head, blob.size() - sizeof head);
  head.head_check = checksum(head);
  std::memcpy(blob.data(), &head, sizeof head);
  return blob;
}

Result<std::vector<FatEntry>> read_fat_blob(std::span<const char> blob) {
  Head head;
  if (blob.size() < sizeof head) return damaged_blob("shorter than its head");
  std::memcpy(&head, blob.data(), sizeof head);
  if (head.magic != kFatBlobMagic)
    return environment_error(
        "the program's device code was not made by Kernelift; rebuild it with kernelift build --device cpu");
  if (head.version != kBlobVersion)
    return environment_error("the program's device code has format " + std::to_string(head.version) +
                             ", this Kernelift reads " + std::to_string(kBlobVersion) +
                             "; rebuild the program with this Kernelift");
  if (checksum(head) != head.head_check) return damaged_blob("its head");
  if (head.size > blob.size() || head.size < sizeof head || head.size > kLargest) return damaged_blob("truncated");
  blob = blob.first(head.size);
  if (head.count > (head.size - sizeof head) / sizeof(Entry)) return damaged_blob("entry count");
  if (checksum(blob.data() + sizeof head, blob.size() - sizeof head) != head.data_check)
    return damaged_blob("checksum");
  std::vector<FatEntry> entries(head.count);
  for (uint32_t i = 0; i < head.count; ++i) {
    Entry in;
    std::memcpy(&in, blob.data() + sizeof head + i * sizeof in, sizeof in);
    if (in.kind < 1 || in.kind > 3) return damaged_blob("entry kind");
    for (const Range& range : {in.name, in.flags, in.bytes})
      if (range.offset > head.size || range.length > head.size - range.offset) return damaged_blob("entry range");
    auto text = [&](const Range& range) { return std::string(blob.data() + range.offset, range.length); };
    entries[i] = {static_cast<FatEntry::Kind>(in.kind), text(in.name), text(in.flags),
                  blob.subspan(in.bytes.offset, in.bytes.length)};
  }
  return entries;
}

uint64_t fat_blob_size(const void* address) {
  Head head;
  std::memcpy(&head, address, sizeof head);
  if (head.magic != kFatBlobMagic) return 0;
  bool sound = head.version == kBlobVersion && checksum(head) == head.head_check && head.size >= sizeof head &&
               head.size <= kLargest;
  return sound ? head.size : sizeof head;
}

}  // namespace kernelift
