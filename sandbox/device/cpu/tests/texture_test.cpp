// Textures and surfaces on the CPU device, against values computed by hand from the CUDA C++ Programming Guide,
// "Texture Fetching" and "Surface Functions".
#include <cmath>
#include <numeric>

#include "core/model/texture_object.h"
#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

/// A texture over `texels`, row after row, with coordinates that count texels, nearest texel, zero borders.
template <class T>
kl_texture texture_over(const std::vector<T>& texels, unsigned width, unsigned height = 0, unsigned depth = 0) {
  kl_texture texture = {};
  texture.memory = reinterpret_cast<uint64_t>(texels.data());
  texture.width = width, texture.height = height, texture.depth = depth;
  texture.use = KL_TEXTURE, texture.channels = 1, texture.bits = 8 * sizeof(T);
  texture.format = std::is_floating_point_v<T> ? KL_TEXEL_FLOAT
                   : std::is_signed_v<T>       ? KL_TEXEL_SIGNED
                                               : KL_TEXEL_UNSIGNED;
  texture.row_bytes = uint64_t(width) * sizeof(T);
  texture.layer_bytes = texture.row_bytes * (height ? height : 1);
  for (auto& address : texture.address) address = KL_ADDRESS_CLAMP;
  return texture;
}
uint64_t handle(const kl_texture& texture) { return reinterpret_cast<uint64_t>(&texture); }

/// out[i] = tex1D(in[i]).
struct OneAxis {
  TestImage image = build_with_headers(
      "__global__ void k(cudaTextureObject_t t, const float* at, float* out) {"
      "  out[threadIdx.x] = tex1D<float>(t, at[threadIdx.x]); }"
      "__global__ void whole(cudaTextureObject_t t, const float* at, int* out) {"
      "  out[threadIdx.x] = tex1D<int>(t, at[threadIdx.x]); }");
  std::vector<float> operator()(const kl_texture& texture, const std::vector<float>& at) const {
    std::vector<float> out(at.size());
    const LaunchOutcome outcome = image.run("1k", grid(1, unsigned(at.size())), handle(texture), at.data(), out.data());
    EXPECT_TRUE(outcome.ok()) << outcome.detail;
    return out;
  }
};
using Floats = std::vector<float>;

TEST(Texture, TheNearestTexelIsTheOneThatTheCoordinateLiesIn) {
  const Floats texels = {10, 20, 30, 40};
  EXPECT_EQ(OneAxis()(texture_over(texels, 4), {0, 0.99f, 1, 2.5f, 3.99f}), Floats({10, 10, 20, 30, 40}));
}

TEST(Texture, LinearFilteringWeighsTheTexelsOnBothSidesOfTheCentre) {
  const Floats texels = {10, 20, 30, 40};
  kl_texture texture = texture_over(texels, 4);
  texture.linear = 1;
  // xB = x - 0.5; at a texel's centre its own value, at its edge the mean with the neighbour.
  EXPECT_EQ(OneAxis()(texture, {0.5f, 1, 1.75f, 0, 4}), Floats({10, 15, 22.5f, 10, 40}));
}

TEST(Texture, WeightsHaveEightBitsBehindThePoint) {
  const Floats texels = {0, 256};
  kl_texture texture = texture_over(texels, 2);
  texture.linear = 1;
  auto at = [](float fraction) { return 0.5f + fraction / 256; };
  EXPECT_EQ(OneAxis()(texture, {at(3), at(3.25f), at(3.75f), at(0.5f), at(2.5f), at(255.75f)}),
            Floats({3, 3, 4, 1, 3, 256}));
}

TEST(Texture, AddressingModesRepeatMirrorClampOrGiveTheBorder) {
  const Floats texels = {1, 2, 3, 4};
  kl_texture texture = texture_over(texels, 4);
  texture.normalized = 1;
  texture.border[0] = 9;
  const Floats at = {-0.3f, 0.1f, 1.1f, 1.6f, 2.1f, -1.1f};
  const std::pair<int, Floats> kModes[] = {{KL_ADDRESS_WRAP, {3, 1, 1, 3, 1, 4}},
                                           {KL_ADDRESS_CLAMP, {1, 1, 4, 4, 4, 1}},
                                           {KL_ADDRESS_MIRROR, {2, 1, 4, 2, 1, 4}},
                                           {KL_ADDRESS_BORDER, {9, 1, 9, 9, 9, 9}}};
  OneAxis fetch;
  for (auto& [mode, expected] : kModes) {
    texture.address[0] = static_cast<unsigned char>(mode);
    EXPECT_EQ(fetch(texture, at), expected) << mode;
  }
  // With coordinates that count texels, repeating and mirroring are clamping.
  texture.normalized = 0, texture.address[0] = KL_ADDRESS_WRAP;
  EXPECT_EQ(fetch(texture, {-1, 5}), Floats({1, 4}));
  // Beside a border the filter weighs its colour.
  texture.address[0] = KL_ADDRESS_BORDER, texture.linear = 1;
  EXPECT_EQ(fetch(texture, {0, 4}), Floats({5, 6.5f}));
  // A repeated texture is filtered across its seam.
  texture.normalized = 1, texture.address[0] = KL_ADDRESS_WRAP;
  EXPECT_EQ(fetch(texture, {0, 1}), Floats({2.5f, 2.5f}));
}

TEST(Texture, IntegersAreReadAsTheyAreOrAsFractions) {
  OneAxis fetch;
  const std::vector<uint8_t> bytes = {0, 51, 255, 128};
  kl_texture texture = texture_over(bytes, 4);
  const Floats at = {0, 1, 2, 3};
  std::vector<int> out(4);
  ASSERT_TRUE(fetch.image.run("5whole", grid(1, 4), handle(texture), at.data(), out.data()).ok());
  EXPECT_EQ(out, std::vector<int>({0, 51, 255, 128}));
  texture.as_float = 1;
  EXPECT_EQ(fetch(texture, at), Floats({0, 0.2f, 1, 128 / 255.f}));
  texture.linear = 1;
  EXPECT_EQ(fetch(texture, {2}), Floats({0.5f * (51 / 255.f) + 0.5f}));

  const std::vector<int8_t> signed_bytes = {-128, -127, 127, -1};
  texture = texture_over(signed_bytes, 4);
  ASSERT_TRUE(fetch.image.run("5whole", grid(1, 4), handle(texture), at.data(), out.data()).ok());
  EXPECT_EQ(out, std::vector<int>({-128, -127, 127, -1}));
  texture.as_float = 1;
  EXPECT_EQ(fetch(texture, at), Floats({-1, -1, 1, -1 / 127.f}));

  const std::vector<uint16_t> words = {65535, 13107};
  texture = texture_over(words, 2);
  texture.as_float = 1;
  EXPECT_EQ(fetch(texture, {0, 1}), Floats({1, 0.2f}));

  const std::vector<uint16_t> halves = {0x3c00, 0xc000, 0x3555};  // 1, -2, 0.333251953125
  texture = texture_over(halves, 3);
  texture.format = KL_TEXEL_FLOAT;
  EXPECT_EQ(fetch(texture, {0, 1, 2}), Floats({1, -2, 0.333251953125f}));
}

TEST(Texture, TwoAndThreeAxesLayersAndVectorsAreFetched) {
  const TestImage image = build_with_headers(R"(
__global__ void plane(cudaTextureObject_t t, float x, float y, float4* out) { *out = tex2D<float4>(t, x, y); }
__global__ void box(cudaTextureObject_t t, float x, float y, float z, float* out) { *out = tex3D<float>(t, x, y, z); }
__global__ void layer(cudaTextureObject_t t, float x, float y, int l, float2* out) {
  out[0] = tex2DLayered<float2>(t, x, y, l);
  out[1] = tex2DLayeredLod<float2>(t, x, y, l, 0);
}
__global__ void gather(cudaTextureObject_t t, float x, float y, float4* out) { *out = tex2Dgather<float4>(t, x, y, 1); }
__global__ void fetch(cudaTextureObject_t t, int4* out) {
  out[threadIdx.x] = tex1Dfetch<int4>(t, int(threadIdx.x) - 1);
})");
  // 2 x 2 texels of four channels: channel c of texel i is 10 i + c.
  Floats texels(64);
  for (unsigned i = 0; i < texels.size(); ++i) texels[i] = float(10 * (i / 4) + i % 4);
  kl_texture texture = texture_over(texels, 2, 2);
  texture.channels = 4, texture.row_bytes = 2 * 16, texture.layer_bytes = 4 * 16, texture.linear = 1;
  float out[4] = {};
  ASSERT_TRUE(image.run("5plane", grid(1, 1), handle(texture), 1.25f, 1.0f, out).ok());
  // alpha = 0.75, beta = 0.5 between texels 0, 1 and 2, 3.
  for (int c = 0; c < 4; ++c) EXPECT_EQ(out[c], 0.5f * (7.5f + 27.5f) + float(c));
  ASSERT_TRUE(image.run("6gather", grid(1, 1), handle(texture), 1.0f, 1.0f, out).ok());
  EXPECT_EQ(Floats(out, out + 4), Floats({21, 31, 11, 1}));

  Floats box(8);
  std::iota(box.begin(), box.end(), 0.f);
  texture = texture_over(box, 2, 2, 2);
  texture.linear = 1;
  ASSERT_TRUE(image.run("3box", grid(1, 1), handle(texture), 1.0f, 1.0f, 1.0f, out).ok());
  EXPECT_EQ(out[0], 3.5f);
  ASSERT_TRUE(image.run("3box", grid(1, 1), handle(texture), 0.5f, 0.5f, 1.25f, out).ok());
  EXPECT_EQ(out[0], 3.0f);
  ASSERT_TRUE(image.run("5plane", grid(1, 1), handle(texture), 0.5f, 0.5f, out).ok());
  EXPECT_EQ(Floats(out, out + 4), Floats({0, 0, 0, 0})) << "channels that are not there";

  texture = texture_over(texels, 2, 2, 4);
  texture.channels = 2, texture.row_bytes = 2 * 8, texture.layer_bytes = 4 * 8, texture.layered = 1;
  for (auto [layer, texel] : {std::pair(1, 4), std::pair(-3, 0), std::pair(9, 12)}) {
    ASSERT_TRUE(image.run("5layer", grid(1, 1), handle(texture), 1.5f, 0.0f, layer, out).ok());
    EXPECT_EQ(out[0], texels[2 * texel + 2]) << layer;
    EXPECT_EQ(out[3], texels[2 * texel + 3]) << layer;
  }

  const std::vector<int16_t> words = {-7, 8, 9, -10};
  texture = texture_over(words, 2);
  texture.channels = 2, texture.resource = KL_RESOURCE_LINEAR;
  int fetched[16] = {};
  ASSERT_TRUE(image.run("5fetch", grid(1, 4), handle(texture), fetched).ok());
  EXPECT_EQ(std::vector<int>(fetched + 4, fetched + 6), std::vector<int>({-7, 8}));
  EXPECT_EQ(std::vector<int>(fetched + 8, fetched + 10), std::vector<int>({9, -10}));
  EXPECT_EQ(fetched[0], 0) << "before the memory";
  EXPECT_EQ(fetched[12], 0) << "behind the memory";
}

TEST(Surface, AccessesCountBytesAlongXAndAreIgnoredClampedOrFatalOutside) {
  const TestImage image = build_with_headers(R"(
__global__ void copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  int x = threadIdx.x, y = threadIdx.y;
  uchar4 v = surf2Dread<uchar4>(from, x * 4, y);
  surf2Dwrite(make_uchar4(v.w, v.z, v.y, v.x), to, x * 4, y);
}
__global__ void outside(cudaSurfaceObject_t s, float* out) {
  out[0] = surf1Dread<float>(s, -4, cudaBoundaryModeZero);
  out[1] = surf1Dread<float>(s, -4, cudaBoundaryModeClamp);
  out[2] = surf1Dread<float>(s, 400, cudaBoundaryModeClamp);
  surf1Dwrite(50.f, s, 12, cudaBoundaryModeZero);
  surf1Dwrite(60.f, s, 12, cudaBoundaryModeClamp);
}
__global__ void fatal(cudaSurfaceObject_t s) { surf1Dwrite(1.f, s, 12); }
__global__ void layers(cudaSurfaceObject_t s) { surf2DLayeredwrite(short(threadIdx.x), s, 2, 1, threadIdx.x); }
__global__ void box(cudaSurfaceObject_t s) { surf3Dwrite(make_float2(1, 2), s, 8, 0, 1); }
__global__ void again(cudaSurfaceObject_t s, float* out) {
  float a = surf1Dread<float>(s, 0);
  surf1Dwrite(a + 1, s, 0);
  *out = surf1Dread<float>(s, 0);
})");
  std::vector<uint8_t> from(24), to(24);
  std::iota(from.begin(), from.end(), uint8_t(1));
  auto bytes = [](std::vector<uint8_t>& texels) {
    kl_texture surface = texture_over(texels, 3, 2);
    surface.use = KL_SURFACE, surface.channels = 4, surface.row_bytes = 12;
    return surface;
  };
  const kl_texture source = bytes(from), target = bytes(to);
  Geometry plane = grid(1, 3);
  plane.block.y = 2;
  const LaunchOutcome copied = image.run("4copy", plane, handle(source), handle(target));
  ASSERT_TRUE(copied.ok()) << copied.detail;
  for (int i = 0; i < 24; ++i) EXPECT_EQ(to[i], from[i / 4 * 4 + 3 - i % 4]);

  Floats line = {1, 2, 3}, out(3);
  const kl_texture surface = texture_over(line, 3);
  ASSERT_TRUE(image.run("7outside", grid(1, 1), handle(surface), out.data()).ok());
  EXPECT_EQ(out, Floats({0, 1, 3}));
  EXPECT_EQ(line, Floats({1, 2, 60}));
  EXPECT_FALSE(image.run("5fatal", grid(1, 1), handle(surface)).ok());
  ASSERT_TRUE(image.run("5again", grid(1, 1), handle(surface), out.data()).ok());
  EXPECT_EQ(out[0], 2) << "what a thread wrote, it reads";

  std::vector<int16_t> layered(12, -1);
  const kl_texture layers = texture_over(layered, 2, 2, 3);
  ASSERT_TRUE(image.run("6layers", grid(1, 3), handle(layers)).ok());
  EXPECT_EQ(layered, std::vector<int16_t>({-1, -1, -1, 0, -1, -1, -1, 1, -1, -1, -1, 2}));

  Floats cells(8);
  kl_texture box = texture_over(cells, 2, 1, 2);
  box.channels = 2, box.row_bytes = box.layer_bytes = 16;
  ASSERT_TRUE(image.run("3box", grid(1, 1), handle(box)).ok());
  EXPECT_EQ(cells, Floats({0, 0, 0, 0, 0, 0, 1, 2}));
}

TEST(Texture, CubemapsAreRefusedByTheirInstruction) {
  const auto lowered = lower_text(
      "__global__ void k(unsigned long long t, float* p) { float x, y, z, w;"
      "  asm(\"tex.cube.v4.f32.f32 {%0, %1, %2, %3}, [%4, {%5, %5, %5, %5}];\" : \"=f\"(x), \"=f\"(y), \"=f\"(z),"
      "      \"=f\"(w) : \"l\"(t), \"f\"(*p)); *p = x; }");
  ASSERT_FALSE(lowered.ok());
  EXPECT_NE(lowered.error().message.find("does not support inline PTX \"tex.cube.v4.f32.f32"), std::string::npos)
      << lowered.error().message;
}

}  // namespace
}  // namespace kernelift::cpu
