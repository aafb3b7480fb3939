// Generated launchers on a real GPU, in a program built by nvcc: the tuned code runs if its guard holds, the original
// otherwise, and no CUDA error is left behind. The "tuned" code deliberately writes other numbers than the original, so
// that the test sees which of the two ran. Skipped without a GPU or nvcc.
#include <gtest/gtest.h>

#include <cstring>

#include "core/base/file.h"
#include "core/base/process.h"
#include "reintegrate/embed/launcher.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

const char* const kProgram = R"cu(
#include "kernelift_scale.cuh"
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>
static __global__ void scale(float* data, int n, float factor) {
  if (blockIdx.x == 0 && threadIdx.x < n) data[threadIdx.x] *= factor;
}

static float* data;
static void fill() { std::vector<float> ones(64, 1.0f); cudaMemcpy(data, ones.data(), 256, cudaMemcpyHostToDevice); }
static const char* ran() {
  float value = 0;
  cudaDeviceSynchronize();
  cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost);
  const char* who = value == 1000 ? "tuned" : value == 0.5f ? "original" : "neither";
  fill();
  return who;
}
static void say(const char* what) {
  const char* error = cudaGetErrorName(cudaGetLastError());
  printf("%s: %s, %s\n", what, ran(), error);
}

int main(int argc, char** argv) {
  cudaMalloc(&data, 4096);
  fill();
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const bool capture_first = argc > 1 && !strcmp(argv[1], "capture");
  if (argc > 1 && !strcmp(argv[1], "threads")) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i)
      threads.emplace_back([] { for (int k = 0; k < 100; ++k) kernelift_scale::launch(scale, 1, 64)(data, 64, 0.5f); });
    for (auto& thread : threads) thread.join();
    say("threads");
    return 0;
  }
  auto captured = [&](const char* what) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    kernelift_scale::launch(scale, 1, 64, 0, stream)(data, 64, 0.5f);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    say(what);
  };
  if (capture_first) captured("first launch in a capture");
  kernelift_scale::launch(scale, 1, 64)(data, 64, 0.5f), say("verified");
  kernelift_scale::launch(scale, 1, 64, 0, stream)(data, 64, 0.5f), say("on a stream");
  captured("in a capture");
  kernelift_scale::launch(scale, 1, 64)(data, 63, 0.5f), say("another scalar");
  kernelift_scale::launch(scale, 1, 32)(data, 64, 0.5f), say("another block");
  kernelift_scale::launch(scale, 2, 64)(data, 64, 0.5f), say("another grid");
  kernelift_scale::launch(scale, 1, 64)(nullptr, 0, 0.5f);
  float* odd = data;
  int n = 64; float factor = 0.5f; void* arguments[] = {&odd, &n, &factor};
  cudaError_t code = kernelift_scale::launch_packed(scale, (const void*)scale, 1, 64, arguments, 0, stream);
  printf("packed says %s; ", cudaGetErrorName(code)), say("packed");
  cudaDeviceReset();
  cudaMalloc(&data, 4096), fill();
  kernelift_scale::launch(scale, 1, 64)(data, 64, 0.5f), say("after a reset");
  cudaSetDevice(99);  // An error of the application that it has not read yet.
  kernelift_scale::launch(scale, 1, 64)(data, 64, 0.5f), say("the application's error");
  return 0;
}
)cu";

/// Writes 1000; the original halves.
const char* const kTuned = R"ptx(.version 7.8
.target sm_@ARCH@
.address_size 64
.visible .entry _Z5scalePfif(.param .u64 p0, .param .u32 p1, .param .f32 p2)
{
	.reg .b64 %rd<4>;
	.reg .b32 %r<3>;
	.reg .f32 %f<2>;
	ld.param.u64 %rd1, [p0];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	mov.f32 %f1, 0f447A0000;
	st.global.f32 [%rd3], %f1;
	ret;
}
)ptx";

class EmbedOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    auto asked = run_process({"nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader", "-i", "0"});
    nvcc = find_program("nvcc").value_or("/usr/local/cuda/bin/nvcc");
    if (!asked.ok() || !asked->ok() || !fs::exists(nvcc)) GTEST_SKIP() << "no NVIDIA GPU or no nvcc here";
    for (char c : asked->out.substr(0, asked->out.find('\n')))
      if (std::isdigit(static_cast<unsigned char>(c))) arch += c;
    auto made = TemporaryFolder::create("kernelift-embed");
    ASSERT_TRUE(made.ok());
    folder.emplace(std::move(*made));
  }

  /// Builds the program with its header, in which `from` is replaced by `to`.
  void build(const std::string& from = "", const std::string& to = "") {
    Mep mep;
    mep.kernel_name = "scale";
    mep.parameters = {{"data", "float *", "float", false, ""},
                      {"n", "int", "", false, "int"},
                      {"factor", "float", "", false, "float"}};
    struct {
      uint64_t data = 0x7f0000000200;
      int32_t n = 64;
      float factor = 0.5f;
    } packed;
    MepInstance instance;
    instance.geometry = {{1, 1, 1}, {64, 1, 1}, 0, false};
    instance.parameters = {{0, 8}, {8, 4}, {12, 4}};
    instance.arguments.resize(sizeof packed);
    std::memcpy(instance.arguments.data(), &packed, sizeof packed);
    mep.instances = {instance};
    Candidate candidate;
    candidate.source = source;
    std::string ptx = tuned;
    ptx.replace(ptx.find("@ARCH@"), 6, arch);
    auto guard = shape_guard(mep, "original", candidate);
    ASSERT_TRUE(guard.ok());
    auto text = launcher_text(mep, candidate, {ptx, "_Z5scalePfif", "clang", "cuda", "a test", "", {}}, *guard, bound,
                              {"k.cu"});
    ASSERT_TRUE(text.ok()) << text.error().message;
    ASSERT_NE(text->find(from), text->npos);
    text->replace(text->find(from), from.size(), to);
    ASSERT_TRUE(write_atomically(folder->path() / "kernelift_scale.cuh", *text).ok());
    ASSERT_TRUE(write_atomically(folder->path() / "k.cu", program).ok());
    ProcessOptions options;
    options.folder = folder->path();
    auto built = run_process({nvcc.string(), "-std=c++17", "-arch=sm_" + arch, "k.cu", "-o", "k"}, options);
    ASSERT_TRUE(built.ok() && built->ok()) << (built.ok() ? built->err : built.error().message);
  }
  std::string run(const std::string& argument = "", const std::string& variable = "", const std::string& value = "") {
    ProcessOptions options;
    if (!variable.empty()) options.environment = {{variable, value}};
    options.timeout = std::chrono::seconds(60);
    auto ran = run_process({(folder->path() / "k").string(), argument}, options);
    return ran.ok() ? ran->out + ran->err : ran.error().message;
  }
  std::optional<TemporaryFolder> folder;
  fs::path nvcc;
  std::string arch, program = kProgram, tuned = kTuned, source = "changed";
  std::vector<BoundVariable> bound;
};

constexpr const char* kExpected =
    "verified: tuned, cudaSuccess\non a stream: tuned, cudaSuccess\nin a capture: original, cudaSuccess\n"
    "another scalar: original, cudaSuccess\nanother block: original, cudaSuccess\nanother grid: original, cudaSuccess\n"
    "packed says cudaSuccess; packed: tuned, cudaSuccess\nafter a reset: tuned, cudaSuccess\n"
    "the application's error: original, cudaErrorInvalidDevice\n";

TEST_F(EmbedOnGpu, RunsTheTunedCodeIfTheGuardHoldsAndTheOriginalOtherwise) {
  build();
  EXPECT_EQ(run(), kExpected);
  // A capture that is open at the first launch is not disturbed.
  EXPECT_EQ(run("capture"), std::string("first launch in a capture: original, cudaSuccess\n") + kExpected);
  // Many threads load the code once, and launches are counted if KERNELIFT_EMBED_REPORT is set.
  std::string file = (folder->path() / "launches").string();
  EXPECT_EQ(run("threads", "KERNELIFT_EMBED_REPORT", file), "threads: tuned, cudaSuccess\n");
  auto counted = read_text(file);
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ(*counted, "kernelift_scale 1600 tuned 0 original\n");
  std::string off = run("", "KERNELIFT_EMBED", "0");
  EXPECT_NE(off.find("verified: original, cudaSuccess\n"), std::string::npos) << off;
  EXPECT_EQ(off.find("tuned"), std::string::npos) << off;
}

TEST_F(EmbedOnGpu, BehavesTheSameThroughTheDriverFunctionsUsedWithOlderToolkits) {
  build("CUDART_VERSION >= 12080", "0");
  EXPECT_EQ(run(), kExpected);
}

/// The same source, compiled differently, is right for any arguments that a graph may be given later.
TEST_F(EmbedOnGpu, IsCapturedInGraphsIfItIsRightForAnyArguments) {
  source = "original";
  build();
  std::string all = run();
  EXPECT_NE(all.find("in a capture: tuned, cudaSuccess\nanother scalar: tuned, cudaSuccess\nanother block: original, "
                     "cudaSuccess\n"),
            std::string::npos)
      << all;
}

/// The tuned code has its own copies of constants, which must equal the application's at each launch.
TEST_F(EmbedOnGpu, ReadsTheConstantsThatTheApplicationHasSet) {
  program = R"cu(
#include "kernelift_scale.cuh"
#include <cstdio>
static __constant__ float taps[4];
static __global__ void scale(float* data, int n, float factor) { if (threadIdx.x < n) data[threadIdx.x] = taps[1] * factor; }
int main() {
  float* data; float value; cudaStream_t stream; cudaGraph_t graph; cudaGraphExec_t exec;
  cudaMalloc(&data, 4096);
  cudaStreamCreate(&stream);
  auto set = [](float to) { float all[4] = {0, to, 0, 0}; cudaMemcpyToSymbol(taps, all, sizeof all); };
  auto launch = [&](cudaStream_t on) { kernelift_scale::bind(taps).launch(scale, 1, 64, 0, on)(data, 64, 0.5f); };
  auto say = [&] { cudaDeviceSynchronize(); cudaMemcpy(&value, data, 4, cudaMemcpyDeviceToHost); printf("%g %s\n", value, cudaGetErrorName(cudaGetLastError())); };
  set(3), launch(0), say();
  set(5), launch(stream), say();
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), launch(stream), cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  set(7), cudaGraphLaunch(exec, stream), say();
  kernelift_scale::bind(taps).launch(scale, 1, 32)(data, 64, 0.5f), say();
  cudaDeviceReset(), cudaMalloc(&data, 4096);
  set(9), launch(0), say();
}
)cu";
  bound = {{"taps", "taps", 16}};
  // The tuned code leaves the factor out; the launch in the graph is the original, which applies it.
  tuned.replace(tuned.find(".visible"), 0, ".visible .const .align 4 .b8 taps[16];\n");
  tuned.replace(tuned.find("mov.f32 %f1, 0f447A0000"), 23, "ld.const.f32 %f1, [taps+4]");
  build();
  EXPECT_EQ(run(), "3 cudaSuccess\n5 cudaSuccess\n3.5 cudaSuccess\n3.5 cudaSuccess\n9 cudaSuccess\n");
}

TEST_F(EmbedOnGpu, RunsTheOriginalIfThePtxCannotBeLoaded) {
  build(".version 7.8", ".version 19.8");
  std::string broken = run();
  EXPECT_NE(broken.find("verified: original, cudaSuccess\n"), std::string::npos) << broken;
  EXPECT_EQ(broken.find("tuned"), std::string::npos) << broken;
}

}  // namespace
}  // namespace kernelift::reintegrate
