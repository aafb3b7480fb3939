// Check mode's view of one resident block: where each of its threads stands, the shadow of its shared memory, and the
// rules of what is ordered (block_check.cpp). Launches are checked on one worker, so nothing here is locked.
#pragma once
#include <array>
#include <vector>

#include "sandbox/device/cpu/executor/check/checked_memory.h"
#include "sandbox/device/cpu/executor/launch_state.h"

namespace kernelift::cpu {

class BlockCheck {
 public:
  BlockCheck(CheckedMemory& memory, const LaunchState& launch);

  /// A block begins. Its shared memory gets what no right kernel reads.
  void begin(kl_block& block, uint64_t index);
  /// What lowered code has not noted by itself (devicelib/access_notes.h).
  void access(const kl_thread& thread, const void* pointer, uint64_t bytes, kl_site& site, uint64_t low, uint64_t high);
  /// Of one thread; of all that have not ended if the site is KL_SITE_ONCE.
  void barrier(const kl_thread& thread, kl_site& site);
  /// These lanes of a warp have met in one operation. `orders_memory`: what each stored before is seen behind it.
  void join(uint32_t warp, uint32_t lanes, bool orders_memory);

 private:
  /// The access that is being checked.
  struct Current {
    const kl_thread& thread;
    kl_site& site;
    uint64_t address, bytes, low, high;
    Access access;
    uint64_t object_begin = 0;         ///< Address.
    const void* object = nullptr;      ///< Tells objects apart; nullptr: shared memory.
    const uint8_t* written = nullptr;  ///< kl_site::written.
    bool writes() const { return site.flags & KL_SITE_WRITE; }
  };
  void access_shared(Current& current, uint64_t begin, uint64_t size);
  void remember(kl_site& site, uint64_t begin, uint64_t size, uint64_t bytes);
  template <class Shadow>
  void visit(const Current& current, Shadow* shadow, uint64_t first);
  void look(const Current& current, Word& word, Access now);
  void look(const Current& current, Cell& cell, Access now);
  void write(const Current& current, Cell& cell, Access now);
  void read(const Current& current, Cell& cell, Access now);
  enum class Before { Read, Write };
  bool concurrent(const Current& current, Access before, Before what) const;
  void synchronise(const Current& current);
  bool stores_what_is_there(const Current& current) const;
  void place(uint32_t thread) { moments_[thread] = Moment::of(thread, epochs_[thread], clocks_[thread], 0); }
  bool meet(uint32_t me, kl_site& site);
  void forget_lanes(uint32_t thread) {
    if (clocks_[thread] == 0) return;  // It has met none.
    clocks_[thread] = 0, seen_[thread].fill(0), met_[thread].fill(0);
  }
  void report(const Current& current, FindingKind kind, uint64_t address, Access before = {});
  std::string object_name(const Current& current) const;
  CheckedAccess describe(uint32_t linear, uint32_t block, const kl_site* site) const;

  CheckedMemory& memory_;
  const LaunchState& launch_;
  uint64_t dynamic_offset_, shared_bytes_;
  std::vector<Cell> shared_;
  kl_block* block_ = nullptr;
  uint64_t shared_begin_ = 0;  ///< Address.
  uint32_t number_ = 0;
  uint32_t passed_ = 0;                  ///< Barriers that the block passed as a whole.
  bool differ_ = false;                  ///< Some thread has passed barriers or warp operations by itself.
  std::array<uint64_t, 1024> moments_;   ///< kl_block::moments.
  std::array<uint32_t, 1024> epochs_{};  ///< Barriers that threads passed by themselves.
  std::array<uint8_t, 1024> clocks_{};
  using Clocks = std::array<std::array<uint8_t, KL_WARP_SIZE>, 1024>;
  /// [thread][lane]: what that lane of its warp did before this clock is ordered before what the thread does; in `met_`
  /// what it read, before what the thread writes.
  Clocks seen_{}, met_{};
  std::array<uint64_t, KL_WARP_SIZE> released_, acquired_;  ///< As CheckedMemory's, by warp.
  bool named_barriers_ = false;  ///< Threads of the block may be ordered in ways that are not followed.
  struct Wait {
    uint32_t epoch = ~0u, thread = 0;
    const kl_site* site = nullptr;
  };
  std::array<Wait, 2> waits_;  ///< Who came first to the barriers of the two latest epochs.
};

}  // namespace kernelift::cpu
