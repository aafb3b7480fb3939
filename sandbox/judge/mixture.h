// Which elements of a mixture of two images are taken from which: the same arithmetic on host and device (kl_mix).
#pragma once
#include "sandbox/judge/judging.h"

namespace kernelift::sandbox::judging {

/// 64 random bits for elements 64 * group and following: whether each is taken from one image or from another (kl_mix).
/// splitmix64.
KL_BOTH u64 draw_bits(u64 seed, u64 group) {
  u64 z = seed + (group + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace kernelift::sandbox::judging
