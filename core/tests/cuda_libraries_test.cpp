// Finding NVIDIA's libraries, on trees made for the purpose.
#include "core/toolchain/cuda_libraries.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "core/base/file.h"

namespace kernelift {
namespace {

namespace fs = std::filesystem;

/// An environment variable for as long as the test runs.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { was_set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
}

TEST(CudaLibraries, PrefersTheFolderThatTheUserNames) {
  auto folder = TemporaryFolder::create("libraries-");
  ASSERT_TRUE(folder.ok());
  touch(folder->path() / "mine/libcupti.so.913");
  touch(folder->path() / "toolkit/lib64/libcupti.so.913");
  Variable named("KERNELIFT_CUDA_LIBRARIES", (folder->path() / "mine").string());
  Variable toolkit("CUDA_PATH", (folder->path() / "toolkit").string());
  auto found = find_cuda_library("libcupti.so", 913);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->parent_path().filename(), "mine");
}

TEST(CudaLibraries, FindsTheToolkitOfTheNvccOnThePath) {
  auto folder = TemporaryFolder::create("libraries-");
  ASSERT_TRUE(folder.ok());
  touch(folder->path() / "t/bin/nvcc");
  touch(folder->path() / "t/extras/CUPTI/lib64/libcupti.so.913.0.85");
  touch(folder->path() / "t/extras/CUPTI/lib64/libcupti.so.913");
  Variable path("PATH", (folder->path() / "t/bin").string());
  auto found = find_cuda_library("libcupti.so", 913);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->filename(), "libcupti.so.913");
}

TEST(CudaLibraries, FindsPipsWheelsBesideThePythonOnThePath) {
  auto folder = TemporaryFolder::create("libraries-");
  ASSERT_TRUE(folder.ok());
  touch(folder->path() / "venv/bin/python3");
  touch(folder->path() / "venv/lib/python3.12/site-packages/nvidia/cu913/lib/libnvJitLink.so.913");
  Variable path("PATH", (folder->path() / "venv/bin").string());
  EXPECT_TRUE(find_cuda_library("libnvJitLink.so", 913).ok());
}

TEST(CudaLibraries, FindsWhatCondaAndDistributionsInstall) {
  auto folder = TemporaryFolder::create("libraries-");
  ASSERT_TRUE(folder.ok());
  touch(folder->path() / "conda/lib/libcupti.so.913");
  touch(folder->path() / "python/bin/python3");
  touch(folder->path() / "python/lib/python3.12/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.914");
  Variable conda("CONDA_PREFIX", (folder->path() / "conda").string());
  Variable path("PATH", (folder->path() / "python/bin").string());
  EXPECT_TRUE(find_cuda_library("libcupti.so", 913).ok());
  EXPECT_TRUE(find_cuda_library("libcupti.so", 914).ok());
}

TEST(CudaLibraries, LooksInTheGivenToolkitsBeforeAnyOther) {
  auto folder = TemporaryFolder::create("libraries-");
  ASSERT_TRUE(folder.ok());
  for (const char* toolkit : {"given", "named"}) touch(folder->path() / toolkit / "lib64/libcupti.so.913");
  Variable named("CUDA_PATH", (folder->path() / "named").string());
  auto folders = cuda_library_folders({folder->path() / "given"});
  ASSERT_GE(folders.toolkits.size(), 2u);
  EXPECT_EQ(folders.toolkits[0], folder->path() / "given/lib64");
  EXPECT_EQ(folders.toolkits[1], folder->path() / "named/lib64");
}

TEST(CudaLibraries, DoesNotTakeAnotherMajorVersion) {
  auto folder = TemporaryFolder::create("libraries-");
  ASSERT_TRUE(folder.ok());
  touch(folder->path() / "libcupti.so.9131");
  touch(folder->path() / "libcupti.so.912");
  Variable named("KERNELIFT_CUDA_LIBRARIES", folder->path().string());
  auto found = find_cuda_library("libcupti.so", 913);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().exit, Exit::Environment);
  EXPECT_NE(found.error().message.find("pip install nvidia-cuda-cupti"), std::string::npos);
}

}  // namespace
}  // namespace kernelift
