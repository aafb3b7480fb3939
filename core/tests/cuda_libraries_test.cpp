// Finding NVIDIA's libraries, in folders made for the tests.
#include "core/toolchain/cuda_libraries.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

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

class CudaLibraries : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TemporaryFolder::create("libraries-");
    ASSERT_TRUE(made.ok()) << made.error().message;
    folder.emplace(std::move(*made));
  }
  fs::path in(const std::string& name) const { return folder->path() / name; }
  void touch(const std::string& name) const {
    fs::create_directories(in(name).parent_path());
    std::ofstream(in(name)) << "x";
  }
  std::optional<TemporaryFolder> folder;
};

TEST_F(CudaLibraries, ArePreferredFromTheFolderThatTheUserNames) {
  touch("mine/libcupti.so.913");
  touch("toolkit/lib64/libcupti.so.913");
  Variable named("KERNELIFT_CUDA_LIBRARIES", in("mine").string());
  Variable toolkit("CUDA_PATH", in("toolkit").string());
  auto found = find_cuda_library("libcupti.so", 913);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->parent_path().filename(), "mine");
}

TEST_F(CudaLibraries, AreFoundInTheToolkitOfTheNvccOnPath) {
  touch("t/bin/nvcc");
  touch("t/extras/CUPTI/lib64/libcupti.so.913.0.85");
  touch("t/extras/CUPTI/lib64/libcupti.so.913");
  Variable path("PATH", in("t/bin").string());
  auto found = find_cuda_library("libcupti.so", 913);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->filename(), "libcupti.so.913");
}

TEST_F(CudaLibraries, AreFoundInPipsWheelsBesideThePythonOnPath) {
  touch("venv/bin/python3");
  touch("venv/lib/python3.12/site-packages/nvidia/cu913/lib/libnvJitLink.so.913");
  Variable path("PATH", in("venv/bin").string());
  EXPECT_TRUE(find_cuda_library("libnvJitLink.so", 913).ok());
}

TEST_F(CudaLibraries, AreFoundWhereCondaAndDistributionsInstallThem) {
  touch("conda/lib/libcupti.so.913");
  touch("python/bin/python3");
  touch("python/lib/python3.12/dist-packages/nvidia/cuda_cupti/lib/libcupti.so.914");
  Variable conda("CONDA_PREFIX", in("conda").string());
  Variable path("PATH", in("python/bin").string());
  EXPECT_TRUE(find_cuda_library("libcupti.so", 913).ok());
  EXPECT_TRUE(find_cuda_library("libcupti.so", 914).ok());
}

TEST_F(CudaLibraries, AreLookedForInTheGivenToolkitsFirst) {
  for (const char* toolkit : {"given", "named"}) touch(std::string(toolkit) + "/lib64/libcupti.so.913");
  Variable named("CUDA_PATH", in("named").string());
  auto folders = cuda_library_folders({in("given")});
  ASSERT_GE(folders.toolkits.size(), 2u);
  EXPECT_EQ(folders.toolkits[0], in("given/lib64"));
  EXPECT_EQ(folders.toolkits[1], in("named/lib64"));
}

TEST_F(CudaLibraries, OfAnotherMajorVersionAreNotTaken) {
  touch("libcupti.so.9131");
  touch("libcupti.so.912");
  Variable named("KERNELIFT_CUDA_LIBRARIES", folder->path().string());
  auto found = find_cuda_library("libcupti.so", 913);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().exit, Exit::Environment);
  EXPECT_NE(found.error().message.find("pip install nvidia-cuda-cupti"), std::string::npos);
}

}  // namespace
}  // namespace kernelift
