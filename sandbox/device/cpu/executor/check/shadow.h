// Shadow memory of check mode: for every four bytes, a granule, who wrote them last, and two different threads that
// have read them since. Each access is kept in 64 bits (shadow_words.h):
//
//   block 20 | epoch 12 | thread 10 | mask 3 | strong 1 | site 10 | clock 8
//
// epoch: the block barriers that the thread had passed, modulo 4096. clock: the warp operations since, up to 255; what
// comes later is taken for ordered. block: its number plus one, modulo 2^20 - 2; so 0 is no access. Numbers that wrap
// around can only meet a cell that was not touched in between, at exactly that distance.
//
// Of shared memory there is a Cell for each granule. Of global memory there is one word, which is enough for most: the
// only access so far, or the last write with nothing behind it, of a whole granule, neither atomic nor volatile. What
// does not go into a word is in a Cell elsewhere, with its number in the word.
#pragma once
#include <cstdint>

#include "sandbox/device/cpu/shadow_words.h"

namespace kernelift::cpu {

inline constexpr uint64_t kGranule = KL_GRANULE;

/// What a thread is between two synchronisations, in the bits that an access keeps of it.
class Moment {
 public:
  static constexpr uint32_t kMostBlocks = (1u << 20) - 2, kMostClock = 255, kMostSites = 1023;
  static uint32_t block_number(uint64_t index) { return uint32_t(index % kMostBlocks) + 1; }

  static uint64_t of(uint32_t thread, uint32_t epoch, uint32_t clock, uint32_t block) {
    return uint64_t(thread) << KL_ACCESS_THREAD_AT | uint64_t(epoch & 0xfff) << KL_ACCESS_EPOCH_AT | clock |
           uint64_t(block) << KL_ACCESS_BLOCK_AT;
  }
};

/// One access in a cell; none if its bits are 0.
class Access {
 public:
  Access() = default;
  Access(uint64_t moment, uint64_t mark) : bits_(moment | mark) {}
  static uint64_t mark(uint32_t site, bool strong) {
    return uint64_t(site) << KL_ACCESS_SITE_AT | uint64_t(strong) << KL_ACCESS_STRONG_AT;
  }
  /// The same, of some of a granule's bytes: one bit for each.
  Access of_bytes(unsigned bytes) const {
    // Other sets of bytes than these are not told apart from none: better a race that is missed than one made up.
    static constexpr uint8_t kCodes[16] = {7, 3, 4, 1, 5, 7, 7, 7, 6, 7, 7, 7, 2, 7, 7, 0};
    Access access;
    access.bits_ = bits_ | uint64_t(kCodes[bytes]) << KL_ACCESS_MASK_AT;
    return access;
  }
  explicit operator bool() const { return bits_ != 0; }
  uint32_t thread() const { return bits_ >> KL_ACCESS_THREAD_AT & 0x3ff; }
  uint32_t clock() const { return bits_ & KL_ACCESS_CLOCK; }
  uint32_t block() const { return uint32_t(bits_ >> KL_ACCESS_BLOCK_AT); }
  uint32_t site() const { return bits_ >> KL_ACCESS_SITE_AT & 0x3ff; }
  bool strong() const { return bits_ >> KL_ACCESS_STRONG_AT & 1; }
  bool whole() const { return mask() == 0; }
  bool meets(Access other) const { return (bytes() & other.bytes()) != 0; }
  bool is_same_moment(Access other) const { return !((bits_ ^ other.bits_) & KL_ACCESS_MOMENT); }
  /// By the same thread, or before a barrier that the other's thread, of the same block, has passed; or none.
  bool is_surely_before(Access other) const {
    const uint64_t differs = bits_ ^ other.bits_;
    return !bits_ || (!(differs & kBlock) && (!(differs & kThread) || (differs & kEpoch)));
  }

 private:
  friend class Word;
  static constexpr uint64_t kThread = uint64_t(0x3ff) << KL_ACCESS_THREAD_AT,
                            kEpoch = uint64_t(0xfff) << KL_ACCESS_EPOCH_AT, kBlock = ~uint64_t(0) << KL_ACCESS_BLOCK_AT;
  unsigned mask() const { return bits_ >> KL_ACCESS_MASK_AT & 7; }
  unsigned bytes() const {
    static constexpr uint8_t kBytes[8] = {15, 3, 12, 1, 2, 4, 8, 0};
    return kBytes[mask()];
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
static_assert(sizeof(Cell) == sizeof(kl_cell));

/// A word of global memory's shadow; 0: nothing has been there.
class Word {
 public:
  static Word of_read(Access access) { return Word(access.bits_); }
  static Word of_write(Access access) { return Word(access.bits_ | KL_WORD_WRITE); }
  static Word of_cell(uint64_t number) {
    return Word(KL_WORD_CELL | (number & kLow) << KL_ACCESS_THREAD_AT | number >> kLowBits);
  }
  bool is_cell() const { return bits_ >= KL_WORD_CELL; }
  /// EXPECTS: !is_cell().
  bool is_write() const { return bits_ & KL_WORD_WRITE; }
  /// EXPECTS: is_cell().
  uint64_t cell() const { return (bits_ >> KL_ACCESS_THREAD_AT & kLow) | (bits_ & (KL_WORD_WRITE - 1)) << kLowBits; }
  /// EXPECTS: !is_cell().
  Access access() const {
    Access access;
    access.bits_ = bits_ & ~KL_WORD_WRITE;
    return access;
  }

 private:
  /// A cell's number is where an access has epoch and thread, and the rest of it below KL_WORD_WRITE.
  static constexpr unsigned kLowBits = KL_ACCESS_BLOCK_AT - KL_ACCESS_THREAD_AT;
  static constexpr uint64_t kLow = (uint64_t(1) << kLowBits) - 1;
  explicit Word(uint64_t bits) : bits_(bits) {}
  uint64_t bits_;
};

}  // namespace kernelift::cpu
