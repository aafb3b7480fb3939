// What AccessCheck (cpu_device.h) keeps: the objects of global memory with their shadow, the sites that were met, what
// blocks have told each other by atomic operations, and what was found.
#pragma once
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/cpu/executor/check/shadow.h"

namespace kernelift::cpu {

class CheckedMemory {
 public:
  explicit CheckedMemory(CheckedExtents extents);
  ~CheckedMemory();
  CheckedMemory(const CheckedMemory&) = delete;

  struct Object {
    CheckedObject extent;
    Word* words = nullptr;         ///< From its first granule on.
    uint64_t first = 0;            ///< Address of that granule.
    std::vector<uint8_t> written;  ///< Per granule, over launches; of an `unwritten` object.
    bool changed = false;          ///< In this launch.
    bool plainly_read = false;     ///< Some of its reads were not followed in this launch.
    uint64_t granules() const { return (extent.begin + extent.bytes - first + kGranule - 1) / kGranule; }
    uint64_t word_bytes() const { return granules() * sizeof(Word); }
  };
  /// Before a launch: what earlier ones did is ordered before it. False: no memory for the shadow.
  bool begin_launch(uint64_t blocks);
  /// Before the image may go: sites of this launch are as if they had never run.
  void end_launch();
  /// A block has ended, and its writes have shown what the kernel writes to. From then on reads of objects to which
  /// nothing has been written in this launch are not followed: they can be in conflict with nothing. Should something
  /// be written there after all, not_checked() says so.
  void block_ended() {
    if (changed_ && !trusts_ && !follow_all_reads_) trust_reads();
  }
  /// All blocks have come to one point: nothing before it is in conflict with what follows.
  void forget_accesses();

  bool owns(const kl_site& site) const { return site.owner == number_; }
  /// Makes the site this check's own, if it was another's.
  void own(kl_site& site) {
    if (!owns(site)) number(site);
  }
  /// Lets `site`, whose accesses have `bytes` bytes, remember the object that holds `address`; false: none does.
  /// EXPECTS: the site is owned.
  bool find(kl_site& site, uint64_t address, uint64_t bytes);
  /// Whether reads by the site of the object that it remembers are in order if they are within it.
  static bool reads_plainly(const kl_site& site) {
    return site.quick_count != 0 && !site.quick_shadow && !site.variable;
  }
  /// Whether accesses of `bytes` bytes may be noted where they are made, once the site knows what they lead to.
  bool is_quick(const kl_site& site, uint64_t bytes) const {
    return is_plain(site) && site.align >= kGranule && bytes % kGranule == 0;
  }
  /// What a word of an object's shadow stands for.
  Cell cell_of(Word word) const;
  /// Puts what has become of it by an access, `plain` or not (is_plain()), back.
  void keep(Word& word, const Cell& cell, bool plain);
  /// Neither atomic nor volatile, and known by its number.
  bool is_plain(const kl_site& site) const {
    return is_listed(site) && !(site.flags & (KL_SITE_STRONG | KL_SITE_VOLATILE | KL_SITE_ACQUIRE | KL_SITE_RELEASE));
  }
  /// Whether `address` is memory that belongs to no object though it is placed.
  bool is_forbidden(uint64_t address) const;
  /// The name of the object nearest to `address`, and the address where it begins.
  std::pair<std::string, uint64_t> nearest(uint64_t address) const;

  const kl_site* site(uint32_t number) const { return number < sites_.size() ? sites_[number] : nullptr; }

  /// True, once, for a kind, an object and two sites: what is found there again is no news.
  bool is_news(FindingKind kind, const void* object, uint32_t site, uint32_t other);
  void add(AccessFinding finding);
  const std::vector<AccessFinding>& findings() const { return findings_; }
  const std::string& not_checked() const { return not_checked_; }

  /// Sets of synchronising variables, one bit for those with a hash: by block, those through which it has told that it
  /// has come so far, and those from which it has learned that of others.
  std::vector<uint64_t> released, acquired;

 private:
  void number(kl_site& site);
  /// Not so of those behind the last number that there is.
  bool is_listed(const kl_site& site) const { return Access(0, site.mark).site() != 0; }
  void trust_reads();
  Cell& cell(uint64_t number) const { return cells_[number / kCellsOfChunk][number % kCellsOfChunk]; }
  uint64_t take_cell();

  static constexpr uint64_t kCellsOfChunk = 1 << 14;
  std::vector<std::unique_ptr<Cell[]>> cells_;  ///< Of words of which one access is not all that there is to know.
  uint64_t taken_cells_ = 0;
  std::vector<uint64_t> free_cells_;
  uint64_t number_ = 0;  ///< Of all checked launches of the process; from 1.
  const bool follow_all_reads_;
  bool changed_ = false, trusts_ = false;  ///< Of this launch: something was written; see block_ended().
  std::vector<Object> objects_;            ///< By address.
  std::vector<std::pair<uint64_t, uint64_t>> forbidden_;
  std::vector<kl_site*> sites_{nullptr};
  std::set<std::tuple<FindingKind, const void*, uint32_t, uint32_t>> known_;
  std::vector<AccessFinding> findings_;
  std::string not_checked_;
};

}  // namespace kernelift::cpu
