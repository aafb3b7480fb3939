// What lowered code and its executor share while a block runs: the layout of a thread and a block, and the table of
// services. image_abi.h names these opaquely; only the compiler (lower/, schedule/) and the executor look inside.
// Field order is load-bearing: lower/context_layout.h repeats it for LLVM, and a test compares the two.
#pragma once
#include <stdint.h>

#include "core/toolchain/image_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A device thread. Every lowered device function takes a pointer to its thread as its first, hidden parameter.
typedef struct kl_thread {
  struct kl_block* block;
  uint32_t tid_x, tid_y, tid_z;
  uint32_t linear;  ///< tid_x + ntid_x * (tid_y + ntid_y * tid_z)
} kl_thread;

typedef struct kl_block {
  const kl_launch* launch;
  uint32_t ctaid_x, ctaid_y, ctaid_z;
  uint32_t ntid_x, ntid_y, ntid_z;
  uint32_t nctaid_x, nctaid_y, nctaid_z;
  uint32_t processor;     ///< What %smid answers: the worker that runs the block.
  char* shared;           ///< Static shared variables, at offsets the compiler chose.
  char* dynamic_shared;   ///< extern __shared__.
  char* frame;            ///< kl_kernel::frame_bytes * frame_stride bytes: what threads keep across barriers.
  uint64_t frame_stride;  ///< Threads of a block rounded up to KL_FRAME_ROUND.
  kl_thread* current;     ///< FIBER: the thread that `run` is called for.
  /// Check mode: accesses of a thread are marked with `moment` and what its own in `moments` adds; a kl_cell for every
  /// four bytes of `shared`.
  uint64_t moment;
  const uint64_t* moments;
  void* shared_shadow;
} kl_block;

enum { KL_FRAME_ROUND = 64, KL_SHARED_ALIGN = 128, KL_WARP_SIZE = 32, KL_NAMED_BARRIERS = 16 };

enum kl_barrier_op { KL_BARRIER_SYNC, KL_BARRIER_COUNT, KL_BARRIER_AND, KL_BARRIER_OR };

enum kl_warp_op {
  KL_WARP_SYNC,
  KL_WARP_SHFL_IDX,
  KL_WARP_SHFL_UP,
  KL_WARP_SHFL_DOWN,
  KL_WARP_SHFL_BFLY,
  KL_WARP_VOTE_ALL,
  KL_WARP_VOTE_ANY,
  KL_WARP_VOTE_UNI,
  KL_WARP_BALLOT,
  KL_WARP_MATCH_ANY,
  KL_WARP_MATCH_ALL,
  KL_WARP_ADD,
  KL_WARP_AND,
  KL_WARP_OR,
  KL_WARP_XOR,
  KL_WARP_MIN,
  KL_WARP_MAX,
  KL_WARP_UMIN,
  KL_WARP_UMAX,
  KL_WARP_ELECT,
};

/// CUT at warp operations: where lanes can wait, and for what.
enum kl_wait { KL_WAIT_BARRIER, KL_WAIT_WARP, KL_WAIT_LOCKSTEP, KL_WAIT_ACTIVE };
enum { KL_UNIFORM_MASK = 1, KL_UNIFORM_OPERAND = 2 };
#define KL_DIVERGENT 0xffffffffu

typedef struct kl_suspension {
  uint32_t wait;   ///< enum kl_wait.
  uint32_t op;     ///< enum kl_barrier_op or kl_warp_op.
  uint32_t flags;  ///< KL_UNIFORM_MASK, KL_UNIFORM_OPERAND: the two below hold for all lanes, which then keep none.
  uint32_t mask;
  uint64_t operand;
  const char* place;  ///< "kernel.cu:12"
} kl_suspension;

/// A kernel cut at warp operations runs warp by warp. Row r of its frame is at frame + r * frame_stride, one element
/// per thread: where it is suspended (4 bytes, 0: ended), and at that suspension its mask (4), value, operand and
/// answer (8).
typedef struct kl_warp_plan {
  /// Resumes `count` threads from `first` on, all of one warp and suspended there (0: not started yet). Answers where
  /// all of them are now if that can only be one place, else KL_DIVERGENT.
  uint32_t (*step)(kl_block*, uint32_t suspension, uint32_t first, uint32_t count);
  uint64_t suspended_row, mask_row, value_row, operand_row, answer_row;
  const kl_suspension* suspensions;  ///< From 1.
} kl_warp_plan;

/// Check mode: one access or barrier of the source. The fields from `owner` on are the executor's.
typedef struct kl_site {
  const char* place;       ///< "kernel.cu:12"
  const char* variable;    ///< The shared variable that it leads to for sure; null: not known.
  uint32_t shared_offset;  ///< Of that variable, from kl_block::shared.
  uint32_t shared_bytes;   ///< Of that variable; KL_SITE_DYNAMIC: the launch says it.
  uint32_t column;         ///< Of the place.
  uint32_t align;          ///< Bytes.
  uint32_t flags;          ///< KL_SITE_WRITE …
  uint64_t owner;          ///< The check that gave it the others, by number.
  uint64_t mark;           ///< What its accesses are marked with.
  uint64_t begin, bytes;   ///< The object that it met last, its granules' shadow, and
  void* shadow;
  uint8_t* written;  ///< which of them have been written; null: that is not asked.
  /// Accesses that begin at one of the `quick_count` multiples of `align` from `quick_begin` on are noted where they
  /// are made if nobody else's is in the way (devicelib/access_notes.h). Of shared memory, where several blocks are
  /// resident at once, both addresses are offsets in the block's.
  uint64_t quick_begin, quick_count;
  void* quick_shadow;  ///< From there on; null for global memory: reads of it are in order, whoever makes them.
} kl_site;

enum {
  KL_SITE_WRITE = 1,
  KL_SITE_STRONG = 2,    ///< Atomic, or as good: no race with others that are.
  KL_SITE_VOLATILE = 4,  ///< Lanes of one warp may talk so.
  KL_SITE_ACQUIRE = 8,   ///< It may learn that another thread has come so far.
  KL_SITE_RELEASE = 16,  ///< It may tell that.
  KL_SITE_VALUE = 32,    ///< A store whose value is given to kl_services::check_access.
  KL_SITE_DYNAMIC = 64,  ///< The variable is extern __shared__.
  KL_SITE_NAMED = 128,   ///< A barrier that is not one of all threads of a block.
  KL_SITE_ONCE = 256,    ///< A barrier that is told of once, for all threads of the block.
};

/// Field runs: one place of the source that a run may have to name.
typedef struct kl_field_site {
  const char* what;   ///< "the comparison"
  const char* place;  ///< "kernel.cu:12"
} kl_field_site;

/// Calls from lowered code into its executor, in the order of lower/services.cpp's table.
struct kl_services {
  int32_t (*print)(kl_block*, const char* format, const void* arguments);
  /// Does not return to the caller: the block is abandoned, the launch ends with LaunchFault::Assert.
  void (*assert_fail)(kl_block*, uint32_t linear, const char* message, const char* file, uint32_t line,
                      const char* function);
  void (*trap)(kl_block*, uint32_t linear);
  /// CUT: threads of the block arrived at different barriers. Does not return.
  void (*divergent)(kl_block*, const char* sites);
  void* (*allocate)(uint64_t bytes);
  void (*release)(void*);
  uint64_t (*global_timer)(void);
  /// Fibers only from here on.
  void (*nanosleep)(kl_thread*, uint32_t nanoseconds);
  /// `count` 0: all threads of the block. `site` tells textual barriers apart; 0: any.
  uint32_t (*barrier)(kl_thread*, uint32_t id, uint32_t count, uint32_t op, uint32_t predicate, uint32_t site);
  void (*arrive)(kl_thread*, uint32_t id, uint32_t count);
  /// Exchanges `value` among the lanes of `mask`; see warp_exchange.h for operands. Bit 32 of the answer is a
  /// predicate where the operation has one.
  uint64_t (*warp)(kl_thread*, uint32_t op, uint32_t mask, uint64_t value, uint64_t operand);
  /// The lanes that reached this site together, the caller's among them.
  uint32_t (*active_mask)(kl_thread*, uint32_t site);
  /// Waits until every lane of the warp is at such a point or blocked, then lets the lowest site go first.
  void (*lockstep)(kl_thread*, uint32_t site);
  void (*yield)(kl_thread*);
  void (*grid_sync)(kl_thread*);
  void (*exit_thread)(kl_thread*);  ///< Ends the calling thread from anywhere. Does not return.
  /// CUT at warp operations: the whole block.
  void (*run_warps)(kl_block*, const kl_warp_plan*);
  /// Whether the launch is cooperative, so that its grid may wait. Of any block.
  uint32_t (*grid_valid)(kl_block*);
  /// Check mode, before an access of `bytes` bytes. `low`, `high`: what is stored, if the site says so.
  void (*check_access)(kl_thread*, const void* pointer, uint64_t bytes, kl_site*, uint64_t low, uint64_t high);
  /// Check mode, before a barrier of the source.
  void (*check_barrier)(kl_thread*, kl_site*);
  /// Field runs: the number that a float in memory stands for, of 4 or 8 bytes; executor/field/block_numbers.h.
  uint64_t (*field_load)(kl_thread*, const void* pointer, uint32_t bytes, kl_field_site*);
  void (*field_store)(kl_thread*, const void* pointer, uint32_t bytes, uint64_t number, kl_field_site*);
  /// The state of four bytes that are carried as they are.
  uint64_t (*field_load_word)(kl_thread*, const void* pointer, kl_field_site*);
  void (*field_store_word)(kl_thread*, const void* pointer, uint64_t state, kl_field_site*);
  /// Bytes are read as an integer, or (`wrote`) have been written as one.
  void (*field_touch)(kl_thread*, const void* pointer, uint64_t bytes, uint32_t wrote, kl_field_site*);
  void (*field_copy)(kl_thread*, const void* to, const void* from, uint64_t bytes, kl_field_site*);
  /// What a float among the kernel's parameters stands for, that lies `offset` bytes behind their start.
  uint64_t (*field_parameter)(kl_thread*, uint64_t offset, uint32_t bytes, kl_field_site*);
  uint64_t (*field_of_bits)(uint64_t bits, uint32_t bytes);
  uint64_t (*field_divide)(kl_thread*, uint64_t a, uint64_t b);
  /// A function of two numbers of which nothing is known; `function`: which one.
  uint64_t (*field_apply)(kl_thread*, uint64_t function, uint64_t a, uint64_t b, kl_field_site*);
  /// Recorded values decide here what is computed.
  void (*field_decide)(kl_thread*, kl_field_site*);
  /// Whether constants stand for what was meant by them (FieldRequest). `constants`: FieldReport's, of one function.
  uint32_t (*field_constants_meant)(kl_thread*, const uint64_t* constants, uint64_t count);
};

#ifdef __cplusplus
}
#endif
