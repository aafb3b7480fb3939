// Texture fetches and surface accesses, as the CUDA C++ Programming Guide's appendix "Texture Fetching" defines them:
// coordinates become texel numbers by the addressing modes; linear filtering weighs with fractions of 9 bits, 8 of them
// behind the point, halves rounded up (tried on an H100). The object is described in core/model/texture_object.h.
// Inlined, everything that depends on the object alone leaves the loops over threads.
#pragma once
#include "core/model/texture_object.h"

typedef u32 u32x4 __attribute__((vector_size(16)));

/// What a fetch names besides its coordinates.
enum { KL_DIMENSIONS = 3, KL_LAYERED = 4 };

static inline i64 kl_extent(u32 texels) { return texels ? texels : 1; }

/// A texel number along one axis within the texture; -1: the border.
static inline i64 kl_addressed(i64 i, i64 n, u32 mode) {
  if (mode == KL_ADDRESS_CLAMP) return i < 0 ? 0 : i >= n ? n - 1 : i;
  if (mode == KL_ADDRESS_BORDER) return i < 0 || i >= n ? -1 : i;
  const i64 period = mode == KL_ADDRESS_MIRROR ? 2 * n : n;
  i64 m = i % period;
  if (m < 0) m += period;
  return m < n ? m : period - 1 - m;
}

static inline u32 kl_channel(const u8* at, u32 bits, u32 format) {
  if (bits == 32) return *(const u32*)at;
  if (bits == 16) {
    const u16 raw = *(const u16*)at;
    if (format == KL_TEXEL_FLOAT) return bits_of_float((f32) __builtin_bit_cast(f16, raw));
    return format == KL_TEXEL_SIGNED ? (u32)(i32)(i16)raw : raw;
  }
  return format == KL_TEXEL_SIGNED ? (u32)(i32)(i8)*at : *at;
}

/// Integers as floats: what is unsigned from 0 to 1, what is signed from -1 to 1.
static inline u32 kl_as_float(u32 raw, u32 bits, u32 format) {
  if (format == KL_TEXEL_UNSIGNED) return bits_of_float((f32)raw / (f32)((1u << bits) - 1));
  const f32 value = (f32)(i32)raw / (f32)((1u << (bits - 1)) - 1);
  return bits_of_float(value < -1 ? -1 : value);
}

/// One channel's bits of the texel at whole numbers; 0 of channels that the texture lacks (tried on an H100).
static inline u32 kl_texel(const kl_texture* t, u32 channel, i64 x, i64 y, i64 z) {
  const int floats = t->format == KL_TEXEL_FLOAT || t->as_float;
  if (x < 0 || y < 0 || z < 0)
    return floats ? bits_of_float(t->border[channel]) : (u32)__nv_float2int_rz(t->border[channel]);
  if (channel >= t->channels) return 0;
  const u8* row = (const u8*)t->memory + z * t->layer_bytes + y * t->row_bytes;
  const u32 raw = kl_channel(row + (x * t->channels + channel) * (t->bits / 8), t->bits, t->format);
  return t->as_float ? kl_as_float(raw, t->bits, t->format) : raw;
}

/// Of an axis: the two texels between which a coordinate lies, and how far it is towards the second.
typedef struct {
  i64 low, high;
  f32 weight;
} kl_place;

static inline kl_place kl_place_on(const kl_texture* t, int axis, u32 texels, f32 x) {
  const i64 n = kl_extent(texels);
  u32 mode = t->address[axis];
  // Wrapping and mirroring need coordinates from 0 to 1; otherwise they clamp.
  if (!t->normalized && (mode == KL_ADDRESS_WRAP || mode == KL_ADDRESS_MIRROR)) mode = KL_ADDRESS_CLAMP;
  if (t->normalized) x *= (f32)n;
  if (!t->linear) {
    const i64 i = kl_addressed(__nv_float2ll_rd(x), n, mode);
    return (kl_place){i, i, 0};
  }
  const f32 b = x - 0.5f, floor = __builtin_elementwise_floor(b);
  const i64 i = __nv_float2ll_rd(b);
  const f32 weight = __builtin_elementwise_floor((b - floor) * 256 + 0.5f) / 256;
  return (kl_place){kl_addressed(i, n, mode), kl_addressed(i + 1, n, mode), weight == weight ? weight : 0};
}

static inline i64 kl_layer(const kl_texture* t, u32 shape, u32 layer) {
  return shape & KL_LAYERED ? kl_addressed((i32)layer, kl_extent(t->depth), KL_ADDRESS_CLAMP) : 0;
}

/// Where a fetch is, on every axis.
typedef struct {
  u32 dimensions;
  kl_place x, y, z;
} kl_position;

static inline f32 kl_row(const kl_texture* t, u32 channel, kl_place x, i64 y, i64 z) {
  return (1 - x.weight) * float_of_bits(kl_texel(t, channel, x.low, y, z)) +
         x.weight * float_of_bits(kl_texel(t, channel, x.high, y, z));
}
static inline f32 kl_plane(const kl_texture* t, u32 channel, const kl_position* at, i64 z) {
  const f32 low = kl_row(t, channel, at->x, at->y.low, z);
  return at->dimensions < 2 ? low : (1 - at->y.weight) * low + at->y.weight * kl_row(t, channel, at->x, at->y.high, z);
}
static inline u32 kl_fetched(const kl_texture* t, u32 channel, const kl_position* at) {
  if (!t->linear) return kl_texel(t, channel, at->x.low, at->y.low, at->z.low);
  const f32 low = kl_plane(t, channel, at, at->z.low);
  return bits_of_float(
      at->dimensions < 3 ? low : (1 - at->z.weight) * low + at->z.weight * kl_plane(t, channel, at, at->z.high));
}

/// tex.1d, .2d, .3d, .a1d, .a2d with float coordinates: four channels' bits.
u32x4 __nvvm_kl_texture(u64 object, u32 shape, f32 x, f32 y, f32 z, u32 layer) {
  const kl_texture* t = (const kl_texture*)object;
  kl_position at = {shape & KL_DIMENSIONS, kl_place_on(t, 0, t->width, x), {0, 0, 0}, {0, 0, 0}};
  if (at.dimensions > 1) at.y = kl_place_on(t, 1, t->height, y);
  if (at.dimensions > 2) at.z = kl_place_on(t, 2, t->depth, z);
  else at.z.low = kl_layer(t, shape, layer);
  return (u32x4){kl_fetched(t, 0, &at), kl_fetched(t, 1, &at), kl_fetched(t, 2, &at), kl_fetched(t, 3, &at)};
}

/// tex with whole coordinates (tex1Dfetch): no filtering, and outside of linear memory 0.
u32x4 __nvvm_kl_texels(u64 object, u32 shape, u32 x, u32 y, u32 z, u32 layer) {
  const kl_texture* t = (const kl_texture*)object;
  const u32 dimensions = shape & KL_DIMENSIONS;
  const u32 mode =
      t->resource == KL_RESOURCE_LINEAR || t->address[0] == KL_ADDRESS_BORDER ? KL_ADDRESS_BORDER : KL_ADDRESS_CLAMP;
  const i64 at_x = kl_addressed((i32)x, kl_extent(t->width), mode);
  const i64 at_y = dimensions > 1 ? kl_addressed((i32)y, kl_extent(t->height), mode) : 0;
  const i64 at_z = dimensions > 2 ? kl_addressed((i32)z, kl_extent(t->depth), mode) : kl_layer(t, shape, layer);
  return (u32x4){kl_texel(t, 0, at_x, at_y, at_z), kl_texel(t, 1, at_x, at_y, at_z), kl_texel(t, 2, at_x, at_y, at_z),
                 kl_texel(t, 3, at_x, at_y, at_z)};
}

/// tld4: one channel of the four texels that a linear fetch would weigh: (i, j+1), (i+1, j+1), (i+1, j), (i, j).
u32x4 __nvvm_kl_texture_gather(u64 object, u32 channel, f32 x, f32 y) {
  const kl_texture* t = (const kl_texture*)object;
  kl_texture linear = *t;
  linear.linear = 1;
  const kl_place px = kl_place_on(&linear, 0, t->width, x), py = kl_place_on(&linear, 1, t->height, y);
  return (u32x4){kl_texel(t, channel, px.low, py.high, 0), kl_texel(t, channel, px.high, py.high, 0),
                 kl_texel(t, channel, px.high, py.low, 0), kl_texel(t, channel, px.low, py.low, 0)};
}

/// Address of a surface access of `bytes`, x in bytes; 0: it is outside, and not to be clamped, or misaligned.
u64 __nvvm_kl_surface(u64 object, u32 shape, u32 clamped, u32 bytes, u32 x, u32 y, u32 z, u32 layer) {
  const kl_texture* t = (const kl_texture*)object;
  const u32 dimensions = shape & KL_DIMENSIONS;
  const i64 row = kl_extent(t->width) * t->channels * (t->bits / 8);
  const i64 height = dimensions > 1 ? kl_extent(t->height) : 1;
  const i64 depth = dimensions > 2 || shape & KL_LAYERED ? kl_extent(t->depth) : 1;
  i64 at_x = (i32)x, at_y = dimensions > 1 ? (i32)y : 0;
  i64 at_z = dimensions > 2 ? (i32)z : shape & KL_LAYERED ? (i32)layer : 0;
  if (clamped) {
    at_x = at_x < 0 ? 0 : at_x + bytes > row ? row - bytes : at_x;
    at_y = kl_addressed(at_y, height, KL_ADDRESS_CLAMP), at_z = kl_addressed(at_z, depth, KL_ADDRESS_CLAMP);
  }
  const int inside = at_x >= 0 && at_x + bytes <= row && at_y >= 0 && at_y < height && at_z >= 0 && at_z < depth;
  return inside && at_x % bytes == 0 ? t->memory + at_z * t->layer_bytes + at_y * t->row_bytes + at_x : 0;
}
