// Texture objects as bytes: what can be one, and what its texels are.
#include "core/model/texture.h"

#include <gtest/gtest.h>

namespace kernelift {
namespace {

kl_texture image() {
  kl_texture t = {};
  t.memory = 0x1000, t.width = 5, t.height = 3, t.row_bytes = 64, t.layer_bytes = 192;
  t.use = KL_TEXTURE, t.resource = KL_RESOURCE_PITCHED, t.channels = 4, t.bits = 8, t.format = KL_TEXEL_UNSIGNED;
  return t;
}
bool is_read(const kl_texture& t) { return read_texture(std::as_bytes(std::span(&t, 1))).has_value(); }

TEST(Texture, EndsBehindItsLastTexelNotItsLastRowsPitch) {
  EXPECT_TRUE(is_read(image()));
  EXPECT_EQ(texture_span(image()), 2 * 64 + 5 * 4);
}

TEST(Texture, TexelsAreNamedAsTheSourceDoes) {
  kl_texture t = image();
  EXPECT_EQ(texel_type(t), "uchar4");
  t.channels = 1;
  EXPECT_EQ(texel_type(t), "unsigned char");
  t.format = KL_TEXEL_FLOAT, t.bits = 32;
  EXPECT_EQ(texel_type(t), "float");
  t.channels = 2, t.format = KL_TEXEL_SIGNED, t.bits = 16;
  EXPECT_EQ(texel_type(t), "short2");
}

TEST(Texture, WhatNoTextureCanBeIsNotRead) {
  auto bytes = std::as_bytes(std::span("texture"));
  EXPECT_FALSE(read_texture(bytes).has_value());
  for (auto spoil :
       {+[](kl_texture& t) { t.use = 0; }, +[](kl_texture& t) { t.channels = 3; }, +[](kl_texture& t) { t.bits = 24; },
        +[](kl_texture& t) { t.resource = 1; }, +[](kl_texture& t) { t.address[1] = 7; },
        +[](kl_texture& t) { t.width = 0; }, +[](kl_texture& t) { t.row_bytes = 19; },
        +[](kl_texture& t) { t.layer_bytes = 64; }, +[](kl_texture& t) { t.row_bytes = ~0ull / 2; },
        +[](kl_texture& t) { t.format = KL_TEXEL_FLOAT; }}) {
    kl_texture t = image();
    spoil(t);
    EXPECT_FALSE(is_read(t));
  }
}

}  // namespace
}  // namespace kernelift
