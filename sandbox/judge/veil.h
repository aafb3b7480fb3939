// Hides answers in memory that a candidate's kernels can read: on a GPU they share one address space with everything.
// Answers lie there veiled, each word combined with a cipher's word (Speck64/128) of its own address. Only the judging
// kernels get the key, as an argument of their launches; a search through memory finds nothing that looks like an
// answer, and what is known of an answer does not lead to the key. The same arithmetic on host and device.
#pragma once
#include "sandbox/judge/judging.h"

namespace kernelift::sandbox::judging {

/// What one word is combined with; `word`: its address / 8.
KL_BOTH u64 pad_of(const Veil& veil, u64 word) {
  constexpr u32 kRounds = 27;
  u32 x = static_cast<u32>(word >> 32), y = static_cast<u32>(word);
  u32 k = veil.key[0], a = veil.key[1], b = veil.key[2], c = veil.key[3];
  for (u32 i = 0; i < kRounds; ++i) {
    x = ((x >> 8 | x << 24) + y) ^ k;
    y = (y << 3 | y >> 29) ^ x;
    const u32 next = (k + (a >> 8 | a << 24)) ^ i;
    k = (k << 3 | k >> 29) ^ next;
    a = b, b = c, c = next;
  }
  return static_cast<u64>(x) << 32 | y;
}

/// The pad of the `width` bytes at `address`.
KL_BOTH u64 pad_at(const Veil& veil, u64 address, u32 width) {
  if (!veil.on) return 0;
  const u64 shift = address % 8 * 8;
  u64 pad = pad_of(veil, address / 8) >> shift;
  if (shift + 8 * width > 64) pad |= pad_of(veil, address / 8 + 1) << (64 - shift);
  return width < 8 ? pad & ((1ull << (8 * width)) - 1) : pad;
}

/// A scalar of a veiled buffer, or of a plain one if the veil is off.
KL_BOTH u64 load_veiled(const Veil& veil, const u8* at, u32 width) {
  return load(at, width) ^ pad_at(veil, reinterpret_cast<u64>(at), width);
}

KL_BOTH void store(u8* at, u32 width, u64 value) {
  for (u32 i = 0; i < width; ++i) at[i] = static_cast<u8>(value >> (8 * i));
}

/// Bytes [offset, offset + width) of a copy that veils or reveals. `veiled`: address of the side that is veiled.
KL_BOTH void copy_veiled(const Veil& veil, u64 to, u64 from, u64 veiled, u64 offset, u32 width) {
  const u64 value = load(reinterpret_cast<const u8*>(from + offset), width) ^ pad_at(veil, veiled + offset, width);
  store(reinterpret_cast<u8*>(to + offset), width, value);
}

}  // namespace kernelift::sandbox::judging
