// Cooperative groups within a warp: tiles of a fixed size and coalesced groups, with their shuffles, votes and matches.
// Tiles of more than a warp are refused at compile time by name.
#pragma once
#include "basic.h"

#define KL_DEVICE __device__ __forceinline__
namespace cooperative_groups {

/// Which of its parent's tiles a tile is. Without a parent's type it is told.
template <unsigned int Size, class Parent>
class tile_place {
 public:
  static KL_DEVICE unsigned int meta_group_size() { return (Parent::size() + Size - 1) / Size; }
  static KL_DEVICE unsigned int meta_group_rank() { return Parent::thread_rank() / Size; }

 protected:
  KL_DEVICE tile_place(unsigned int, unsigned int) {}
};
template <unsigned int Size>
class tile_place<Size, void> {
 public:
  KL_DEVICE unsigned int meta_group_size() const { return count_; }
  KL_DEVICE unsigned int meta_group_rank() const { return rank_; }

 protected:
  KL_DEVICE tile_place(unsigned int rank, unsigned int count) : rank_(rank), count_(count) {}

 private:
  unsigned int rank_, count_;
};

template <unsigned int Size, class Parent = void>
class thread_block_tile : public thread_group, public tile_place<Size, Parent> {
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0,
                "thread_block_tile: sizes are powers of two up to 32 (no multi-warp tiles)");

 public:
  KL_DEVICE thread_block_tile() : thread_block_tile(0, 1) {}
  template <class Other>
  KL_DEVICE thread_block_tile(const thread_block_tile<Size, Other>& other)
      : thread_block_tile(other.meta_group_rank(), other.meta_group_size()) {}

  static KL_DEVICE constexpr unsigned int size() { return Size; }
  static KL_DEVICE constexpr unsigned int num_threads() { return Size; }
  static KL_DEVICE unsigned int thread_rank() { return details::rank_in_block() & (Size - 1u); }
  KL_DEVICE void sync() const { __syncwarp(mask_); }

  template <class T>
  KL_DEVICE T shfl(T value, int source) const {
    return shuffle(value, (unsigned)source & (Size - 1));
  }
  template <class T>
  KL_DEVICE T shfl_down(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shuffle(value, rank + delta < Size ? rank + delta : rank);
  }
  template <class T>
  KL_DEVICE T shfl_up(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shuffle(value, rank >= delta ? rank - delta : rank);
  }
  template <class T>
  KL_DEVICE T shfl_xor(T value, unsigned int lanes) const {
    unsigned int other = thread_rank() ^ lanes;
    return shuffle(value, other < Size ? other : thread_rank());
  }
  KL_DEVICE int any(int predicate) const { return __any_sync(mask_, predicate); }
  KL_DEVICE int all(int predicate) const { return __all_sync(mask_, predicate); }
  KL_DEVICE unsigned int ballot(int predicate) const { return (__ballot_sync(mask_, predicate) & mask_) >> base(); }
  template <class T>
  KL_DEVICE unsigned int match_any(T value) const {
    return (__match_any_sync(mask_, value) & mask_) >> base();
  }
  template <class T>
  KL_DEVICE unsigned int match_all(T value, int& predicate) const {
    return (__match_all_sync(mask_, value, &predicate) & mask_) >> base();
  }

 private:
  KL_DEVICE thread_block_tile(unsigned int meta_rank, unsigned int meta_size)
      : thread_group(Warp, Size == 32 ? 0xffffffffu : ((1u << (Size & 31u)) - 1u) << (details::lane() & ~(Size - 1u))),
        tile_place<Size, Parent>(meta_rank, meta_size) {}
  KL_DEVICE unsigned int base() const { return details::lane() & ~(Size - 1u); }
  template <class T>
  KL_DEVICE T shuffle(T value, unsigned int rank) const {
    return details::shuffle(mask_, value, base() + rank);
  }
};

/// The threads of a warp that run together here, or those of a dynamic tile.
class coalesced_group : public thread_group {
 public:
  explicit KL_DEVICE coalesced_group(unsigned int mask, unsigned int meta_rank = 0, unsigned int meta_size = 1)
      : thread_group(Warp, mask), meta_rank_(meta_rank), meta_size_(meta_size) {}
  template <class T>
  KL_DEVICE T shfl(T value, unsigned int rank) const {
    return details::shuffle(mask_, value, details::nth_lane(mask_, rank % size()));
  }
  template <class T>
  KL_DEVICE T shfl_down(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(value, rank + delta < size() ? rank + delta : rank);
  }
  template <class T>
  KL_DEVICE T shfl_up(T value, unsigned int delta) const {
    unsigned int rank = thread_rank();
    return shfl(value, rank >= delta ? rank - delta : rank);
  }
  KL_DEVICE int any(int predicate) const { return __any_sync(mask_, predicate); }
  KL_DEVICE int all(int predicate) const { return __all_sync(mask_, predicate); }
  KL_DEVICE unsigned int ballot(int predicate) const { return packed(__ballot_sync(mask_, predicate)); }
  template <class T>
  KL_DEVICE unsigned int match_any(T value) const {
    return packed(__match_any_sync(mask_, value));
  }
  KL_DEVICE unsigned int meta_group_rank() const { return meta_rank_; }
  KL_DEVICE unsigned int meta_group_size() const { return meta_size_; }

 private:
  /// Lanes to ranks.
  KL_DEVICE unsigned int packed(unsigned int lanes) const {
    unsigned int bits = 0, rank = 0;
    for (unsigned int rest = mask_; rest; rest &= rest - 1, ++rank)
      if (lanes & rest & (0u - rest)) bits |= 1u << rank;
    return bits;
  }
  unsigned int meta_rank_, meta_size_;
};
static KL_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <unsigned int Size, class Parent>
KL_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return thread_block_tile<Size, Parent>();
}
namespace details {
KL_DEVICE void check_tile_size(unsigned int size) {
  if (size == 0 || size > 32 || (size & (size - 1u)) != 0) __trap();
}
/// The members of the caller's tile, by their ranks among the lanes of `mask`.
KL_DEVICE unsigned int tile_of_lanes(unsigned int mask, unsigned int size) {
  unsigned int tile = 0, rank = 0, own = (unsigned)__popc(mask & lanes_below()) / size;
  for (unsigned int left = mask; left; left &= left - 1u, ++rank)
    if (rank / size == own) tile |= left & (0u - left);
  return tile;
}
}  // namespace details

/// With a size known at run time only.
KL_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size) {
  details::check_tile_size(size);
  if (parent.kind_ != thread_group::Block)
    return thread_group(thread_group::Warp, details::tile_of_lanes(parent.mask_, size));
  const unsigned int begin = parent.thread_rank() & ~(size - 1u), left = parent.size() - begin,
                     members = left < size ? left : size;
  return thread_group(thread_group::Warp, (0xffffffffu >> (32u - members)) << (details::lane() & ~(size - 1u)));
}
static KL_DEVICE coalesced_group tiled_partition(const coalesced_group& parent, unsigned int size) {
  details::check_tile_size(size);
  if (parent.size() <= size) return parent;
  return coalesced_group(details::tile_of_lanes(parent.kernelift_mask(), size), parent.thread_rank() / size,
                         (parent.size() + size - 1) / size);
}
template <class Group>
KL_DEVICE coalesced_group binary_partition(const Group& group, bool predicate) {
  const unsigned int members = group.kernelift_mask(), with = __ballot_sync(members, predicate) & members;
  if (with == members || with == 0) return coalesced_group(members);
  return coalesced_group(predicate ? with : members & ~with, predicate, 2);
}
/// Members with equal labels; from compute capability 7 on, as in CUDA.
template <class Group, class Label>
KL_DEVICE coalesced_group labeled_partition(const Group& group, Label label) {
  const unsigned int members = group.kernelift_mask(), mine = __match_any_sync(members, label),
                     first = (unsigned)__ffs((int)mine) - 1u;
  const unsigned int leaders = __ballot_sync(members, first == details::lane()) & members;
  return coalesced_group(mine, (unsigned)__popc(leaders & ((1u << first) - 1u)), (unsigned)__popc(leaders));
}
template <class Group>
KL_DEVICE coalesced_group labeled_partition(const Group& group, bool label) {
  return binary_partition(group, label);
}

/// Runs `function` on one member.
template <class Group, class Function, class... Arguments>
KL_DEVICE void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

}  // namespace cooperative_groups
#undef KL_DEVICE
