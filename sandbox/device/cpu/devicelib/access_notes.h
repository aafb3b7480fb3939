// Check mode's common case, inlined at accesses: the site has told where its object is (kl_site::quick_begin), the
// access lies in it, and whoever was there before was the same thread, or was there before a block barrier. True: it is
// noted, or need not be. Else the executor looks at it (executor/check/block_check.cpp, whose rules these are).
#pragma once
#include "sandbox/device/cpu/block_context.h"
#include "sandbox/device/cpu/shadow_words.h"

/// The number of `align` bytes that lie before the access, and larger than any count if it is misaligned.
static inline u64 place_in(const kl_site* site, u64 address, u64 align) {
  const u64 offset = address - site->quick_begin;
  return __builtin_rotateright64(offset, (u64)__builtin_ctzll(align));
}

/// `parts`: threads may have passed barriers or warp operations that others of the block have not.
static inline u64 access_of(const kl_thread* thread, const kl_site* site, u64 parts) {
  const u64 own = parts ? thread->block->moments[thread->linear] : (u64)thread->linear << KL_ACCESS_THREAD_AT;
  return (thread->block->moment + own) | site->mark;
}

/// What tells two threads at two barriers apart, as a number: 0 for the same ones, below kBarrier for other threads
/// with no barrier between, below kBlock for other barriers of the block.
static const u64 kBarrier = 1ull << (KL_ACCESS_EPOCH_AT - KL_ACCESS_THREAD_AT),
                 kBlock = 1ull << (KL_ACCESS_BLOCK_AT - KL_ACCESS_THREAD_AT);
static inline u64 distance(u64 access, u64 now) { return (access ^ now) >> KL_ACCESS_THREAD_AT; }
static inline int is_apart(u64 distance) { return distance - 1 >= kBarrier - 1; }

/// Of a word that is not 0: by the same block, and ordered before this access.
static inline int is_before(u64 word, u64 now) {
  const u64 far = distance(word, now);
  return is_apart(far) && far < kBlock;
}

__attribute__((always_inline)) i32 __kl_note_read(const kl_thread* thread, u64 address, u64 bytes, u64 align,
                                                  const kl_site* site, u64 parts, u64 several) {
  (void)several;
  const u64 place = place_in(site, address, align);
  if (place >= site->quick_count) return 0;
  u64* word = (u64*)site->quick_shadow;
  if (!word) return 1;
  if (bytes % KL_GRANULE || align < KL_GRANULE) return 0;
  word += place * (align / KL_GRANULE);
  const u64 now = access_of(thread, site, parts);
  for (u64 i = 0; i < bytes / KL_GRANULE; ++i) {
    const u64 before = word[i];
    if (before & KL_WORD_WRITE) {
      // What is in conflict with this read is so with the write, too.
      if ((before ^ now) & KL_ACCESS_MOMENT) return 0;
    } else if (before && !is_before(before, now)) {
      return 0;
    } else {
      word[i] = now;
    }
  }
  return 1;
}

__attribute__((always_inline)) i32 __kl_note_write(const kl_thread* thread, u64 address, u64 bytes, u64 align,
                                                   const kl_site* site, u64 parts, u64 several) {
  (void)several;
  const u64 place = place_in(site, address, align);
  if (place >= site->quick_count) return 0;
  u64* word = (u64*)site->quick_shadow + place * (align / KL_GRANULE);
  const u64 now = access_of(thread, site, parts);
  for (u64 i = 0; i < bytes / KL_GRANULE; ++i) {
    const u64 before = word[i];
    if (before && !is_before(before, now)) return 0;
    word[i] = now | KL_WORD_WRITE;
  }
  return 1;
}

/// In shared memory. `several`: so many blocks are there at once, and a site knows of an offset in theirs alone.
static inline kl_cell* shared_cells(const kl_thread* thread, u64 address, u64 align, const kl_site* site, u64 several) {
  const u64 place = place_in(site, address - (several ? (u64)thread->block->shared : 0), align);
  if (place >= site->quick_count) return 0;
  const u64 shadow = (u64)site->quick_shadow + (several ? (u64)thread->block->shared_shadow : 0);
  return (kl_cell*)shadow + place * (align / KL_GRANULE);
}

__attribute__((always_inline)) i32 __kl_note_shared_read(const kl_thread* thread, u64 address, u64 bytes, u64 align,
                                                         const kl_site* site, u64 parts, u64 several) {
  kl_cell* cell = shared_cells(thread, address, align, site, several);
  if (!cell) return 0;
  const u64 now = access_of(thread, site, parts);
  for (u64 i = 0; i < bytes / KL_GRANULE; ++i, ++cell) {
    const u64 write = distance(cell->writer, now);
    if (!is_apart(write) || write >= kBlock) return 0;  // In conflict, or nothing this block has written.
    if (!is_apart(distance(cell->reader, now))) cell->other_reader = cell->reader;
    cell->reader = now;
  }
  return 1;
}

__attribute__((always_inline)) i32 __kl_note_shared_write(const kl_thread* thread, u64 address, u64 bytes, u64 align,
                                                          const kl_site* site, u64 parts, u64 several) {
  kl_cell* cell = shared_cells(thread, address, align, site, several);
  if (!cell) return 0;
  const u64 now = access_of(thread, site, parts);
  for (u64 i = 0; i < bytes / KL_GRANULE; ++i, ++cell) {
    // What another block left there is no access at all.
    if (!is_apart(distance(cell->writer, now)) || !is_apart(distance(cell->reader, now)) ||
        !is_apart(distance(cell->other_reader, now)))
      return 0;
    cell->writer = now, cell->reader = 0, cell->other_reader = 0;
  }
  return 1;
}
