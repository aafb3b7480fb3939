// The compile pool with recipes that work, recipes that crash the compiler, and many requests at once.
#include "sandbox/compile/compile_pool.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "core/compiler/nvjitlink.h"
#include "core/compiler/tests/warm_front_end.h"
#include "sandbox/jail/layers.h"

namespace kernelift::sandbox {
namespace {

[[maybe_unused]] auto* const warm = testing::AddGlobalTestEnvironment(new WarmFrontEnd(WarmFrontEnd::Place::Anywhere));

constexpr const char* kKernel =
    "__global__ void axpy(const float* x, float* y, int n, float a) {\n"
    "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i] + "
    "1.5f;\n}\n";

std::unique_ptr<CompilePool> start(CompilePoolOptions options = {}) {
  options.few = true;
  auto pool = CompilePool::start(std::move(options));
  EXPECT_TRUE(pool.ok()) << pool.error().message;
  return std::move(*pool);
}

Recipe passes(const char* text) {
  Recipe recipe;
  recipe.passes = text;
  return recipe;
}

TEST(CompilePool, MakesTheSameImageTwiceAndSkipsTheFrontEndTheSecondTime) {
  auto pool = start();
  CompileReply first = pool->compile(kKernel, {}), second = pool->compile(kKernel, {});
  ASSERT_TRUE(first.ok()) << first.detail;
  EXPECT_EQ(first.image, second.image);
  EXPECT_FALSE(first.bitcode.empty());
  EXPECT_TRUE(second.bitcode.empty());
  ASSERT_EQ(first.kernels.size(), 1u);
  EXPECT_GT(first.kernels[0].code_bytes, 0u);
  EXPECT_LT(second.frontend_seconds, first.frontend_seconds);
}

/// An application's include folder with the state folder in it, as -I. gives: headers, and recorded memory.
struct Application {
  TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-pool-test"));
  std::filesystem::path mep = folder.path() / ".kernelift" / "mep" / "k", data = mep / "data";
  Application() {
    for (auto& [file, text] : std::initializer_list<std::pair<std::filesystem::path, const char*>>{
             {folder.path() / "used.h", "#define USED 1\n"},
             {folder.path() / "unused.h", "#define UNUSED 1\n"},
             {data / "answer.bin", "1, 2, 3"}})
      EXPECT_TRUE(write_atomically(file, text).ok());
  }
  CompilePoolOptions options() const {
    CompilePoolOptions options;
    options.frontend.flags = {"-I" + folder.path().string()};
    options.frontend.folder = mep.string();
    options.readable = {folder.path(), mep}, options.hidden = {data};
    return options;
  }
  static std::string including(const std::string& file) { return "#include \"" + file + "\"\n" + kKernel; }
};

TEST(CompilePool, ReadsNoRecordedDataNotEvenForTheKernelsOwnSource) {
  Application application;
  auto pool = start(application.options());
  for (auto& path : {application.data / "answer.bin", std::filesystem::path("data/answer.bin")}) {
    CompileReply reply = pool->compile_own("__device__ const unsigned char answer[] = {\n#embed \"" + path.string() +
                                           "\"\n};\n" + kKernel);
    EXPECT_EQ(reply.outcome, Outcome::CompileFailed) << path;
  }
  CompileReply own = pool->compile_own(Application::including("used.h"));
  EXPECT_TRUE(own.ok()) << own.detail;
}

TEST(CompilePool, ReadsForACandidateTheHeadersThatTheKernelsOwnSourceReadAndNoOthers) {
  Application application;
  auto pool = start(application.options());
  const CompileReply own = pool->compile_own(Application::including("used.h"));
  ASSERT_TRUE(own.ok()) << own.detail;
  const CompileReply same = pool->compile(Application::including("used.h") + "// again\n", {});
  EXPECT_TRUE(same.ok()) << same.detail;
  // Admission compares spellings, so what the jail holds back is asked for by a spelling of the slice's.
  std::filesystem::rename(application.folder.path() / "unused.h", application.folder.path() / "used.h");
  CompileReply other = pool->compile(Application::including("used.h") + "// another file of that name\n", {});
  EXPECT_EQ(other.outcome, Outcome::CompileFailed) << other.detail;
}

TEST(CompilePool, MakesPtx) {
  CompilePoolOptions options;
  options.target = CompileTarget::Ptx;
  auto pool = start(std::move(options));
  CompileReply reply = pool->compile(kKernel, {});
  ASSERT_TRUE(reply.ok()) << reply.detail;
  EXPECT_NE(reply.image.find(".entry"), std::string::npos);
}

TEST(CompilePool, CompilesASourceForOneArchitectureToCodeForAnother) {
  CompilePoolOptions options;
  options.target = CompileTarget::Ptx;
  options.frontend.arch = "sm_75", options.frontend.machine = "sm_90";
  auto pool = start(std::move(options));
  const std::string own = "__global__ void k(int* p) {\n#if __CUDA_ARCH__ == 750\n  *p = 1234;\n#endif\n}\n";
  ASSERT_TRUE(pool->compile_own(own).ok());
  CompileReply reply = pool->compile(own, {});
  ASSERT_TRUE(reply.ok()) << reply.detail;
  EXPECT_NE(reply.image.find(".target sm_90"), std::string::npos) << reply.image;
  EXPECT_NE(reply.image.find("1234"), std::string::npos) << reply.image;
}

TEST(CompilePool, SplitsASumOfCallsIntoPartialSums) {
  CompilePoolOptions options;
  options.target = CompileTarget::Ptx;
  auto pool = start(std::move(options));
  const std::string source =
      "__device__ float term(float x) { return expf(x); }\n"
      "__global__ void rows(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  float sum = 0;\n#pragma unroll 1\n  for (int j = 0; j < n; j++) sum += term(x[i * n + j]);\n  y[i] = "
      "sum;\n}\n";
  CompileReply own = pool->compile_own(source);
  ASSERT_TRUE(own.ok()) << own.detail;
  auto sums = [](const std::string& ptx) {
    size_t count = 0;
    for (size_t at = 0; (at = ptx.find("add.", at)) != ptx.npos; ++at)
      count += ptx.substr(at, 12).find(".f32") != std::string::npos;
    return count;
  };
  size_t most = 0;
  for (auto& image : pool->compile_roundings(source, own)) most = std::max(most, sums(image));
  EXPECT_GE(most, sums(own.image) + 6) << "eight partial sums are added";
}

TEST(CompilePool, ReversesTheBlockOrderOfAtomicSums) {
  CompilePoolOptions options;
  options.target = CompileTarget::Ptx;
  auto pool = start(std::move(options));
  auto reversed = [&](const std::string& body) {
    const std::string source =
        "__global__ void sum(const float* x, float* y, int* n, volatile int* turn) {\n" + body + "}\n";
    CompileReply own = pool->compile_own(source);
    EXPECT_TRUE(own.ok()) << own.detail;
    std::vector<std::string> images = pool->compile_roundings(source, own);
    std::erase_if(images, [](auto& ptx) { return ptx.find("%nctaid.") == ptx.npos; });
    return images;
  };
  const std::string wait = "  while (*turn != blockIdx.x) {}\n",
                    add = "  atomicAdd(y + blockIdx.y, x[blockIdx.x * blockDim.x + threadIdx.x]);\n";
  std::vector<std::string> images = reversed(add);
  ASSERT_EQ(images.size(), 1u);
  for (auto name : {"%nctaid.x", "%nctaid.y"}) EXPECT_NE(images[0].find(name), std::string::npos) << images[0];
  EXPECT_TRUE(reversed("  y[blockIdx.x] += x[blockIdx.x];\n").empty());
  EXPECT_TRUE(reversed("  atomicAdd(n, (int)x[blockIdx.x]);\n").empty()) << "exact in any order";
  EXPECT_TRUE(reversed("  atomicAdd(y, x[threadIdx.x]);\n").empty()) << "all blocks add the same";
  EXPECT_TRUE(reversed(wait + add).empty()) << "blocks that wait for earlier ones";
}

TEST(CompilePool, FusesASumOfProductsWithEitherOfThem) {
  CompilePoolOptions options;
  options.target = CompileTarget::Ptx;
  auto pool = start(std::move(options));
  for (std::string sign : {"+", "-"}) {
    const std::string source =
        "__global__ void rotate(const float* x, float* y) { y[0] = x[0] * x[1] " + sign + " x[2] * x[3]; }\n";
    CompileReply own = pool->compile_own(source);
    ASSERT_TRUE(own.ok()) << own.detail;
    std::vector<std::string> images = pool->compile_roundings(source, own);
    auto fused = [](const std::string& ptx) { return ptx.find("fma.rn.f32") != std::string::npos; };
    EXPECT_TRUE(fused(own.image)) << "with one of them";
    EXPECT_GE(std::ranges::count_if(images, fused), 1) << "with the other: " << sign;
    EXPECT_LT(std::ranges::count_if(images, fused), static_cast<long>(images.size())) << "with none: " << sign;
  }
}

TEST(CompilePool, MakesMachineCodeAndReportsItsResources) {
  if (auto opened = open_cubin_compiler(); !opened.ok()) GTEST_SKIP() << opened.error().message;
  CompilePoolOptions options;
  options.target = CompileTarget::Cubin;
  auto pool = start(std::move(options));
  CompileReply reply = pool->compile(kKernel, {});
  ASSERT_TRUE(reply.ok()) << reply.detail;
  EXPECT_EQ(reply.image.substr(1, 3), "ELF");
  ASSERT_EQ(reply.kernels.size(), 1u);
  EXPECT_GT(reply.kernels[0].registers, 4u);
  EXPECT_EQ(reply.kernels[0].spill_bytes, 0u);
  CompileReply greedy = pool->compile(
      "__global__ void hoard(float* y) { __shared__ float tile[20000]; tile[threadIdx.x] = y[0]; __syncthreads(); y[1] "
      "= tile[threadIdx.x ^ 1]; }",
      {});
  EXPECT_EQ(greedy.outcome, Outcome::OverResources) << greedy.detail;
  EXPECT_NE(greedy.detail.find("80000, limit"), std::string::npos) << greedy.detail;
}

/// A kernel that may use 64 registers and calls, three times, a function that would like to use 100.
std::string bounded_kernel(const std::string& attribute) {
  return "__device__ " + attribute + R"( float heavy(const float* p, int n, float seed) {
  float a[80];
  #pragma unroll
  for (int i = 0; i < 80; ++i) a[i] = p[i] * seed;
  for (int k = 0; k < n; ++k) {
    #pragma unroll
    for (int i = 0; i < 80; ++i) a[i] = a[i] * a[(i * 7 + 1) % 80] + p[k * 80 + i];
  }
  float sum = 0;
  #pragma unroll
  for (int i = 0; i < 80; ++i) sum += a[i] * a[(i + 1) % 80];
  return sum;
}
__device__ int count(int n, const int* p) { return n < 2 ? p[n] : count(n - 1, p) + count(n - 2, p + 1); }
__global__ void __launch_bounds__(256, 4) bounded(const float* p, float* out, int n) {
  float sum = count(n, (const int*)p);
  if (n & 1) sum += heavy(p, n, sum);
  if (n & 2) sum += heavy(p + 1, n, sum * 2);
  if (n & 4) sum += heavy(p + 2, n / 2, sum);
  out[threadIdx.x] = sum;
})";
}

TEST(CompilePool, InlinesLargeFunctionsAsNvccDoes) {
  CompilePoolOptions options;
  options.target = CompileTarget::Ptx;
  auto pool = start(std::move(options));
  auto calls = [&](const std::string& attribute) {
    CompileReply reply = pool->compile(bounded_kernel(attribute), {});
    EXPECT_TRUE(reply.ok()) << reply.detail;
    EXPECT_EQ(reply.image.find(".visible .func"), std::string::npos) << "a function that is called is internal";
    return reply.image.find("_Z5heavyPKfif,") != std::string::npos;
  };
  EXPECT_FALSE(calls(""));
  EXPECT_TRUE(calls("__noinline__"));
}

TEST(CompilePool, KeepsCalledFunctionsWithinTheKernelsLaunchBounds) {
  if (auto opened = open_cubin_compiler(); !opened.ok()) GTEST_SKIP() << opened.error().message;
  CompilePoolOptions options;
  options.target = CompileTarget::Cubin;
  auto pool = start(std::move(options));
  CompileReply reply = pool->compile(bounded_kernel("__noinline__"), {});
  ASSERT_TRUE(reply.ok()) << reply.detail;
  EXPECT_LE(reply.kernels.at(0).registers, 64u);
}

TEST(CompilePool, AppliesARecipeToOneCompileOnly) {
  auto pool = start();
  Recipe odd;
  odd.unroll_threshold = 0, odd.inline_threshold = 0, odd.options = {"-unroll-runtime=false"}, odd.vectorize = false;
  CompileReply plain = pool->compile(kKernel, {}), changed = pool->compile(kKernel, odd),
               again = pool->compile(kKernel, {});
  ASSERT_TRUE(plain.ok() && changed.ok() && again.ok()) << changed.detail;
  EXPECT_NE(plain.image, changed.image);
  EXPECT_EQ(plain.image, again.image);
}

TEST(CompilePool, AcceptsKnownFastMathFlagsOnly) {
  auto pool = start();
  Recipe fast;
  fast.fast_math = {"contract"};
  EXPECT_TRUE(pool->compile(kKernel, fast).ok());
  fast.fast_math = {"turbo"};
  CompileReply refused = pool->compile(kKernel, fast);
  EXPECT_EQ(refused.outcome, Outcome::Refused);
  EXPECT_NE(refused.detail.find("turbo"), std::string::npos);
}

TEST(CompilePool, RefusesFiniteMathIfTheKernelTestsForFiniteNumbers) {
  auto pool = start();
  Recipe finite;
  finite.fast_math = {"nnan", "ninf"};
  auto outcome = [&](const std::string& body) {
    return pool->compile("__global__ void k(float* y, const float* x, int n) { int i = threadIdx.x; " + body + " }",
                         finite);
  };
  for (auto* plain : {"y[i] = x[i] * 2.0f + sqrtf(x[n]);", "if (x[i] > 0.5f) y[i] = expf(x[i]);",
                      "float least = 3.402823466e+38f; for (int j = 0; j < n; ++j) least = x[j] < least ? x[j] : "
                      "least; y[i] = least;"})
    EXPECT_TRUE(outcome(plain).ok()) << plain << outcome(plain).detail;
  for (auto* tests :
       {"float v = x[i] * 2; if (v != v) v = 0; y[i] = v;", "y[i] = isnan(x[i]) ? 0 : x[i];",
        "float v = x[i] * 2; if (v - v != 0) v = 5; y[i] = v;",
        "if ((__float_as_uint(x[i] * 2) & 0x7f800000) == 0x7f800000) y[i] = 0;", "if (isinf(x[i] / y[i])) y[i] = 0;",
        "if (isfinite(x[i])) y[i] = 0;", "if (x[i] * 2 > 3.402823466e+38f) y[i] = 0;",
        "static constexpr float limits[] = {0, __builtin_inff()}; y[i] = x[i] < limits[n] ? x[i] : 0;",
        "float most = -__builtin_inff(); for (int j = 0; j < n; ++j) most = most < x[j] ? x[j] : most; y[i] = most;"}) {
    CompileReply reply = outcome(tests);
    EXPECT_EQ(reply.outcome, Outcome::Refused) << tests;
    EXPECT_NE(reply.detail.find("tests whether a number is finite"), std::string::npos) << reply.detail;
  }
}

TEST(CompilePool, NamesTheCrashingPassAndContinues) {
  auto pool = start();
  CompileReply crashed = pool->compile(kKernel, passes("function(sroa,trigger-crash-function)"));
  EXPECT_EQ(crashed.outcome, Outcome::CompileCrashed);
  EXPECT_NE(crashed.detail.find("pass trigger-crash-function on"), std::string::npos) << crashed.detail;
  EXPECT_EQ(pool->replaced(), 1);
  EXPECT_TRUE(pool->compile(kKernel, {}).ok());
  // The pipeline that crashed is not tried again, on any source.
  EXPECT_NE(pool->compile(std::string(kKernel) + "\n", passes("function(sroa,trigger-crash-function)"))
                .detail.find("remembered"),
            std::string::npos);
  EXPECT_EQ(pool->replaced(), 1);
}

TEST(CompilePool, EndsACompileThatTakesTooLong) {
  CompilePoolOptions options;
  options.time_limit = std::chrono::milliseconds(1500), options.workers = 1;
  options.frontend.flags = {"-fconstexpr-steps=2147483647"};
  auto pool = start(std::move(options));
  std::string endless =
      "constexpr long f(int n) { long r = 0; for (long i = 0; i < 1l << n; ++i) r += i ^ n; return r; }\n"
      "__device__ long x = f(62);\n" +
      std::string(kKernel);
  CompileReply reply = pool->compile(endless, {});
  EXPECT_EQ(reply.outcome, Outcome::TimedOut) << reply.detail;
  EXPECT_NE(reply.detail.find("front end"), std::string::npos) << reply.detail;
  reply = pool->compile(endless, {});
  EXPECT_EQ(reply.outcome, Outcome::TimedOut) << "the same outcome, not a crash";
  EXPECT_NE(reply.detail.find("remembered"), std::string::npos) << reply.detail;
}

std::vector<pid_t> children(pid_t parent) {
  std::string of = std::to_string(parent);
  std::ifstream list("/proc/" + of + "/task/" + of + "/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

/// Signals all compile workers of this process.
void send_workers(int signal) {
  for (pid_t fork_server : children(getpid()))
    for (pid_t worker : children(fork_server)) kill(worker, signal);
}

TEST(CompilePool, EndsAFurtherLookAtAnOriginalThatTakesTooLong) {
  CompilePoolOptions options;
  options.time_limit = std::chrono::milliseconds(20), options.workers = 1;
  auto pool = start(std::move(options));
  std::string many;
  for (int i = 0; i < 60; ++i)
    many += "__global__ void k" + std::to_string(i) + "(float* x) { for (int j = 0; j < " + std::to_string(i) +
            "; ++j) x[threadIdx.x] *= x[j]; }\n";
  const CompileReply own = pool->compile_own(many);
  ASSERT_TRUE(own.ok()) << "nothing can be tuned without it: " << own.detail;
  EXPECT_EQ(pool->compile_checked(many, {}, own).outcome, Outcome::TimedOut) << "a search does without it";
}

TEST(CompilePool, CountsOnlyCpuTimeTowardsTheTimeLimit) {
  CompilePoolOptions options;
  options.time_limit = std::chrono::seconds(2), options.workers = 1;
  auto pool = start(std::move(options));
  ASSERT_TRUE(pool->compile(kKernel, {}).ok());
  auto reply = std::async(std::launch::async, [&] {
    std::string many;
    for (int i = 0; i < 20; ++i)
      many += "__global__ void k" + std::to_string(i) + "(float* x) { x[threadIdx.x] *= " + std::to_string(i) + "; }\n";
    return pool->compile(many, {});
  });
  // As if other processes used all cores for longer than the limit.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  send_workers(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(2200));
  send_workers(SIGCONT);
  CompileReply made = reply.get();
  EXPECT_TRUE(made.ok()) << made.detail;
}

TEST(CompilePool, SurvivesACompileOfAHugeType) {
  CompilePoolOptions options;
  options.memory_bytes = 96 << 20;
  auto pool = start(std::move(options));
  std::string hungry =
      "template <int N> struct T { typename T<N - 1>::type x[3]; typedef T type; };\n"
      "template <> struct T<0> { typedef int type; };\n__device__ T<40>::type big;\n" +
      std::string(kKernel);
  CompileReply reply = pool->compile(hungry, {});
  EXPECT_FALSE(reply.ok());
  EXPECT_TRUE(pool->compile(kKernel, {}).ok());
}

TEST(CompilePool, SaysThatAnImageIsTooLargeForItsDiskAndContinues) {
  CompilePoolOptions options;
  options.disk_bytes = 4 << 20;
  auto pool = start(std::move(options));
  CompileReply reply = pool->compile("__device__ float large[3 << 18] = {1};\n" + std::string(kKernel), {});
  EXPECT_TRUE(pool->compile(kKernel, {}).ok());
  if (!std::ranges::all_of(jail_layers(), [](auto& layer) { return layer.works || layer.name != "private disk"; }))
    GTEST_SKIP() << "workers have no disk of their own here";
  EXPECT_EQ(reply.outcome, Outcome::OverResources);
  EXPECT_EQ(reply.detail, "lowering to the CPU: what it writes takes more than 4 MiB of disk");
}

TEST(CompilePool, GivesDiagnosticsOfTheCandidatesOwnLines) {
  auto pool = start();
  CompileReply reply = pool->compile("__global__ void k(float* x) { x[0] = nothing; }\n", {});
  EXPECT_EQ(reply.outcome, Outcome::CompileFailed);
  EXPECT_NE(reply.detail.find("kernel.cu:1"), std::string::npos) << reply.detail;
  EXPECT_NE(reply.detail.find("nothing"), std::string::npos);
}

TEST(CompilePool, ServesManyCallersAtOnce) {
  auto pool = start();
  std::vector<std::thread> callers;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&, i] { good += pool->compile(std::string(kKernel) + "// " + std::to_string(i), {}).ok(); });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(good, 8);
}

TEST(CompilePool, CompilesNothingWhilePaused) {
  CompilePoolOptions options;
  options.workers = 1;
  auto pool = start(std::move(options));
  ASSERT_TRUE(pool->compile(kKernel, {}).ok());
  pool->pause();
  std::atomic<bool> finished = false;
  std::thread caller([&] {
    EXPECT_TRUE(pool->compile(kKernel, {}).ok());
    finished = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_FALSE(finished);
  pool->resume();
  caller.join();
  EXPECT_TRUE(finished);
}

TEST(CompileMessage, SurvivesEveryTruncationAndFlip) {
  CompileReply reply;
  reply.detail = "x", reply.image = "image", reply.findings = {"a", "b"}, reply.kernels = {{"k", "loop", "", 7}};
  std::string whole = encode(reply);
  ASSERT_TRUE(decode_reply(whole));
  EXPECT_EQ(decode_reply(whole)->kernels[0].code_bytes, 7u);
  for (size_t cut = 0; cut < whole.size(); ++cut) EXPECT_FALSE(decode_reply(std::string_view(whole).substr(0, cut)));
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] ^= static_cast<char>(1 << bit % 8);
    if (auto decoded = decode_reply(flipped)) EXPECT_LE(decoded->image.size(), whole.size());
  }
}

}  // namespace
}  // namespace kernelift::sandbox
