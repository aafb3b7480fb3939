// Textures and surfaces of a launch, asked of a driver that is a table of functions: what is captured of them, where,
// and what is refused by name.
#include <numeric>
#include <random>

#include "extractor/record/cuda/snapshot.h"
#include "extractor/record/tests/cuda_recorder_rig.h"

namespace kernelift::record {
namespace {

using ::testing::HasSubstr;

constexpr CUtexObject kTexture = 3, kOverMemory = 7;
constexpr CUsurfObject kSurface = 4;
const auto kArray = reinterpret_cast<CUarray>(0x770);
constexpr unsigned kWidth = 5, kHeight = 3, kLayers = 2;

std::vector<float> texels, plain;  ///< Of the array; of memory under a texture.
CUresourcetype resource_of_texture = CU_RESOURCE_TYPE_ARRAY;
unsigned flags_of_array = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST;

CudaDriver driver_with_textures() {
  CudaDriver driver = fake_driver();
  driver.cuTexObjectGetResourceDesc = [](CUDA_RESOURCE_DESC* told, CUtexObject handle) {
    *told = {};
    told->resType = resource_of_texture;
    if (handle == kTexture) return told->res.array.hArray = kArray, CUDA_SUCCESS;
    if (handle != kOverMemory) return CUDA_ERROR_INVALID_VALUE;
    told->resType = CU_RESOURCE_TYPE_LINEAR;
    told->res.linear = {reinterpret_cast<CUdeviceptr>(plain.data()), CU_AD_FORMAT_FLOAT, 2,
                        plain.size() * sizeof(float)};
    return CUDA_SUCCESS;
  };
  driver.cuSurfObjectGetResourceDesc = [](CUDA_RESOURCE_DESC* told, CUsurfObject handle) {
    *told = {};
    told->res.array.hArray = kArray;
    return handle == kSurface ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuTexObjectGetResourceViewDesc = [](CUDA_RESOURCE_VIEW_DESC*, CUtexObject) {
    return CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuTexObjectGetTextureDesc = [](CUDA_TEXTURE_DESC* told, CUtexObject) {
    *told = {};
    told->addressMode[0] = CU_TR_ADDRESS_MODE_MIRROR, told->filterMode = CU_TR_FILTER_MODE_LINEAR;
    told->flags = CU_TRSF_NORMALIZED_COORDINATES, told->borderColor[1] = 0.5f;
    return CUDA_SUCCESS;
  };
  driver.cuArray3DGetDescriptor = [](CUDA_ARRAY3D_DESCRIPTOR* told, CUarray) {
    *told = {kWidth, kHeight, kLayers, CU_AD_FORMAT_FLOAT, 1, flags_of_array};
    return CUDA_SUCCESS;
  };
  driver.cuMemcpy3DAsync = [](const CUDA_MEMCPY3D* copy, CUstream) {
    for (size_t y = 0; y < copy->Height; ++y) {
      const size_t row = (copy->srcZ * kHeight + copy->srcY + y) * kWidth * sizeof(float);
      std::memcpy(static_cast<char*>(copy->dstHost) + y * copy->dstPitch,
                  reinterpret_cast<const char*>(texels.data()) + row + copy->srcXInBytes, copy->WidthInBytes);
    }
    return CUDA_SUCCESS;
  };
  return driver;
}

class CudaTextures : public ::testing::Test {
 protected:
  void SetUp() override {
    texels.resize(kWidth * kHeight * kLayers), plain.resize(64);
    std::iota(texels.begin(), texels.end(), 1.f);
    resource_of_texture = CU_RESOURCE_TYPE_ARRAY;
    flags_of_array = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST;
    const auto address = reinterpret_cast<uint64_t>(plain.data());
    device_memory = {{address, plain.size() * sizeof(float)}};
    allocations.added(address, plain.size() * sizeof(float), MemoryKind::Device, nullptr);
  }
  Result<Snapshots::Taken> take(std::vector<uint64_t> arguments) {
    CapturedInstance instance;
    instance.id = "x-0001";
    for (uint32_t i = 0; i < arguments.size(); ++i) instance.parameters.push_back({8 * i, 8});
    auto bytes = std::as_bytes(std::span(arguments));
    instance.arguments.assign(bytes.begin(), bytes.end());
    return snapshots.before({nullptr, code, instance, "launch 1 of k", uint64_t(1) << 30, false}, archive, turn);
  }

  TemporaryFolder scratch = std::move(*TemporaryFolder::create("kernelift-cuda-textures-test"));
  const CudaDriver driver = driver_with_textures();
  Allocations allocations;
  Modules modules;
  WorkerThreads& workers = *new WorkerThreads(1);  // Its threads outlive the test.
  Snapshots snapshots{driver, allocations, modules, workers};
  Archive archive{scratch.path().string()};
  std::mutex turn;
  KernelCode code = [] {
    KernelCode made;
    made.textures = true;
    return made;
  }();
};

TEST_F(CudaTextures, ArraysMemoryAndDescriptionsOfTheObjectsAmongTheArgumentsAreCaptured) {
  auto taken = take({kTexture, kSurface, kOverMemory, 12345});
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  CapturedInstance& instance = taken->instance;
  for (float& texel : texels) texel += 100;
  ASSERT_TRUE(snapshots.after(nullptr, instance).ok());
  ASSERT_TRUE(archive.writer().finish_instance(instance).ok());
  auto capture = Capture::open(scratch.path() / ("process-" + std::to_string(getpid())));
  ASSERT_TRUE(capture.ok()) << capture.error().message;

  std::map<uint64_t, kl_texture> objects;
  std::map<std::string, const CapturedRegion*> memory;
  const std::vector<CapturedRegion>& regions = capture->instances().at(0).regions;
  for (auto& region : regions)
    if (region.kind != MemoryKind::Texture) memory[name(region.kind)] = &region;
    else if (auto object = read_texture(*capture->load(region.before))) {
      objects[region.address] = *object;
      EXPECT_EQ(region.before, region.after);
    }
  ASSERT_EQ(objects.size(), 3u);
  ASSERT_EQ(memory.size(), 2u);
  const kl_texture &texture = objects[kTexture], &surface = objects[kSurface], &over = objects[kOverMemory];
  EXPECT_EQ(texture_text(texture),
            "a texture over an array of 5 x 3 in layers: 2 float, linear filter, coordinates from 0 to 1");
  EXPECT_EQ(texture.address[0], KL_ADDRESS_MIRROR);
  EXPECT_EQ(texture.border[1], 0.5f);
  EXPECT_EQ(texture_text(surface), "a surface over an array of 5 x 3 in layers: 2 float");
  EXPECT_EQ(surface.memory, texture.memory) << "one array";
  EXPECT_EQ(texture_text(over).substr(0, 45), "a texture over linear memory of 32 float2, ne");

  const CapturedRegion &array = *memory["array"], &linear = *memory["device"];
  EXPECT_EQ(array.address, texture.memory);
  EXPECT_EQ(array.reached_from.text(), "0x3 +0");
  EXPECT_EQ(linear.address, reinterpret_cast<uint64_t>(plain.data()));
  EXPECT_EQ(linear.reached_from.text(), "0x7 +0");
  auto value = [&](const Image& image, size_t i) {
    float found;
    std::memcpy(&found, capture->load(image)->data() + i * sizeof found, sizeof found);
    return found;
  };
  for (size_t i = 0; i < texels.size(); ++i) {
    EXPECT_EQ(value(array.before, i), float(i + 1));
    EXPECT_EQ(value(array.after, i), float(i + 101));
  }
}

TEST_F(CudaTextures, AnyPartOfAnArrayIsReadWhereItsBytesAre) {
  Textures textures(driver);
  const uint64_t arguments[] = {kTexture};
  const Parameter parameters[] = {{0, 8}};
  auto found = textures.among(std::as_bytes(std::span(arguments)), parameters);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const uint64_t place = found->at(0).object.memory, size = texels.size() * sizeof(float);
  EXPECT_TRUE(textures.holds(place + size - 1));
  EXPECT_FALSE(textures.holds(place + size));
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const uint64_t begin = random() % size, bytes = 1 + random() % (size - begin);
    std::vector<char> read(bytes);
    ASSERT_EQ(textures.copy(read.data(), place + begin, bytes, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(std::memcmp(read.data(), reinterpret_cast<const char*>(texels.data()) + begin, bytes), 0)
        << begin << " +" << bytes;
  }
}

TEST_F(CudaTextures, WhatCannotBeMadeAgainIsRefusedByName) {
  auto why = [&] {
    auto taken = take({kTexture});
    return taken.ok() ? "" : taken.error().message;
  };
  resource_of_texture = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  EXPECT_THAT(why(), HasSubstr("over a mipmapped array, which is not captured"));
  resource_of_texture = CU_RESOURCE_TYPE_ARRAY, flags_of_array = CUDA_ARRAY3D_CUBEMAP;
  EXPECT_THAT(why(), HasSubstr("over a cubemap, which is not captured"));
  auto none = take({99, reinterpret_cast<uint64_t>(plain.data())});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, HasSubstr("none of its arguments is the handle of one"));
  code.textures = false;
  EXPECT_TRUE(take({99, reinterpret_cast<uint64_t>(plain.data())}).ok()) << "a kernel without textures";
}

}  // namespace
}  // namespace kernelift::record
