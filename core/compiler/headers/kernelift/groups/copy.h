// memcpy_async and wait: a copy by all members, complete when wait() returns. It is made at once: an order that CUDA
// allows.
#pragma once
#include "tiles.h"

#define KL_DEVICE __device__ __forceinline__
namespace cooperative_groups {

template <class Group>
KL_DEVICE void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
  size_t words = ((((size_t)to | (size_t)from) & 3) == 0) ? bytes / 4 : 0;
  for (size_t i = group.thread_rank(); i < words; i += group.size())
    ((unsigned int*)to)[i] = ((const unsigned int*)from)[i];
  for (size_t i = words * 4 + group.thread_rank(); i < bytes; i += group.size())
    ((char*)to)[i] = ((const char*)from)[i];
}
/// With both sides' layouts in elements: the smaller count is copied.
template <class Group, class T>
KL_DEVICE void memcpy_async(const Group& group, T* to, size_t to_count, const T* from, size_t from_count) {
  memcpy_async(group, (void*)to, (const void*)from, sizeof(T) * (to_count < from_count ? to_count : from_count));
}
template <class Group>
KL_DEVICE void wait(const Group& group) {
  group.sync();
}
template <unsigned int Stages, class Group>
KL_DEVICE void wait_prior(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
#undef KL_DEVICE
