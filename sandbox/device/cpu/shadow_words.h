/* What check mode keeps of an access, and of a piece of shared memory, as the executor and the code that is inlined at
   accesses (devicelib/access_notes.h) both see it; executor/check/shadow.h has the meaning. */
#pragma once
#include <stdint.h>

/// An access in 64 bits: mask 3 | strong 1 | site 10 | clock 8 | block 20 | epoch 12 | thread 10
#define KL_ACCESS_EPOCH_AT 10
#define KL_ACCESS_BLOCK_AT 22
#define KL_ACCESS_CLOCK_AT 42
#define KL_ACCESS_SITE_AT 50
#define KL_ACCESS_STRONG_AT 60
#define KL_ACCESS_MASK_AT 61
#define KL_ACCESS_MOMENT ((1ull << KL_ACCESS_SITE_AT) - 1)

/// A word of global memory's shadow is 0, or one plain access to the whole granule with this bit for a write, or this
/// other one with the number of a cell.
#define KL_WORD_WRITE (1ull << 61)
#define KL_WORD_CELL (1ull << 62)

typedef struct kl_cell {
  uint64_t writer, reader, other_reader;
} kl_cell;
