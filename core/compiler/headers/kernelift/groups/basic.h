// Cooperative groups: the whole block, the grid, and what all groups share.
// A grid's sync is one call, __kl_grid_sync, and so is whether it may be called, __kl_grid_valid; the CPU device's
// executor answers both. For a GPU they stay unresolved, and the toolkit's own header is used instead.
#pragma once
#include "../../cuda_runtime.h"

#define KL_DEVICE __device__ __forceinline__
extern "C" __device__ void __kl_grid_sync(void) __attribute__((convergent));
extern "C" __device__ int __kl_grid_valid(void);

namespace cooperative_groups {

namespace details {
static KL_DEVICE unsigned int lane() { return __nvvm_read_ptx_sreg_laneid(); }
static KL_DEVICE unsigned int rank_in_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
static KL_DEVICE unsigned int lanes_below() { return (1u << lane()) - 1u; }
/// The lane of the n-th member (from 0) of a mask.
static KL_DEVICE unsigned int nth_lane(unsigned int mask, unsigned int n) {
  for (; n > 0; --n) mask &= mask - 1;
  return (unsigned int)__builtin_ctz(mask);
}
/// Shuffles of any trivially copyable type, 32 bits at a time.
template <class T>
KL_DEVICE T shuffle(unsigned int mask, T value, unsigned int from) {
  struct Words {
    unsigned int word[(sizeof(T) + 3) / 4];
  } words = {};
  __builtin_memcpy(&words, &value, sizeof(T));
  for (unsigned int i = 0; i < (sizeof(T) + 3) / 4; ++i) words.word[i] = __shfl_sync(mask, words.word[i], (int)from);
  __builtin_memcpy(&value, &words, sizeof(T));
  return value;
}
}  // namespace details

/// A group of any kind, by value: what a generic function takes. Tiles and coalesced groups keep their mask.
class thread_group {
 public:
  KL_DEVICE unsigned int size() const {
    return kind_ == Block ? blockDim.x * blockDim.y * blockDim.z : (unsigned)__popc(mask_);
  }
  KL_DEVICE unsigned int num_threads() const { return size(); }
  KL_DEVICE unsigned int thread_rank() const {
    return kind_ == Block ? details::rank_in_block() : (unsigned)__popc(mask_ & details::lanes_below());
  }
  KL_DEVICE void sync() const {
    if (kind_ == Block) __syncthreads();
    else __syncwarp(mask_);
  }
  KL_DEVICE bool is_valid() const { return true; }
  /// The members' lanes (not of a block).
  KL_DEVICE unsigned int kernelift_mask() const { return mask_; }

 protected:
  enum Kind { Block, Warp };
  KL_DEVICE thread_group(Kind kind, unsigned int mask) : kind_(kind), mask_(mask) {}
  Kind kind_;
  unsigned int mask_;
  friend KL_DEVICE thread_group tiled_partition(const thread_group& parent, unsigned int size);
};

class thread_block : public thread_group {
 public:
  static KL_DEVICE void sync() { __syncthreads(); }
  static KL_DEVICE unsigned int size() { return blockDim.x * blockDim.y * blockDim.z; }
  static KL_DEVICE unsigned int num_threads() { return size(); }
  static KL_DEVICE unsigned int thread_rank() { return details::rank_in_block(); }
  static KL_DEVICE dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static KL_DEVICE dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static KL_DEVICE dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  static KL_DEVICE dim3 dim_threads() { return group_dim(); }
  struct arrival_token {};
  KL_DEVICE arrival_token barrier_arrive() const {
    __syncthreads();
    return arrival_token();
  }
  KL_DEVICE void barrier_wait(arrival_token&&) const {}

 private:
  KL_DEVICE thread_block() : thread_group(Block, 0xffffffffu) {}
  friend KL_DEVICE thread_block this_thread_block();
};
KL_DEVICE thread_block this_thread_block() { return thread_block(); }

class grid_group {
 public:
  KL_DEVICE void sync() const { __kl_grid_sync(); }
  KL_DEVICE bool is_valid() const { return __kl_grid_valid() != 0; }
  static KL_DEVICE unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  static KL_DEVICE unsigned long long size() { return num_blocks() * thread_block::size(); }
  static KL_DEVICE unsigned long long num_threads() { return size(); }
  static KL_DEVICE unsigned long long block_rank() {
    return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static KL_DEVICE unsigned long long thread_rank() {
    return block_rank() * thread_block::size() + details::rank_in_block();
  }
  static KL_DEVICE dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  static KL_DEVICE dim3 dim_blocks() { return group_dim(); }
  static KL_DEVICE dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
KL_DEVICE grid_group this_grid() { return grid_group(); }

template <class Group>
KL_DEVICE void sync(const Group& group) {
  group.sync();
}
KL_DEVICE void sync(const thread_block& group) { group.sync(); }

}  // namespace cooperative_groups
#undef KL_DEVICE
