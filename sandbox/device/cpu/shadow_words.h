/* What check mode keeps of an access, and of a piece of shared memory, as the executor and the code that is inlined at
   accesses (devicelib/access_notes.h) both see it; executor/check/shadow.h has the meaning. */
#pragma once
#include <stdint.h>

/// Bytes that one cell or word of the shadow is about.
#define KL_GRANULE 4

/// An access in 64 bits: block 20 | epoch 12 | thread 10 | mask 3 | strong 1 | site 10 | clock 8
#define KL_ACCESS_SITE_AT 8
#define KL_ACCESS_STRONG_AT 18
#define KL_ACCESS_MASK_AT 19
#define KL_ACCESS_THREAD_AT 22
#define KL_ACCESS_EPOCH_AT 32
#define KL_ACCESS_BLOCK_AT 44
#define KL_ACCESS_CLOCK ((1ull << KL_ACCESS_SITE_AT) - 1)
#define KL_ACCESS_MOMENT (~0ull << KL_ACCESS_THREAD_AT | KL_ACCESS_CLOCK)

/// A word of global memory's shadow is 0, or one plain access to the whole granule with this bit for a write, or the
/// number of a cell with this block, which there is not.
#define KL_WORD_WRITE (1ull << KL_ACCESS_MASK_AT)
#define KL_WORD_CELL (~0ull << KL_ACCESS_BLOCK_AT)

typedef struct kl_cell {
  uint64_t writer, reader, other_reader;
} kl_cell;
