// Shadow memory of check mode: for every four bytes, who wrote them last, and two different threads that have read them
// since. Each is kept in 64 bits:
//
//   mask 3 | strong 1 | site 10 | block 20 | clock 8 | epoch 12 | thread 10
//
// epoch: the block barriers that the thread had passed, modulo 4096. clock: the warp operations since, up to 255; what
// comes later is taken for ordered. block: its number plus one, modulo 2^20 - 1; so 0 is no access. Numbers that wrap
// around can only meet a cell that was not touched in between, at exactly that distance.
#pragma once
#include <cstdint>

namespace kernelift::cpu {

inline constexpr uint64_t kGranule = 4;

/// What a thread is between two synchronisations, in the bits that an access keeps of it.
class Moment {
 public:
  static constexpr unsigned kEpochAt = 10, kClockAt = 22, kBlockAt = 30, kSiteAt = 50, kStrongAt = 60, kMaskAt = 61;
  static constexpr uint64_t kWho = (uint64_t(1) << kSiteAt) - 1;
  static constexpr uint64_t kThread = 0x3ff, kEpoch = uint64_t(0xfff) << kEpochAt,
                            kBlock = uint64_t(0xfffff) << kBlockAt;
  static constexpr uint32_t kMostBlocks = (1u << 20) - 1, kMostClock = 255, kMostSites = 1023;
  static uint32_t block_number(uint64_t index) { return uint32_t(index % kMostBlocks) + 1; }

  static uint64_t of(uint32_t thread, uint32_t epoch, uint32_t clock, uint32_t block) {
    return thread | uint64_t(epoch & 0xfff) << kEpochAt | uint64_t(clock) << kClockAt | uint64_t(block) << kBlockAt;
  }
};

/// One access in a cell; none if its bits are 0.
class Access {
 public:
  Access() = default;
  Access(uint64_t moment, uint64_t mark) : bits_(moment | mark) {}
  static uint64_t mark(uint32_t site, bool strong) {
    return uint64_t(site) << Moment::kSiteAt | uint64_t(strong) << Moment::kStrongAt;
  }
  /// The same, of some of a granule's bytes: one bit for each.
  Access of_bytes(unsigned bytes) const {
    // Other sets of bytes than these are not told apart from none: better a race that is missed than one made up.
    static constexpr uint8_t kCodes[16] = {7, 3, 4, 1, 5, 7, 7, 7, 6, 7, 7, 7, 2, 7, 7, 0};
    Access access;
    access.bits_ = bits_ | uint64_t(kCodes[bytes]) << Moment::kMaskAt;
    return access;
  }
  explicit operator bool() const { return bits_ != 0; }
  uint64_t moment() const { return bits_ & Moment::kWho; }
  uint32_t thread() const { return bits_ & 0x3ff; }
  uint32_t epoch() const { return bits_ >> Moment::kEpochAt & 0xfff; }
  uint32_t clock() const { return bits_ >> Moment::kClockAt & 0xff; }
  uint32_t block() const { return bits_ >> Moment::kBlockAt & 0xfffff; }
  uint32_t site() const { return bits_ >> Moment::kSiteAt & 0x3ff; }
  bool strong() const { return bits_ >> Moment::kStrongAt & 1; }
  bool meets(Access other) const { return (bytes() & other.bytes()) != 0; }
  /// By the same thread, or before a barrier that the other's thread, of the same block, has passed; or none.
  bool is_surely_before(Access other) const {
    const uint64_t differs = bits_ ^ other.bits_;
    return !bits_ || (!(differs & Moment::kBlock) && (!(differs & Moment::kThread) || (differs & Moment::kEpoch)));
  }

 private:
  unsigned bytes() const {
    static constexpr uint8_t kBytes[8] = {15, 3, 12, 1, 2, 4, 8, 0};
    return kBytes[bits_ >> Moment::kMaskAt];
  }
  uint64_t bits_ = 0;
};

struct Cell {
  Access writer, reader, other_reader;

  void note_write(Access now) { *this = {now, {}, {}}; }
  /// Keeps the latest reader and one of another thread; of threads of the same block that it cannot be in conflict with
  /// the latest alone.
  void note_read(Access now) {
    if (!reader.is_surely_before(now)) other_reader = reader;
    reader = now;
  }
};

}  // namespace kernelift::cpu
