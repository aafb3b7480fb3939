// Collectives over tiles and coalesced groups: reduce and scans. Tiles reduce by butterfly, as CUDA's do, so that float
// sums associate in the same order; coalesced groups, whose size is any, go through their members in order.
#pragma once
#include "tiles.h"

#define KL_DEVICE __device__ __forceinline__
namespace cooperative_groups {

#define KL_OPERATION(name, expression)                            \
  template <class T = void>                                       \
  struct name {                                                   \
    KL_DEVICE T operator()(T a, T b) const { return expression; } \
  };
KL_OPERATION(plus, a + b)
KL_OPERATION(less, b < a ? b : a)
KL_OPERATION(greater, a < b ? b : a)
KL_OPERATION(bit_and, a& b)
KL_OPERATION(bit_or, a | b)
KL_OPERATION(bit_xor, a ^ b)
#undef KL_OPERATION

template <unsigned int Size, class Parent, class T, class Operation>
KL_DEVICE T reduce(const thread_block_tile<Size, Parent>& group, T value, Operation operation) {
  for (unsigned int step = Size / 2; step > 0; step /= 2) value = operation(value, group.shfl_xor(value, step));
  return value;
}
template <class T, class Operation>
KL_DEVICE T reduce(const coalesced_group& group, T value, Operation operation) {
  T result = group.shfl(value, 0);
  for (unsigned int rank = 1; rank < group.size(); ++rank) result = operation(result, group.shfl(value, rank));
  return result;
}

template <class Group, class T, class Operation>
KL_DEVICE T inclusive_scan(const Group& group, T value, Operation operation) {
  for (unsigned int step = 1; step < group.size(); step *= 2) {
    T below = group.shfl_up(value, step);
    if (group.thread_rank() >= step) value = operation(below, value);
  }
  return value;
}
template <class Group, class T>
KL_DEVICE T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
template <class Group, class T, class Operation>
KL_DEVICE T exclusive_scan(const Group& group, T value, Operation operation) {
  T below = group.shfl_up(inclusive_scan(group, value, operation), 1);
  return group.thread_rank() == 0 ? T() : below;
}
template <class Group, class T>
KL_DEVICE T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
#undef KL_DEVICE
