// A MEP's program as a stranger gets it: builds with nvcc alone, and says clearly what it lacks.
#include "mep-templates/mep_writer.h"

#include <gmock/gmock.h>

#include <cstring>

#include "core/base/file.h"
#include "core/base/process.h"

namespace kernelift::templates {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr const char* kKernel = R"(
namespace ns {
__constant__ float table[4];
namespace { __device__ int calls; }
struct View { char tag; float* data; };
template <class T, int N>
__global__ void scale(T* out, View view, const float* const* rows, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) atomicAdd(&calls, 1);
  if (i < n) out[i] = FACTOR * table[i % N] * view.data[i] + rows[0][i];
}
template __global__ void scale<float, 4>(float*, View, const float* const*, int);
}
)";

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

class MepWriterTest : public ::testing::Test {
 protected:
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-mep-writer-test"));
  fs::path folder_ = scratch_.path() / "mep";

  /// Two launches of ns::scale<float, 4> on made-up memory, with right answers.
  MepProgram sample() {
    constexpr int kCount = 1000;
    constexpr uint64_t kOut = 0x7f2a00000000, kData = kOut + 4096, kRow = kOut + 16384, kRows = kOut + (64 << 20);
    std::vector<float> zeros(kCount), data(kCount), row(kCount), answer(kCount), table = {1, 2, 3, 4};
    for (int i = 0; i < kCount; ++i)
      data[i] = float(i), row[i] = 0.5f, answer[i] = 2.0f * table[i % 4] * data[i] + row[i];
    std::vector<uint64_t> rows = {kRow};
    MepProgram program;
    program.kernel_text = kKernel;
    program.origin = "src/scale.cu:7";
    Mep& mep = program.mep;
    mep.kernel_key = "ns::scale<float,4>(float*,ns::View,float const* const*,int)",
    mep.kernel_name = "ns::scale<float, 4>";
    mep.parameters = {{"out", "T *", "float", false, ""},
                      {"view", "View", "", false, ""},
                      {"rows", "const float *const *", "const float *", true, ""},
                      {"n", "int", "", false, "int"}};
    mep.slice_mode = "slice", mep.proven = true, mep.unit = "src/scale.cu", mep.captured_on = "cpu";
    mep.compile_flags = {"-std=c++17", "-DFACTOR=2.0f", "-DUNUSED"};
    auto store = [&](auto& values) { return *Mep::store(folder_, bytes_of(values)); };
    for (int k = 0; k < 2; ++k) {
      MepInstance instance;
      instance.id = "abcd-000" + std::to_string(k), instance.held_out = k == 1;
      instance.geometry = {{8, 1, 1}, {128, 1, 1}, 0, false};
      instance.microseconds = 12.5, instance.weight = 1 - k;
      instance.arguments.resize(36);
      uint64_t pointers[] = {kOut, kData, kRows};
      int n = kCount;
      std::memcpy(&instance.arguments[0], &pointers[0], 8), std::memcpy(&instance.arguments[16], &pointers[1], 8);
      std::memcpy(&instance.arguments[24], &pointers[2], 8), std::memcpy(&instance.arguments[32], &n, 4);
      instance.parameters = {{0, 8}, {8, 16}, {24, 8}, {32, 4}};
      auto region = [&](uint64_t address, uint64_t size, std::string before, std::string after, std::string from,
                        int parameter, std::string element) {
        instance.regions.push_back(
            {address, size, MemoryKind::Device, before, after, Origin::parse(from), parameter, element});
      };
      region(kOut, 4 * kCount, store(zeros), store(answer), "arg 0", 0, "float");
      region(kData, 4 * kCount, store(data), store(data), "arg 1 +8", 1, "byte");
      region(kRows, 8, store(rows), store(rows), "arg 2", 2, "pointer");
      region(kRow, 4 * kCount, store(row), store(row), "0x7f2a04000000 +0", -1, "float");
      std::vector<int> before = {k}, after = {k + 1};
      instance.variables.push_back(
          {"_ZN2ns5tableE", "ns::table", "ns::table", "float", true, 16, store(table), store(table)});
      instance.variables.push_back({"_ZN2ns12_GLOBAL__N_15callsE", "ns::(anonymous)::calls", "ns::calls", "int", false,
                                    4, store(before), store(after)});
      mep.instances.push_back(std::move(instance));
    }
    return program;
  }
};

TEST_F(MepWriterTest, WritesNothingOfKerneliftsOwnPlaces) {
  ASSERT_TRUE(write_mep_program(sample(), MEP_TEMPLATES, folder_).ok());
  for (auto name : {"main.cu", "kernelift_replay.h", "CMakeLists.txt", "README.md", "kernel.cu"}) {
    auto text = read_text(folder_ / name);
    ASSERT_TRUE(text.ok()) << name;
    EXPECT_THAT(*text, Not(HasSubstr(MEP_TEMPLATES))) << name;
    EXPECT_THAT(*text, Not(HasSubstr("@"))) << name;
  }
  auto readme = *read_text(folder_ / "README.md");
  EXPECT_THAT(readme, HasSubstr("nvcc main.cu"));
  EXPECT_THAT(readme, HasSubstr("held out: for verification only"));
  EXPECT_THAT(readme, HasSubstr("proven to compile to the same code"));
  EXPECT_THAT(readme, HasSubstr("12.500 us in the application"));
  EXPECT_THAT(readme, HasSubstr("1e-5 for float"));
  auto mep = Mep::read(folder_);
  ASSERT_TRUE(mep.ok()) << mep.error().message;
  EXPECT_EQ(mep->instances.size(), 2u);
}

TEST_F(MepWriterTest, SaysSoWhenTheTemplatesAreOfAnotherVersion) {
  fs::path other = scratch_.path() / "templates";
  fs::copy(MEP_TEMPLATES, other, fs::copy_options::recursive);
  auto main = *read_text(other / "common/main.in");
  ASSERT_TRUE(write_atomically(other / "common/main.in", main + "// @NEWS_OF_TOMORROW@\n").ok());
  auto written = write_mep_program(sample(), other, folder_);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().exit, Exit::Environment);
  EXPECT_THAT(written.error().message, HasSubstr("common/main.in asks for @NEWS_OF_TOMORROW@"));
  EXPECT_THAT(written.error().message, HasSubstr("different versions"));
  EXPECT_FALSE(fs::exists(folder_ / "main.cu"));
}

TEST_F(MepWriterTest, QuotesInARepeatedFlagReachCMakeAsTheyAre) {
  auto program = sample();
  program.mep.compile_command = {"/usr/local/cuda/bin/nvcc", "-Xptxas", "--name=\"a $b\"", "-c", "scale.cu"};
  ASSERT_TRUE(write_mep_program(program, MEP_TEMPLATES, folder_).ok());
  EXPECT_THAT(*read_text(folder_ / "CMakeLists.txt"), HasSubstr(R"("SHELL:-Xptxas '--name=\"a \$b\"'")"));
}

TEST_F(MepWriterTest, TellsHowTheApplicationWasCompiledAndRepeatsWhatMatters) {
  auto program = sample();
  program.mep.captured_on = "cuda:NVIDIA H200:sm_90:580.159";
  program.mep.compile_command = {
      "/usr/local/cuda/bin/nvcc", "-O3",       "-rdc=true", "-Xptxas",     "-dlcm=ca", "--maxrregcount", "64",
      "-extended-lambda",         "-Iinclude", "-DN=2",     "-arch=sm_80", "-c",       "scale.cu"};
  program.mep.tolerance = {1e-4, 0};
  auto& instance = program.mep.instances[0];
  instance.settings.known = true, instance.settings.cluster = {4, 2, 1};
  instance.regions[1].element = "{float@0,int@4}8";
  instance.in_vivo = {"cold", "median of launches like it, by CUPTI", 0, 40};
  ASSERT_TRUE(write_mep_program(program, MEP_TEMPLATES, folder_).ok());
  auto readme = *read_text(folder_ / "README.md");
  EXPECT_THAT(readme, HasSubstr("nvcc -rdc=true -Xptxas -dlcm=ca --maxrregcount 64 -extended-lambda main.cu"));
  EXPECT_THAT(readme, HasSubstr("nvcc -arch=sm_90 -rdc=true"));
  program.mep.architecture = "sm_80";
  ASSERT_TRUE(write_mep_program(program, MEP_TEMPLATES, folder_).ok());
  EXPECT_THAT(*read_text(folder_ / "README.md"), HasSubstr("nvcc -gencode=arch=compute_80,code=sm_90 -rdc=true"));
  EXPECT_THAT(readme, HasSubstr("Tolerance of floating-point buffers: 0.0001 relative"));
  EXPECT_THAT(readme, HasSubstr("compared with the cold time here"));
  EXPECT_THAT(readme, HasSubstr("launched with clusters of 8 blocks"));
  EXPECT_THAT(readme, HasSubstr("-Iinclude -DN=2 -arch=sm_80 -c scale.cu"));
  auto main = *read_text(folder_ / "main.cu");
  EXPECT_THAT(main, HasSubstr("kl_instances, 2, 0.0001}"));
  EXPECT_THAT(main, HasSubstr("kl_lanes_0[] = {{kl_replay::kFloat, 0}, {kl_replay::kInt32, 4}, }"));
}

class MepForNvccTest : public MepWriterTest {};

TEST_F(MepForNvccTest, BuildsWithNvccAloneAndReplaysOrNamesWhatTheMachineLacks) {
  auto nvcc = find_program("nvcc");
  if (!nvcc && fs::exists("/usr/local/cuda/bin/nvcc")) nvcc = "/usr/local/cuda/bin/nvcc";
  if (!nvcc) GTEST_SKIP() << "nvcc is not installed";
  ASSERT_TRUE(write_mep_program(sample(), MEP_TEMPLATES, folder_).ok());
  ProcessOptions options;
  options.folder = folder_;
  auto built = run_process({nvcc->string(), "-o", "replay", "main.cu"}, options);
  ASSERT_TRUE(built.ok()) << built.error().message;
  ASSERT_TRUE(built->ok()) << built->out << built->err;
  EXPECT_EQ(built->err, "") << "no warnings";
  auto run = run_process({(folder_ / "replay").string(), "--no-timing"});
  ASSERT_TRUE(run.ok());
  if (run->exit_code == 3) {
    EXPECT_THAT(run->err, HasSubstr("CUDA device"));
    return;
  }
  EXPECT_EQ(run->exit_code, 0) << run->out << run->err;
  EXPECT_THAT(run->out, HasSubstr("PASS  arg 0 (out)"));
}

}  // namespace
}  // namespace kernelift::templates
