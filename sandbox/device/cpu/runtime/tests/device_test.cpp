// The device, its limits, error texts, and what is exported.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "sandbox/device/cpu/runtime/tests/registered.h"

using namespace kernelift;
using namespace kernelift::cudart;

namespace {

class Device : public RuntimeTest {};
class Exports : public ::testing::Test {};

std::set<std::string> exported(const std::string& library) {
  std::set<std::string> names;
  FILE* pipe = popen(("nm -D --defined-only " + library).c_str(), "r");
  char line[512];
  while (pipe && std::fgets(line, sizeof line, pipe)) {
    std::istringstream words(line);
    std::string address, kind, name;
    words >> address >> kind >> name;
    if (kind != "A") names.insert(name.substr(0, name.find('@')));
  }
  EXPECT_EQ(pclose(pipe), 0);
  return names;
}

TEST_F(Device, PropertiesAndAttributesAgree) {
  cudaDeviceProp p;
  CHECK_CUDA(cudaGetDeviceProperties(&p, 0));
  auto attribute = [](int number) {
    int value = -1;
    CHECK_CUDA(cudaDeviceGetAttribute(&value, number, 0));
    return value;
  };
  EXPECT_EQ(attribute(1), p.maxThreadsPerBlock);
  EXPECT_EQ(attribute(8), int(p.sharedMemPerBlock));
  EXPECT_EQ(attribute(10), p.warpSize);
  EXPECT_EQ(attribute(16), p.multiProcessorCount);
  EXPECT_EQ(attribute(75) * 10 + attribute(76), p.major * 10 + p.minor);
  EXPECT_EQ(attribute(97), int(p.sharedMemPerBlockOptin));
  EXPECT_GT(attribute(13), 0);
  EXPECT_EQ(p.warpSize, 32);
  EXPECT_NE(std::strstr(p.name, "CPU"), nullptr);  // No timing of ours may pass for a GPU's.
  EXPECT_GT(p.totalGlobalMem, size_t(1) << 28);
}

TEST_F(Device, OnlyNumberZeroExists) {
  int count = 0, device = -1;
  cudaDeviceProp p;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 1);
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(1));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, -1));
  CHECK_CUDA(cudaSetDevice(0));
  char id[32];
  CHECK_CUDA(cudaDeviceGetPCIBusId(id, sizeof id, 0));
  CHECK_CUDA(cudaDeviceGetByPCIBusId(&device, id));
  EXPECT_EQ(device, 0);
}

TEST_F(Device, LimitsAreKeptAndUnknownOnesRefused) {
  size_t value = 0;
  CHECK_CUDA(cudaDeviceSetLimit(0, 4096));
  CHECK_CUDA(cudaDeviceGetLimit(&value, 0));
  EXPECT_EQ(value, 4096u);
  EXPECT_CUDA(cudaErrorUnsupportedLimit, cudaDeviceSetLimit(77, 1));
}

TEST_F(Device, ErrorsHaveCudasNamesAndTexts) {
  EXPECT_STREQ(cudaGetErrorName(0), "cudaSuccess");
  EXPECT_STREQ(cudaGetErrorString(0), "no error");
  EXPECT_STREQ(cudaGetErrorName(700), "cudaErrorIllegalAddress");
  EXPECT_STREQ(cudaGetErrorString(700), "an illegal memory access was encountered");
  EXPECT_STREQ(cudaGetErrorString(710), "device-side assert triggered");
  EXPECT_STREQ(cudaGetErrorString(9), "invalid configuration argument");
  EXPECT_STREQ(cudaGetErrorName(12345), "unrecognized error code");
}

TEST_F(Device, WhatIsMissingAnswersNotSupportedAndSaysSoOnce) {
  testing::internal::CaptureStderr();
  EXPECT_CUDA(cudaErrorNotSupported, cudaMallocMipmappedArray());
  EXPECT_CUDA(cudaErrorNotSupported, cudaMallocMipmappedArray());
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cudaMallocMipmappedArray"), std::string::npos);
  EXPECT_EQ(said.find("cudaMallocMipmappedArray"), said.rfind("cudaMallocMipmappedArray"));
  CHECK_CUDA(cudaDeviceSynchronize());
}

TEST_F(Exports, AreCudaNamesOnly) {
  for (const std::string& name : exported(KL_CUDART)) {
    bool cuda = name.starts_with("cuda") || name.starts_with("__cuda");
    EXPECT_TRUE(cuda) << name;
  }
}

TEST_F(Exports, HoldEveryNameOfCudasRuntime) {
  std::string real = "/usr/local/cuda/lib64/libcudart.so.13";
  if (!std::ifstream(real)) GTEST_SKIP() << "no CUDA 13 toolkit at /usr/local/cuda to compare with";
  std::set<std::string> ours = exported(KL_CUDART);
  for (const std::string& name : exported(real)) EXPECT_TRUE(ours.contains(name)) << name;
}

/// docs/cuda-runtime.md names every exported function, and none that is not there.
TEST_F(Exports, AreAllInTheTable) {
  std::ifstream file(KL_SOURCE_DIR "/docs/cuda-runtime.md");
  std::stringstream text;
  text << file.rdbuf();
  std::string table = text.str();
  for (const std::string& name : exported(KL_CUDART)) {
    if (name.ends_with("_ptsz") || name.ends_with("_ptds")) continue;
    EXPECT_NE(table.find("`" + name + "`"), std::string::npos) << name;
  }
}

}  // namespace
