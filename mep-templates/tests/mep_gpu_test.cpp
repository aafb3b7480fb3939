// MEPs as a stranger runs them on an NVIDIA GPU: written here, built by nvcc, run as processes of their own. What a
// launch needed, a replay must have, or name what this GPU lacks.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>

#include "core/base/file.h"
#include "core/base/process.h"
#include "mep-templates/mep_writer.h"

namespace kernelift::templates {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr uint64_t kArena = 0x200000000000, kHigh = 0x7f2a00000000, kMiB = 1 << 20;

std::string why_no_gpu() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return "no NVIDIA driver here";
  auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  auto count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  int devices = 0;
  if (!init || !count || init(0) != 0 || count(&devices) != 0 || devices == 0) return "no NVIDIA GPU can be used";
  return "";
}

std::optional<fs::path> nvcc() {
  if (auto found = find_program("nvcc")) return found;
  std::error_code code;
  if (fs::exists("/usr/local/cuda/bin/nvcc", code)) return "/usr/local/cuda/bin/nvcc";
  return std::nullopt;
}

/// As installed: KERNELIFT_DATA, or beside this program.
fs::path templates() {
  if (const char* data = std::getenv("KERNELIFT_DATA"); data && *data) return fs::path(data) / "templates";
  return executable_folder().parent_path() / "lib" / "kernelift" / "templates";
}

class MepGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << why;
    if (!nvcc()) GTEST_SKIP() << "nvcc is not installed";
    program_.mep.slice_mode = "slice", program_.mep.captured_on = "cuda:test";
    program_.mep.compile_flags = {"-std=c++17"};
  }

  template <class T>
  std::string store(const std::vector<T>& values) {
    auto bytes = std::as_bytes(std::span(values));
    return *Mep::store(folder_, bytes);
  }
  void kernel(const std::string& name, const std::string& text) {
    program_.kernel_text = text, program_.mep.kernel_name = program_.mep.kernel_key = name;
  }
  MepInstance& instance(Dim3 grid, Dim3 block, uint32_t shared = 0) {
    MepInstance fresh;
    fresh.id = "i-" + std::to_string(program_.mep.instances.size());
    fresh.geometry = {grid, block, shared, false};
    program_.mep.instances.push_back(fresh);
    return program_.mep.instances.back();
  }
  template <class T>
  static void argument(MepInstance& instance, T value) {
    while (instance.arguments.size() % sizeof value) instance.arguments.push_back(std::byte{0});
    auto bytes = std::as_bytes(std::span(&value, 1));
    instance.parameters.push_back({uint32_t(instance.arguments.size()), uint32_t(sizeof value)});
    instance.arguments.insert(instance.arguments.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  MepRegion& region(MepInstance& instance, uint64_t address, const std::vector<T>& before, const std::vector<T>& after,
                    const std::string& element) {
    MepRegion fresh;
    fresh.address = address, fresh.size = before.size() * sizeof(T);
    fresh.before = store(before), fresh.after = store(after), fresh.element = element;
    fresh.reached_from = Origin::of_argument(instance.regions.size());
    instance.regions.push_back(fresh);
    return instance.regions.back();
  }
  template <class T>
  void variable(MepInstance& instance, const std::string& name, const std::vector<T>& before,
                const std::vector<T>& after, const std::string& element, bool constant) {
    instance.variables.push_back(
        {name, name, name, element, constant, before.size() * sizeof(T), store(before), store(after)});
  }

  void build() {
    ASSERT_TRUE(write_mep_program(program_, templates(), folder_).ok());
    ProcessOptions options;
    options.folder = folder_;
    auto built = run_process({nvcc()->string(), "-arch=native", "-o", "replay", "main.cu"}, options);
    ASSERT_TRUE(built.ok()) << built.error().message;
    ASSERT_TRUE(built->ok()) << built->out << built->err;
  }
  ProcessOutcome run(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), (folder_ / "replay").string());
    ProcessOptions options;
    options.timeout = std::chrono::seconds(60);
    auto outcome = run_process(arguments, options);
    EXPECT_TRUE(outcome.ok());
    if (!outcome.ok()) return {};
    std::printf("%s%s", outcome->out.c_str(), outcome->err.c_str());
    return *outcome;
  }

  /// Doubles a linked list of floats that a struct argument leads to: addresses in arguments and in memory.
  void list_of(uint64_t head, uint64_t tail) {
    kernel("doubled", R"(
struct Node { float value; int tag; Node* next; };
struct Walk { char pad; Node* first; };
__global__ void doubled(Walk walk, float* sum) {
  float total = 0;
  for (Node* node = walk.first; node; node = node->next) node->value *= 2, total += node->value;
  *sum = total;
}
)");
    struct Node {
      float value;
      int tag;
      uint64_t next;
    };
    struct Walk {
      char pad[8];
      uint64_t first;
    };
    auto& one = instance({1, 1, 1}, {1, 1, 1});
    std::vector<Node> heads = {{1, 7, tail + sizeof(Node)}, {9, 9, 0}}, tails = {{5, 5, 0}, {2, 8, 0}};
    auto heads_after = heads, tails_after = tails;
    heads_after[0].value = 2, tails_after[1].value = 4;
    argument(one, Walk{{}, head});
    argument(one, head + 8 * kMiB);
    region(one, head, heads, heads_after, "byte"), region(one, tail, tails, tails_after, "byte");
    for (auto& region : one.regions) region.pointer_stride = sizeof(Node), region.pointer_offsets = {8};
    region<float>(one, head + 8 * kMiB, {0}, {6}, "float");
  }

  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-mep-gpu"));
  fs::path folder_ = scratch_.path() / "mep";
  MepProgram program_;
};

TEST_F(MepGpuTest, RestoresMemoryAtTheRecordedAddressesAndPasses) {
  list_of(kHigh, kArena);
  build();
  auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("addresses: same as recorded"), HasSubstr("changed: the same"),
                                 HasSubstr("time  cold"), HasSubstr("\nPASS\n")));
}

TEST_F(MepGpuTest, FollowsAddressesInArgumentsAndMemoryWhereAllIsMoved) {
  list_of(kHigh, kArena);
  build();
  auto outcome = run({"--relocate"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("RELOCATED (3 of 3 buffers; rewritten: 2 in arguments, 1 in memory by type"),
                                 HasSubstr("changed: the same")));
}

TEST_F(MepGpuTest, MovesOnlyWhatIsRefusedAndSaysSo) {
  constexpr uint64_t kNobodyHasThis = 0x10000;
  list_of(kHigh, kNobodyHasThis);
  build();
  auto outcome = run({"--no-timing"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("PARTLY RELOCATED (1 of 3"), HasSubstr("0x10000 lies at")));
}

TEST_F(MepGpuTest, MapsNeighboursAndOverlapsOfSeveralLaunchesInOneReservation) {
  kernel("plus_one",
         "__global__ void plus_one(int* p, const int* q, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) "
         "p[i] += q[i]; }\n");
  // Instance 1's output begins inside instance 0's, three pages further; inputs lie in the page behind.
  for (uint64_t shift : {uint64_t(0), 3 * 2 * kMiB}) {
    constexpr int kCount = 3 << 20;
    std::vector<int> zeros(kCount), ones(kCount, 1);
    auto& one = instance({kCount / 256, 1, 1}, {256, 1, 1});
    uint64_t out = kArena + 3 * 32 * kMiB + shift, in = out + zeros.size() * 4;
    argument(one, out), argument(one, in), argument(one, kCount);
    region(one, out, zeros, ones, "int"), region(one, in, ones, ones, "int");
  }
  build();
  auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, Not(HasSubstr("RELOCATED")));
}

TEST_F(MepGpuTest, AllowsMoreThan48KiBOfSharedMemoryAndNamesWhatIsTooMuch) {
  kernel("reversed", R"(
__global__ void reversed(int* p, int n) {
  extern __shared__ int whole[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) whole[i] = p[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = whole[n - 1 - i];
}
)");
  std::vector<int> up(24000), down(24000);
  for (int i = 0; i < 24000; ++i) up[i] = i, down[i] = 23999 - i;
  auto& one = instance({1, 1, 1}, {1024, 1, 1}, 24000 * 4);
  argument(one, kArena), argument(one, 24000);
  region(one, kArena, up, down, "int");
  one.settings.carveout = 100, one.settings.max_dynamic_shared = 24000 * 4;
  auto& two = instance({1, 1, 1}, {1024, 1, 1}, 1 << 20);
  two.regions = program_.mep.instances[0].regions, two.arguments = program_.mep.instances[0].arguments;
  two.parameters = program_.mep.instances[0].parameters;
  build();
  EXPECT_EQ(run({"--instance", "i-0"}).exit_code, 0);
  auto outcome = run({"--instance", "i-1"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("1 048 576 bytes of shared memory in a block, where sm_"));
}

TEST_F(MepGpuTest, LaunchesClustersAsRecorded) {
  kernel("ranks", R"(
#include <cooperative_groups.h>
__global__ void ranks(int* p) {
  __shared__ int mine;
  auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) mine = blockIdx.x;
  cluster.sync();
  int* other = cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks());
  if (threadIdx.x == 0) p[blockIdx.x] = *other * 100 + cluster.num_blocks();
  cluster.sync();
}
)");
  std::vector<int> before(8), after = {104, 204, 304, 4, 504, 604, 704, 404};
  auto& one = instance({8, 1, 1}, {32, 1, 1});
  argument(one, kArena);
  region(one, kArena, before, after, "int");
  one.settings.known = true, one.settings.cluster = {4, 1, 1}, one.settings.priority = -1;
  build();
  EXPECT_EQ(run().exit_code, 0);
}

TEST_F(MepGpuTest, LaunchesCooperativelyAndNamesAGridThatCannotBeResident) {
  kernel("wave", R"(
#include <cooperative_groups.h>
__global__ void wave(int* p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = i;
  cooperative_groups::this_grid().sync();
  int other = p[n - 1 - i];
  cooperative_groups::this_grid().sync();
  p[i] = other;
}
)");
  std::vector<int> before(4096), after(4096);
  for (int i = 0; i < 4096; ++i) after[i] = 4095 - i;
  auto& one = instance({16, 1, 1}, {256, 1, 1});
  argument(one, kArena), argument(one, 4096);
  region(one, kArena, before, after, "int");
  one.geometry.cooperative = true;
  program_.mep.instances.push_back(program_.mep.instances[0]);
  program_.mep.instances[1].id = "i-1", program_.mep.instances[1].geometry.grid.x = 1 << 20;
  build();
  EXPECT_EQ(run({"--instance", "i-0"}).exit_code, 0);
  auto outcome = run({"--instance", "i-1"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("a cooperative launch of 1 048 576 blocks"));
}

TEST_F(MepGpuTest, RestoresModuleVariablesAndSetsTheirAddressesToItsOwn) {
  kernel("looked_up", R"(
static __constant__ float table[4];
__device__ int calls;
__device__ float factors[8];
__device__ float* hidden;
__global__ void looked_up(float* out, const float* const* rows, float* given, float* back) {
  int i = threadIdx.x;
  out[i] = table[i % 4] + rows[0][i % 4] * given[i % 4] + *hidden;
  if (i == 0) ++calls, back[0] = hidden == back + 8 ? 1 : 2;
}
)");
  constexpr uint64_t kFactors = 0x7fff10000000, kRows = kHigh, kOut = kHigh + 4 * kMiB, kBack = kHigh + 6 * kMiB;
  std::vector<float> table = {1, 2, 3, 4}, factors = {10, 20, 30, 40, 1, 2, 3, 4}, out(32), answer(32), back(16),
                     back_after(16);
  back[8] = back_after[8] = 0.5f, back_after[0] = 1;
  for (int i = 0; i < 32; ++i) answer[i] = table[i % 4] + factors[i % 4] * factors[4 + i % 4] + 0.5f;
  auto& one = instance({1, 1, 1}, {32, 1, 1});
  argument(one, kOut), argument(one, kRows), argument(one, kFactors + 16), argument(one, kBack);
  region(one, kOut, out, answer, "float");
  region<uint64_t>(one, kRows, {kFactors}, {kFactors}, "pointer");
  region(one, kBack, back, back_after, "float");
  variable(one, "table", table, table, "float", true);
  variable<int>(one, "calls", {3}, {4}, "int", false);
  variable(one, "factors", factors, factors, "float", false);
  variable<uint64_t>(one, "hidden", {kBack + 32}, {kBack + 32}, "pointer", false);
  one.symbols = {{-1, -1, 16, "factors", "factors", "factors", 16}, {1, -1, 0, "factors", "factors", "factors", 0}};
  build();
  auto outcome = run({"--no-timing"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("2 addresses of module variables set"));
  EXPECT_EQ(run({"--relocate"}).exit_code, 0) << "variables that hold addresses follow too";
}

TEST_F(MepGpuTest, FailsWithTheFirstAndTheWorstDifference) {
  kernel("fill", "__global__ void fill(float* p) { p[threadIdx.x] = threadIdx.x; }\n");
  std::vector<float> before(32), after(32);
  for (int i = 0; i < 32; ++i) after[i] = float(i);
  after[3] = 4, after[9] = 100;
  auto& one = instance({1, 1, 1}, {32, 1, 1});
  argument(one, kArena);
  region(one, kArena, before, after, "float");
  build();
  auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("2 differ, first at [3]: expected 4, got 3; worst at [9]: expected 100, got 9"));
}

TEST_F(MepGpuTest, JudgesRoundingThatVariesByTheKernelsOwnRuns) {
  // Off by up to 4e-5 from launch to launch, as a large sum by atomics is: variables that nobody recorded stay.
  kernel("noisy",
         "__device__ int launches;\n__global__ void noisy(float* p) {\n  p[threadIdx.x] = 5 + 2e-4f * (launches % 4) / "
         "3;\n"
         "  __syncthreads();\n  if (threadIdx.x == 0) ++launches;\n}\n");
  for (float off : {1.5e-4f, 0.05f}) {
    program_.mep.instances.clear();
    auto& one = instance({1, 1, 1}, {256, 1, 1});
    argument(one, kArena);
    region(one, kArena, std::vector<float>(256), std::vector<float>(256, 5 + off), "float");
    build();
    auto outcome = run({"--no-timing"});
    EXPECT_EQ(outcome.exit_code, off < 0.01f ? 0 : 1);
    EXPECT_THAT(outcome.out, HasSubstr("runs of the kernel as it is differ by"));
    EXPECT_EQ(run({"--no-timing", "--tolerance", "1e-6"}).exit_code, 1) << "what the user sets holds";
  }
}

TEST_F(MepGpuTest, SaysOfAKernelThatDoesNotRepeatThatItDoesNot) {
  kernel("stamp", "__global__ void stamp(int* p) { p[threadIdx.x] = int(clock64() >> 4); }\n");
  auto& one = instance({1, 1, 1}, {64, 1, 1});
  argument(one, kArena);
  region(one, kArena, std::vector<int>(64), std::vector<int>(64, 5), "int");
  build();
  auto outcome = run({"--no-timing"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out,
              HasSubstr("The kernel itself does not repeat: 64 of these differ between two runs of it here"));
}

TEST_F(MepGpuTest, NamesTheBytesThatTheDeviceLacks) {
  kernel("touch", "__global__ void touch(float* p) { p[0] = 1; }\n");
  auto& one = instance({1, 1, 1}, {1, 1, 1});
  argument(one, kArena);
  region<float>(one, kArena, {0}, {1}, "float").size = uint64_t(1) << 42;
  build();
  auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("instance i-0 needs"), HasSubstr("bytes of device memory and")));
}

TEST_F(MepGpuTest, SaysOfAFaultThatMemoryMayBeMissing) {
  kernel("stray", "__global__ void stray(float** p) { *p[0] = 1; }\n");
  auto& one = instance({1, 1, 1}, {1, 1, 1});
  argument(one, kArena);
  region<uint64_t>(one, kArena, {kArena + 512 * kMiB}, {kArena + 512 * kMiB}, "pointer");
  build();
  auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("FAIL  the kernel failed: cudaErrorIllegalAddress"),
                                 HasSubstr("the recorder did not find")));
}

TEST_F(MepGpuTest, GivesDeviceCodeTheStackAndTheHeapItHad) {
  kernel("greedy", R"(
__device__ __noinline__ int deep(int n) {
  volatile int here[256];
  here[n % 256] = n;
  return n == 0 ? 0 : here[n % 256] - n + 1 + deep(n - 1);
}
__global__ void greedy(int* p, int depth) {
  char* block = static_cast<char*>(malloc(100 << 20));
  p[0] = block ? 1 : 0;
  free(block);
  p[1] = deep(depth);
}
)");
  auto& one = instance({1, 1, 1}, {1, 1, 1});
  argument(one, kArena), argument(one, 20);
  region<int>(one, kArena, {0, 0}, {1, 20}, "int");
  one.settings.known = true, one.settings.stack_limit = 64 << 10, one.settings.heap_limit = 256 << 20;
  build();
  EXPECT_EQ(run().exit_code, 0);
}

}  // namespace
}  // namespace kernelift::templates
