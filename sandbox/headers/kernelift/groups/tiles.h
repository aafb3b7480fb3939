// Cooperative groups within a warp: tiles of a fixed size and coalesced groups, with their shuffles, votes and matches.
// Tiles of more than a warp are refused at compile time by name.
#pragma once
#include "basic.h"

#define KL_DEVICE __device__ __forceinline__
namespace cooperative_groups {

template <unsigned int Size, class Parent = void> class thread_block_tile : public thread_group {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "thread_block_tile: sizes are powers of two up to 32 (no multi-warp tiles)");

 public:
  KL_DEVICE thread_block_tile()
      : thread_group(Warp, Size == 32 ? 0xffffffffu : ((1u << (Size & 31u)) - 1u) << (details::lane() & ~(Size - 1u))) {}
  template <class Other> KL_DEVICE thread_block_tile(const thread_block_tile<Size, Other>&) : thread_block_tile() {}

  static KL_DEVICE constexpr unsigned int size() { return Size; }
  static KL_DEVICE constexpr unsigned int num_threads() { return Size; }
  static KL_DEVICE unsigned int thread_rank() { return details::rank_in_block() & (Size - 1u); }
  static KL_DEVICE unsigned int meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  static KL_DEVICE unsigned int meta_group_rank() { return details::rank_in_block() / Size; }
  KL_DEVICE void sync() const { __syncwarp(mask_); }

  template <class T> KL_DEVICE T shfl(T value, int source) const { return shuffle(value, (unsigned)source & (Size - 1)); }
  template <class T> KL_DEVICE T shfl_down(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shuffle(value, rank + delta < Size ? rank + delta : rank);
  }
  template <class T> KL_DEVICE T shfl_up(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shuffle(value, rank >= delta ? rank - delta : rank);
  }
  template <class T> KL_DEVICE T shfl_xor(T value, unsigned int lanes) const {
    unsigned int other = thread_rank() ^ lanes;
    return shuffle(value, other < Size ? other : thread_rank());
  }
  KL_DEVICE int any(int predicate) const { return __any_sync(mask_, predicate); }
  KL_DEVICE int all(int predicate) const { return __all_sync(mask_, predicate); }
  KL_DEVICE unsigned int ballot(int predicate) const { return (__ballot_sync(mask_, predicate) & mask_) >> base(); }
  template <class T> KL_DEVICE unsigned int match_any(T value) const { return (__match_any_sync(mask_, value) & mask_) >> base(); }
  template <class T> KL_DEVICE unsigned int match_all(T value, int& predicate) const {
    return (__match_all_sync(mask_, value, &predicate) & mask_) >> base();
  }

 private:
  KL_DEVICE unsigned int base() const { return details::lane() & ~(Size - 1u); }
  template <class T> KL_DEVICE T shuffle(T value, unsigned int rank) const { return details::shuffle(mask_, value, base() + rank); }
};

/// The threads of a warp that run together here, or those of a dynamic tile.
class coalesced_group : public thread_group {
 public:
  explicit KL_DEVICE coalesced_group(unsigned int mask) : thread_group(Warp, mask) {}
  template <class T> KL_DEVICE T shfl(T value, unsigned int rank) const {
    return details::shuffle(mask_, value, details::nth_lane(mask_, rank % size()));
  }
  template <class T> KL_DEVICE T shfl_down(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(value, rank + delta < size() ? rank + delta : rank);
  }
  template <class T> KL_DEVICE T shfl_up(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(value, rank >= delta ? rank - delta : rank);
  }
  KL_DEVICE int any(int predicate) const { return __any_sync(mask_, predicate); }
  KL_DEVICE int all(int predicate) const { return __all_sync(mask_, predicate); }
  KL_DEVICE unsigned int ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <class T> KL_DEVICE unsigned int match_any(T value) const { return packed(__match_any_sync(mask_, value)); }
  KL_DEVICE unsigned int meta_group_rank() const { return 0; }
  KL_DEVICE unsigned int meta_group_size() const { return 1; }

 private:
  /// Lanes to ranks.
  KL_DEVICE unsigned int packed(unsigned int lanes) const {
    unsigned int bits = 0, rank = 0;
    for (unsigned int rest = mask_; rest; rest &= rest - 1, ++rank)
      if (lanes & rest & (0u - rest)) bits |= 1u << rank;
    return bits;
  }
};
static KL_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <unsigned int Size, class Parent> KL_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return thread_block_tile<Size, Parent>();
}
/// With a size known at run time only.
KL_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size) {
  if (parent.kind_ == thread_group::Block && size >= parent.size()) return parent;
  unsigned int first = details::lane() & ~(size - 1u);
  unsigned int mask = size >= 32 ? 0xffffffffu : ((1u << size) - 1u) << first;
  return thread_group(thread_group::Warp, mask & parent.mask_);
}
static KL_DEVICE coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
  unsigned int tile = 0, rank = 0;
  for (unsigned int left = parent.kernelift_mask(); left; left &= left - 1u, ++rank)
    if (rank / size == parent.thread_rank() / size) tile |= left & -left;
  return coalesced_group(tile);
}
/// Members with equal labels; from compute capability 7 on, as in CUDA.
template <class Group, class Label> KL_DEVICE coalesced_group labeled_partition(const Group& group, Label label) {
  return coalesced_group(__match_any_sync(group.kernelift_mask(), label));
}
template <class Group> KL_DEVICE coalesced_group binary_partition(const Group& group, bool predicate) {
  unsigned int members = group.kernelift_mask(), with = __ballot_sync(members, predicate);
  return coalesced_group(predicate ? with : members & ~with);
}

/// Runs `function` on one member.
template <class Group, class Function, class... Arguments>
KL_DEVICE void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

}  // namespace cooperative_groups
#undef KL_DEVICE
