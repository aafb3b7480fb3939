// The runner's own kernels: comparison, canaries, poison, restoring scattered ranges, flushing caches, and holding the
// stream while the host queues the launches to be timed. Compiled at build time by clang to PTX for the oldest
// supported architecture, which the driver compiles for its GPU. No CUDA header is used.
#include "sandbox/judge/judging.h"
#include "sandbox/judge/mixture.h"
#include "sandbox/judge/veil.h"

#include <__clang_cuda_builtin_vars.h>

#define KL_KERNEL extern "C" __attribute__((global)) void
#define KL_SHARED __attribute__((shared))

namespace {

using namespace kernelift::sandbox::judging;

__attribute__((device)) void block_barrier() { __nvvm_bar_sync(0); }
__attribute__((device)) void atomic_max(u64* at, u64 value) { __nvvm_atom_max_gen_ull(at, value); }
__attribute__((device)) void atomic_min(u64* at, u64 value) { __nvvm_atom_min_gen_ull(at, value); }
__attribute__((device)) void atomic_add(u64* at, u64 value) {
  __nvvm_atom_add_gen_ll(reinterpret_cast<i64*>(at), static_cast<i64>(value));
}
__attribute__((device)) u64 first_thread() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__attribute__((device)) u64 all_threads() { return static_cast<u64>(gridDim.x) * blockDim.x; }
__attribute__((device)) u64 nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

constexpr u32 kMostThreads = 256;

/// Sum over a block of at most kMostThreads; every thread gets it.
__attribute__((device)) double block_sum(double value, double* shared) {
  shared[threadIdx.x] = value;
  block_barrier();
  for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    block_barrier();
  }
  double sum = shared[0];
  block_barrier();
  return sum;
}

__attribute__((device)) u64 expected_at(const Task& task, u64 index) {
  return load_veiled(task.veil, reinterpret_cast<const u8*>(task.expected + index * task.stride), task.width);
}
__attribute__((device)) u64 got_at(const Task& task, u64 index) {
  return load(reinterpret_cast<const u8*>(task.got + index * task.stride), task.width);
}

/// A neighbourhood, the part of a task for one block at a time: scalars [begin, end).
struct Neighbourhood {
  u64 begin, end;
};
__attribute__((device)) u64 neighbourhoods_of(const Task& task) {
  u64 each = kNeighbourhoodBytes / task.width;
  return (task.count + each - 1) / each;
}
__attribute__((device)) Neighbourhood neighbourhood(const Task& task, u64 n) {
  u64 each = kNeighbourhoodBytes / task.width, begin = n * each;
  return {begin, begin + each < task.count ? begin + each : task.count};
}

/// The magnitudes of a block of at most kMostThreads, merged; every thread gets them.
__attribute__((device)) Magnitudes block_magnitudes(u32 width, const Magnitudes& own) {
  KL_SHARED static u64 shared[kMostThreads * sizeof(Magnitudes) / sizeof(u64)];
  auto* all = reinterpret_cast<Magnitudes*>(shared);
  all[threadIdx.x] = own;
  block_barrier();
  for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) merge(width, all[threadIdx.x], all[threadIdx.x + half]);
    block_barrier();
  }
  Magnitudes merged = all[0];
  block_barrier();
  return merged;
}

/// Reads a neighbourhood twice. It is in the caches, because it has just been compared.
__attribute__((device)) Scale scale_of(const Task& task, Neighbourhood here) {
  KL_SHARED static double sums[kMostThreads];
  Magnitudes all;
  for (u64 i = here.begin + threadIdx.x; i < here.end; i += blockDim.x)
    note(task.kind, task.width, expected_at(task, i), all);
  all = block_magnitudes(task.width, all);
  Squares sizes(task.kind, task.width, all);
  if (sizes.count == 0) return {};
  double squares = 0;
  for (u64 i = here.begin + threadIdx.x; i < here.end; i += blockDim.x) squares += sizes.of(expected_at(task, i));
  squares = block_sum(squares, sums);
  return sizes.scale(__nvvm_sqrt_rn_d(squares / static_cast<double>(sizes.count)), all);
}

__attribute__((device)) bool block_differs(const Task& task, Neighbourhood here) {
  int differs = 0;
  if (task.stride == task.width && (task.expected | task.got) % 8 == 0) {
    // Neighbourhoods begin at multiples of 4096 bytes from here.
    u64 begin = here.begin * task.width, end = here.end * task.width, whole = begin + (end - begin) / 8 * 8;
    for (u64 at = begin + static_cast<u64>(threadIdx.x) * 8; at < whole; at += static_cast<u64>(blockDim.x) * 8)
      differs |= (*reinterpret_cast<const u64*>(task.expected + at) ^ pad_at(task.veil, task.expected + at, 8)) !=
                 *reinterpret_cast<const u64*>(task.got + at);
    for (u64 at = whole + threadIdx.x; at < end; at += blockDim.x)
      differs |= load_veiled(task.veil, reinterpret_cast<const u8*>(task.expected + at), 1) !=
                 *reinterpret_cast<const u8*>(task.got + at);
  } else {
    for (u64 i = here.begin + threadIdx.x; i < here.end; i += blockDim.x)
      differs |= expected_at(task, i) != got_at(task, i);
  }
  return __nvvm_bar0_or(differs) != 0;
}

}  // namespace

/// EXPECTS: a block of kMostThreads; a grid of any size.
KL_KERNEL kl_compare(Task task) {
  auto* finding = reinterpret_cast<Finding*>(task.into);
  for (u64 n = blockIdx.x; n < neighbourhoods_of(task); n += gridDim.x) {
    Neighbourhood here = neighbourhood(task, n);
    if (!block_differs(task, here)) continue;
    double allowed = task.envelope > 0 ? allowed_by(task, scale_of(task, here)) : 0;
    u64 mismatches = 0, first = kNone, worst = 0, changed = 0;
    double ulps = 0, absolute = 0;
    for (u64 i = here.begin + threadIdx.x; i < here.end; i += blockDim.x) {
      Difference difference = compare(task, expected_at(task, i), got_at(task, i), allowed);
      if (difference.measured) {
        if (difference.distance > ulps) ulps = difference.distance;
        if (difference.absolute > absolute) absolute = difference.absolute;
      }
      changed += difference.changed;
      if (!difference.mismatch) continue;
      ++mismatches;
      u64 key = worst_key(difference.distance, n);
      if (i < first) first = i;
      if (key > worst) worst = key;
    }
    if (changed > 0) atomic_add(&finding->changed, changed);
    if (mismatches > 0) {
      atomic_add(&finding->mismatches, mismatches);
      atomic_min(&finding->first, first);
      atomic_max(&finding->worst, worst);
    }
    if (ulps > 0) atomic_max(&finding->largest_ulps, bits_of(ulps));
    if (absolute > 0) atomic_max(&finding->largest_absolute, bits_of(absolute));
  }
}

/// The largest deviations, as shares of their neighbourhoods' scales (judge/rounding_envelope.h): of the root mean
/// square in largest_absolute, of the geometric mean in largest_ulps. Denormals that changed are counted as mismatches.
/// Elements within task.ulps are no deviations. EXPECTS: a floating-point task, a block of kMostThreads.
KL_KERNEL kl_spread(Task task) {
  auto* finding = reinterpret_cast<Finding*>(task.into);
  for (u64 n = blockIdx.x; n < neighbourhoods_of(task); n += gridDim.x) {
    Neighbourhood here = neighbourhood(task, n);
    if (!block_differs(task, here)) continue;
    double largest = 0;
    u64 denormals = 0, changed = 0;
    for (u64 i = here.begin + threadIdx.x; i < here.end; i += blockDim.x) {
      Difference moved = compare(task, expected_at(task, i), got_at(task, i), 0);
      double away = beyond_ulps(task, moved);
      if (away > largest) largest = away;
      denormals += moved.denormal, changed += moved.changed;
    }
    if (changed > 0) atomic_add(&finding->changed, changed);
    if (denormals > 0) atomic_add(&finding->mismatches, denormals);
    if (__nvvm_bar0_or(largest > 0) == 0) continue;
    Scale scale = scale_of(task, here);
    if (largest == 0) continue;
    if (scale.rms > 0) atomic_max(&finding->largest_absolute, bits_of(largest / scale.rms));
    if (scale.typical > 0) atomic_max(&finding->largest_ulps, bits_of(largest / scale.typical));
  }
}

KL_KERNEL kl_check_canary(u64 begin, u64 bytes, u32 byte, u64 into) {
  u64 pattern = 0x0101010101010101ull * byte, broken = kNone;
  // Whole words in the middle, bytes at both ends.
  u64 end = begin + bytes, first = (begin + 7) / 8 * 8, last = end / 8 * 8;
  if (first > last) first = last = end;
  for (u64 at = first + first_thread() * 8; at < last; at += all_threads() * 8)
    if (*reinterpret_cast<const u64*>(at) != pattern && at < broken) broken = at;
  if (broken != kNone)
    for (u64 at = broken; at < broken + 8; ++at)
      if (*reinterpret_cast<const u8*>(at) != byte) {
        broken = at;
        break;
      }
  if (first_thread() == 0) {
    for (u64 at = last; at < end; ++at)
      if (*reinterpret_cast<const u8*>(at) != byte && at < broken) broken = at;
    for (u64 at = begin; at < first && at < end; ++at)
      if (*reinterpret_cast<const u8*>(at) != byte && at < broken) broken = at;
  }
  if (broken != kNone) atomic_min(&reinterpret_cast<Finding*>(into)->address, broken);
}

/// Fills the scalars at task.got whose state is kWritten with a byte.
KL_KERNEL kl_poison(Task task, u64 states, u32 byte) {
  for (u64 i = first_thread(); i < task.count; i += all_threads()) {
    if (reinterpret_cast<const u8*>(states)[i] != kWritten) continue;
    for (u32 b = 0; b < task.width; ++b) reinterpret_cast<u8*>(task.got + i * task.stride)[b] = static_cast<u8>(byte);
  }
}

/// Copies the scalars whose state is kWritten from task.expected to task.got.
KL_KERNEL kl_copy_written(Task task, u64 states) {
  for (u64 i = first_thread(); i < task.count; i += all_threads()) {
    if (reinterpret_cast<const u8*>(states)[i] != kWritten) continue;
    store(reinterpret_cast<u8*>(task.got + i * task.stride), task.width, expected_at(task, i));
  }
}

/// For the result of a run on a buffer filled with `byte`: removes from states[i] the properties that scalar i does not
/// have in this run. `into`: mismatches counts scalars without any property left. task.expected is the original's
/// result.
KL_KERNEL kl_classify(Task task, u64 states, u32 byte) {
  u64 poison = 0x0101010101010101ull * byte;
  if (task.width < 8) poison &= (1ull << (8 * task.width)) - 1;
  u64 lost = 0;
  for (u64 i = first_thread(); i < task.count; i += all_threads()) {
    u8* state = reinterpret_cast<u8*>(states) + i;
    u64 result = expected_at(task, i);
    double allowed = 0;
    if (task.kind >= kHalf) {
      double size = magnitude(real(task.kind, result));  // One element is its own neighbourhood.
      allowed = allowed_by(task, {size, size});
    }
    *state &= classify(task, result, got_at(task, i), poison, allowed);
    lost += *state == 0;
  }
  if (lost > 0) atomic_add(&reinterpret_cast<Finding*>(task.into)->mismatches, lost);
}

/// Counts in `mismatches` the scalars that differ between input (task.got) and result (task.expected) although their
/// state is not kWritten, and in `largest_ulps` the scalars whose state is kWritten.
KL_KERNEL kl_uncovered(Task task, u64 states) {
  u64 found = 0, written = 0;
  for (u64 i = first_thread(); i < task.count; i += all_threads()) {
    bool known = reinterpret_cast<const u8*>(states)[i] == kWritten;
    written += known;
    found += !known && expected_at(task, i) != got_at(task, i);
  }
  auto* finding = reinterpret_cast<Finding*>(task.into);
  if (found > 0) atomic_add(&finding->mismatches, found);
  if (written > 0) atomic_add(&finding->largest_ulps, written);
}

/// Loads a word that is used once and should leave the caches first. Restoring must not displace the data that it
/// writes from the L2, where in the application the preceding kernel left it. (On an H200 a copy that displaces it
/// slows the next kernel down by up to 30 %.)
__attribute__((device)) u64 passing(u64 at) {
  u64 word;
  asm volatile("ld.global.cs.u64 %0, [%1];" : "=l"(word) : "l"(at));
  return word;
}

/// Copies whole words, and then the remaining bytes.
KL_KERNEL kl_copy(u64 to, u64 from, u64 bytes) {
  u64 words = (to | from) % 8 == 0 ? bytes / 8 : 0;
  for (u64 i = first_thread(); i < words; i += all_threads()) reinterpret_cast<u64*>(to)[i] = passing(from + i * 8);
  for (u64 i = words * 8 + first_thread(); i < bytes; i += all_threads())
    reinterpret_cast<u8*>(to)[i] = reinterpret_cast<const u8*>(from)[i];
}

/// Mixes two images: each element of `stride` bytes is that of `a` or that of `b`, by a random bit of its own. Bytes
/// behind the last whole element are those of `a`.
KL_KERNEL kl_mix(u64 to, u64 a, u64 b, u64 bytes, u64 stride, u64 seed) {
  u64 count = bytes / stride;
  for (u64 i = first_thread(); i < count; i += all_threads()) {
    u64 from = (draw_bits(seed, i / 64) >> (i % 64) & 1 ? b : a) + i * stride, into = to + i * stride;
    if (stride % 8 == 0 && (from | into) % 8 == 0) {
      for (u64 w = 0; w < stride; w += 8) *reinterpret_cast<u64*>(into + w) = passing(from + w);
    } else if (stride % 4 == 0 && (from | into) % 4 == 0) {
      for (u64 w = 0; w < stride; w += 4) *reinterpret_cast<u32*>(into + w) = *reinterpret_cast<const u32*>(from + w);
    } else {
      for (u64 w = 0; w < stride; ++w) *reinterpret_cast<u8*>(into + w) = *reinterpret_cast<const u8*>(from + w);
    }
  }
  for (u64 i = count * stride + first_thread(); i < bytes; i += all_threads())
    *reinterpret_cast<u8*>(to + i) = *reinterpret_cast<const u8*>(a + i);
}

/// A copy whose one side is veiled: `veiled` is its address.
KL_KERNEL kl_veil(u64 to, u64 from, u64 veiled, u64 bytes, Veil veil) {
  for (u64 offset = first_thread() * 8; offset < bytes; offset += all_threads() * 8)
    copy_veiled(veil, to, from, veiled, offset, static_cast<u32>(bytes - offset < 8 ? bytes - offset : 8));
}

struct Range {
  u64 to, from, bytes;
};
/// Copies scattered ranges, each by one block.
KL_KERNEL kl_copy_ranges(u64 ranges, u64 count) {
  for (u64 n = blockIdx.x; n < count; n += gridDim.x) {
    Range range = reinterpret_cast<const Range*>(ranges)[n];
    if ((range.to | range.from | range.bytes) % 8 == 0) {
      for (u64 i = threadIdx.x; i < range.bytes / 8; i += blockDim.x)
        reinterpret_cast<u64*>(range.to)[i] = passing(range.from + i * 8);
    } else {
      for (u64 i = threadIdx.x; i < range.bytes; i += blockDim.x)
        reinterpret_cast<u8*>(range.to)[i] = reinterpret_cast<const u8*>(range.from)[i];
    }
  }
}

/// Reads a buffer larger than the L2, so that the L2 holds nothing else and no line needs to be written back.
KL_KERNEL kl_flush(u64 buffer, u64 bytes, u64 into) {
  u64 sum = 0;
  for (u64 at = first_thread() * 16; at + 16 <= bytes; at += all_threads() * 16) {
    const u64* words = reinterpret_cast<const u64*>(buffer + at);
    sum += words[0] ^ words[1];
  }
  if (sum == 0x5eed5eed5eed5eedull) *reinterpret_cast<u64*>(into) = sum;  // Keeps the compiler from dropping the loads.
}

KL_KERNEL kl_hold(u64 duration) {
  u64 begin = nanoseconds();
  while (nanoseconds() - begin < duration) {}
}

/// Writes `bytes` bytes as fast as possible: measures the physics floor.
KL_KERNEL kl_write(u64 buffer, u64 bytes, u64 value) {
  struct alignas(16) Pair {
    u64 a, b;
  };
  for (u64 at = first_thread() * 16; at + 16 <= bytes; at += all_threads() * 16)
    *reinterpret_cast<Pair*>(buffer + at) = {value, at};
}

KL_KERNEL kl_nothing() {}
