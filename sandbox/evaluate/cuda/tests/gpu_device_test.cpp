// The CUDA device and the runner on a real GPU: nothing of LLVM's, nothing of a toolkit's. Skipped where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <utility>

#include "sandbox/device/cuda/counters/kernel_trace.h"
#include "sandbox/device/cuda/cuda_device.h"
#include "sandbox/evaluate/runner/runner_process.h"
#include "sandbox/evaluate/tests/mep_fixture.h"

namespace kernelift::sandbox {
namespace {

using ::testing::HasSubstr;

constexpr unsigned char kCandidatesPtx[] = {
#include KERNELIFT_CANDIDATES_PTX
};
std::string candidates() { return {reinterpret_cast<const char*>(kCandidatesPtx), sizeof kCandidatesPtx}; }

Result<std::unique_ptr<Device>> make_device(int ordinal) {
  CudaDeviceOptions options;
  options.ordinal = ordinal;
  // One that is used, one that something else holds already, one that nobody will ask for.
  options.wanted = {{0x7e5a42000000, 0x7e5a48400000},
                    {reinterpret_cast<uint64_t>(&options), reinterpret_cast<uint64_t>(&options) + 1},
                    {0x7d0000000000, 0x7d0000001000}};
  return open_cuda_device(options);
}

/// In processes of their own: this one must not hold a context while others are killed with theirs.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string trouble = [] {
      Mep none;
      auto fork_server = RunnerProcess::fork_server(none, ".", {}, {make_device});
      if (!fork_server.ok()) return fork_server.error().message;
      auto process = RunnerProcess::open(**fork_server, 0);
      return process.ok() ? std::string() : process.error().message;
    }();
    if (!trouble.empty()) GTEST_SKIP() << trouble;
  }
};

MepFixture gpu_scale_mep(int n = 100000) {
  MepFixture fixture("", "right", "right");
  add_scale_instance(fixture, "a", n, 3.0f);
  add_scale_instance(fixture, "b", n / 2 + 1, -0.25f, true);
  return fixture;
}

RunnableCode code_of(const std::string& kernel) {
  RunnableCode code;
  code.image = candidates();
  code.launches.push_back(CandidateLaunch::as_recorded(kernel));
  return code;
}

/// A runner's fork server and process for one MEP.
struct Running {
  explicit Running(const MepFixture& fixture, bool cold = false, KernelTracer trace = {}) : cold(cold) {
    RunnerSettings settings;
    settings.launch_limit = std::chrono::milliseconds(3000);
    fork_server = std::move(
        *RunnerProcess::fork_server(fixture.mep, fixture.path(), settings, {make_device, {}, std::move(trace)}));
    baseline.code.image = candidates();
    start();
  }
  void start() {
    auto started = RunnerProcess::start(*fork_server, 0, baseline, cold, fatal, report);
    trouble = started.ok() ? "" : started.error().message;
    if (started.ok()) process = std::move(*started);
  }
  Verdict judge(const std::string& kernel, bool confirm = false) {
    Inquiry inquiry;
    inquiry.confirm = confirm;
    return std::get<Verdict>(process->evaluate(code_of(kernel), inquiry).value_or(Verdict{}));
  }
  bool cold;
  Original baseline;
  std::unique_ptr<ForkServer> fork_server;
  std::unique_ptr<RunnerProcess> process;
  std::set<std::string> fatal;
  BaselineReport report;
  std::string trouble;
};

/// Runs `body` in a forked process, where the driver has not been touched; what it returns is what went wrong.
std::string elsewhere(const std::function<std::string(Device&)>& body) {
  Mep none;
  auto fork_server = ForkServer::start({"kl-test", {}, [&](Channel& channel, WorkerCell&) {
                                          auto device = make_device(0);
                                          channel.send(1, device.ok() ? body(**device) : device.error().message);
                                          _exit(0);
                                        }});
  auto worker = (*fork_server)->spawn();
  if (!worker.ok()) return worker.error().message;
  Frame frame = worker->channel().receive(after(std::chrono::seconds(60)));
  return frame ? frame.body : "the process ended: " + worker->end();
}

TEST_F(OnGpu, PlacesMemoryAtTheWantedAddresses) {
  EXPECT_EQ(
      elsewhere([](Device& device) -> std::string {
        std::vector<DeviceMemory> held;
        // Neighbours in one reservation block, an address in the middle of a granule, one far away, a span over two
        // blocks.
        for (auto [address, size] : std::initializer_list<std::pair<uint64_t, uint64_t>>{{0x200000000000, 4096},
                                                                                         {0x200000400100, 3 << 20},
                                                                                         {0x7e5a42000000, 100 << 20},
                                                                                         {0x201001f00000, 8 << 20}}) {
          auto placed = device.place(address, size);
          if (!placed.ok()) return placed.error().message;
          std::vector<std::byte> bytes(4096, std::byte(held.size() + 1)), back(4096);
          if (!device.write(address, bytes).ok() || !device.read(address, back).ok() || bytes != back)
            return "not the bytes written";
          held.push_back(*placed);
        }
        auto again = device.place(0x200000000000, 4096);
        return again.ok() ? "placed twice" : "";
      }),
      "");
}

TEST_F(OnGpu, LoadsListsAndTimesKernels) {
  EXPECT_EQ(elsewhere([](Device& device) -> std::string {
              auto support = JudgingKernels::load(device);
              if (!support.ok()) return support.error().message;
              std::fprintf(stderr, "%s; two events around a launch measure %.2f us too much\n",
                           device.facts().label.c_str(), (*support)->overhead_seconds() * 1e6);
              auto image = device.load(candidates());
              if (!image.ok()) return image.error().message;
              bool found = false;
              for (auto& kernel : image->kernels)
                if (kernel.name == "right")
                  found = kernel.registers > 0 && kernel.parameters.size() == 4 && kernel.parameters[3].offset == 20;
              if (!found) return "kernel 'right' is not listed with its parameters";
              for (auto wanted : {"bias", "kept"})
                if (std::none_of(image->variables.begin(), image->variables.end(),
                                 [&](auto& variable) { return variable.name == wanted && variable.size == 4; }))
                  return std::string("no variable ") + wanted;
              Steps steps(**support);
              for (int i = 0; i < 5; ++i) steps.begin(), steps.hold(std::chrono::microseconds(300)), steps.end();
              auto outcome = steps.run(std::chrono::seconds(5));
              for (double seconds : outcome.seconds)
                if (seconds < 290e-6 || seconds > 400e-6) return "300 us were measured as " + std::to_string(seconds);
              return device.clocks().megahertz > 0 ? "" : "no clock is known";
            }),
            "");
}

template <class T>
std::string compare_like_the_host(Device& device, JudgingKernels& support, const char* element, uint64_t seed,
                                  T (*draw)(std::mt19937_64&)) {
  std::mt19937_64 random(seed);
  constexpr size_t kCount = 5003;
  std::vector<T> expected(kCount), got;
  for (auto& value : expected) value = draw(random);
  got = expected;
  for (size_t i = 0; i < kCount; ++i) {
    if (random() % 3 == 0) {
      uint64_t bits = 0;
      std::memcpy(&bits, &got[i], sizeof(T));
      bits += random() % 64;
      std::memcpy(&got[i], &bits, sizeof(T));
    } else if (random() % 50 == 0) got[i] = draw(random);
  }
  std::span left = std::as_bytes(std::span(expected)), right = std::as_bytes(std::span(got));
  ErrorBounds bounds(ElementLayout::parse(element));
  if (!bounds.tolerances.empty()) bounds.tolerances[0].envelope = 1e-6;
  Comparison host = bounds.compare(left, right);
  auto a = device.place(0, left.size()), b = device.place(0, right.size());
  if (!device.write(a->address, left).ok() || !device.write(b->address, right).ok()) return "cannot write";
  Steps steps(support);
  steps.clear_findings(2);
  auto rows = rows_of(bounds.layout, left.size());
  for (size_t i = 0; i < rows.size(); ++i)
    steps.compare(rows[i], i < bounds.tolerances.size() ? bounds.tolerances[i] : FloatTolerance{}, a->address,
                  b->address, i);
  auto outcome = steps.run(std::chrono::seconds(5));
  if (!outcome.ok()) return outcome.detail;
  auto found = support.read_findings(rows.size());
  if ((*found)[0].mismatches != host.mismatches)
    return std::string(element) + ": " + std::to_string((*found)[0].mismatches) + " mismatches, the host finds " +
           std::to_string(host.mismatches);
  if (host.first && (*found)[0].first != host.first->index) return std::string(element) + ": another first mismatch";
  if (judging::from_bits((*found)[0].largest_ulps) != host.largest_ulps)
    return std::string(element) + ": another largest distance";
  return "";
}

TEST_F(OnGpu, ComparesLikeTheHost) {
  EXPECT_EQ(
      elsewhere([](Device& device) -> std::string {
        auto support = JudgingKernels::load(device);
        if (!support.ok()) return support.error().message;
        auto real = [](std::mt19937_64& random) -> double {
          switch (random() % 12) {
            case 0: return std::numeric_limits<double>::quiet_NaN();
            case 1: return random() % 2 ? INFINITY : -INFINITY;
            case 2: return random() % 2 ? 0.0 : -0.0;
            case 3: return 1e-310;
            default:
              return std::ldexp(static_cast<double>(random() % 2000) - 1000, static_cast<int>(random() % 20) - 10);
          }
        };
        static auto draw = real;
        std::string wrong =
            compare_like_the_host<double>(device, **support, "double", 1, [](std::mt19937_64& r) { return draw(r); });
        // Where squares are zero, or infinite.
        if (wrong.empty())
          wrong = compare_like_the_host<double>(device, **support, "double", 6,
                                                [](std::mt19937_64& r) { return std::ldexp(draw(r), -600); });
        if (wrong.empty())
          wrong = compare_like_the_host<double>(device, **support, "double", 7,
                                                [](std::mt19937_64& r) { return std::ldexp(draw(r), 600); });
        if (wrong.empty())
          wrong = compare_like_the_host<float>(device, **support, "float", 2,
                                               [](std::mt19937_64& r) { return static_cast<float>(draw(r)); });
        for (auto element : {"half", "bfloat16", "short", "unsigned short"})
          if (wrong.empty())
            wrong = compare_like_the_host<uint16_t>(device, **support, element, 3,
                                                    [](std::mt19937_64& r) { return static_cast<uint16_t>(r()); });
        for (auto element : {"int", "unsigned int"})
          if (wrong.empty())
            wrong = compare_like_the_host<uint32_t>(device, **support, element, 4,
                                                    [](std::mt19937_64& r) { return static_cast<uint32_t>(r()); });
        for (auto element : {"byte", "bool", "char"})
          if (wrong.empty())
            wrong = compare_like_the_host<uint8_t>(device, **support, element, 5,
                                                   [](std::mt19937_64& r) { return static_cast<uint8_t>(r()); });
        return wrong;
      }),
      "");
}

TEST_F(OnGpu, ReproducesACaptureAndMeasuresTheOriginalAgainstItself) {
  MepFixture fixture = gpu_scale_mep();
  for (bool cold : {false, true}) {
    Running running(fixture, cold);
    ASSERT_EQ(running.trouble, "");
    ASSERT_TRUE(running.report.pass()) << running.report.complaint();
    std::fprintf(stderr, "%s: %.2f us, spread %.1f %%\n", cold ? "cold" : "warm",
                 running.report.instances[0].seconds * 1e6, running.report.instances[0].spread * 100);
    Verdict same = running.judge("right");
    ASSERT_TRUE(same.ok()) << same.text();
    EXPECT_LE(same.speedup_low(), kSmallestGain);
    EXPECT_GT(same.resources.registers.value_or(0), 0u);
    Verdict other = running.judge("also_right");
    EXPECT_TRUE(other.ok()) << other.text();
    Verdict slow = running.judge("slow");
    EXPECT_TRUE(slow.ok()) << slow.text();
    EXPECT_LT(slow.speedup(), 0.9);
    Verdict confirmed = running.judge("also_right", true);
    EXPECT_TRUE(confirmed.ok()) << confirmed.text();
    EXPECT_EQ(confirmed.timings.size(), 2u);
  }
}

TEST_F(OnGpu, FindsEachKindOfWrongCandidate) {
  MepFixture fixture = gpu_scale_mep();
  Running running(fixture);
  ASSERT_EQ(running.trouble, "");
  ASSERT_TRUE(running.report.pass()) << running.report.complaint();
  Verdict wrong = running.judge("wrong");
  EXPECT_EQ(wrong.outcome, Outcome::Wrong) << wrong.text();
  EXPECT_EQ(wrong.buffer, "out");
  EXPECT_EQ(wrong.index, 77u);
  Verdict lazy = running.judge("lazy");
  EXPECT_EQ(lazy.outcome, Outcome::Wrong) << lazy.text();
  EXPECT_EQ(lazy.index, 5u);
  Verdict input = running.judge("changes_input");
  EXPECT_EQ(input.outcome, Outcome::Wrong) << input.text();
  EXPECT_EQ(input.buffer, "in");
  EXPECT_THAT(input.detail, HasSubstr("does not write this buffer"));
  Verdict outside = running.judge("outside");
  EXPECT_EQ(outside.outcome, Outcome::WroteOutside) << outside.text();
  EXPECT_THAT(outside.detail, HasSubstr("8 bytes after the end of out"));
  for (auto kernel : {"uses_scratch", "behind_scratch"}) {
    RunnableCode code = code_of(kernel);
    code.scratch = {{*Expression::parse("1000"), false}};
    Verdict verdict = std::get<Verdict>(running.process->evaluate(code, {}).value_or(Verdict{}));
    EXPECT_EQ(verdict.outcome, kernel == std::string("uses_scratch") ? Outcome::Ok : Outcome::WroteOutside)
        << verdict.text();
    if (!verdict.ok()) EXPECT_THAT(verdict.detail, HasSubstr("0 bytes after the end of its scratch memory 1"));
  }
  Verdict prints = running.judge("prints");
  EXPECT_TRUE(prints.ok()) << prints.text();
  Verdict remembers = running.judge("remembers", true);
  EXPECT_TRUE(remembers.outcome == Outcome::Wrong || remembers.outcome == Outcome::Unstable) << remembers.text();
  // Whatever they left behind, the next one starts from what was recorded.
  EXPECT_TRUE(running.judge("right").ok());
  EXPECT_TRUE(running.process->alive());
}

TEST_F(OnGpu, EventsSayWhatCuptiRecords) {
  for (int n : {1000, 1 << 20, 1 << 24}) {
    MepFixture fixture = gpu_scale_mep(n);
    auto seconds = [begin = std::chrono::steady_clock::now()]() mutable {
      auto from = std::exchange(begin, std::chrono::steady_clock::now());
      return std::chrono::duration<double>(begin - from).count();
    };
    Running plain(fixture);
    double without = seconds();
    ASSERT_EQ(plain.trouble, "");
    Verdict as_ever = plain.judge("right", true);
    plain.process.reset();
    seconds();
    Running checked(fixture, false, trace_kernel);
    double with = seconds();
    ASSERT_EQ(checked.trouble, "");
    ASSERT_TRUE(checked.process->cross_check());
    const CrossCheck& check = *checked.process->cross_check();
    if (check.missing.find("libcupti") != std::string::npos) GTEST_SKIP() << check.missing;
    Verdict after = checked.judge("right", true);
    ASSERT_TRUE(as_ever.ok() && after.ok()) << as_ever.text() << after.text();
    std::fprintf(stderr, "%d elements: %s; ready in %.2f s, without in %.2f s; then %.3f us, without %.3f us\n", n,
                 check.text().c_str(), with, without, after.timings[0].seconds * 1e6, as_ever.timings[0].seconds * 1e6);
    EXPECT_TRUE(check.agrees()) << check.text();
    EXPECT_GE(check.launches, 20);
    // Events of both processes resolve half a microsecond, as CUDA documents.
    EXPECT_NEAR(after.timings[0].seconds, as_ever.timings[0].seconds,
                std::max(1e-6, 0.03 * as_ever.timings[0].seconds));
  }
}

TEST_F(OnGpu, RefusesWhatDoesNotFitBeforeItIsLaunched) {
  MepFixture fixture = gpu_scale_mep();
  Running running(fixture);
  ASSERT_EQ(running.trouble, "");
  RunnableCode wide = code_of("right");
  wide.launches[0].block[0] = Expression::constant(2048);
  auto answer = running.process->evaluate(wide, {});
  ASSERT_TRUE(answer);
  auto* verdict = std::get_if<Verdict>(&*answer);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, Outcome::OverResources);
  EXPECT_THAT(verdict->detail, HasSubstr("threads per block: 2048, limit 1024"));
  RunnableCode shared = code_of("right");
  shared.launches[0].shared = Expression::constant(300 << 10);
  answer = running.process->evaluate(shared, {}), verdict = &std::get<Verdict>(*answer);
  EXPECT_EQ(verdict->outcome, Outcome::OverResources) << verdict->text();
  RunnableCode much = code_of("right");
  much.launches[0].shared = Expression::constant(100 << 10);
  answer = running.process->evaluate(much, {}), verdict = &std::get<Verdict>(*answer);
  EXPECT_TRUE(verdict->ok()) << verdict->text();
  RunnableCode absent = code_of("no_such_kernel");
  answer = running.process->evaluate(absent, {}), verdict = &std::get<Verdict>(*answer);
  EXPECT_EQ(verdict->outcome, Outcome::LaunchFailed) << verdict->text();
  RunnableCode garbage;
  garbage.image = "not an image";
  answer = running.process->evaluate(garbage, {}), verdict = &std::get<Verdict>(*answer);
  EXPECT_EQ(verdict->outcome, Outcome::LaunchFailed) << verdict->text();
  EXPECT_TRUE(running.process->alive());
}

TEST_F(OnGpu, LosesOneProcessToAFaultOrAHangAndNothingElse) {
  MepFixture fixture = gpu_scale_mep();
  Running running(fixture);
  ASSERT_EQ(running.trouble, "");
  for (auto [kernel, outcome] : {std::pair{"faults", Outcome::Crashed}, {"hangs", Outcome::TimedOut}}) {
    auto judging = std::chrono::steady_clock::now();
    Verdict bad = running.judge(kernel);
    EXPECT_EQ(bad.outcome, outcome) << bad.text();
    EXPECT_FALSE(running.process->alive());
    std::fprintf(stderr, "%s: judged and gone in %.2f s\n", kernel,
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - judging).count());
    auto begin = std::chrono::steady_clock::now();
    running.start();
    ASSERT_EQ(running.trouble, "");
    std::fprintf(stderr, "after %s a new runner was ready in %.2f s\n", kernel,
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    EXPECT_TRUE(running.report.pass()) << running.report.complaint();
    EXPECT_TRUE(running.judge("right").ok());
  }
}

TEST_F(OnGpu, TimesAKernelThatWorksInPlaceOnFreshDataEachTime) {
  MepFixture fixture("", "accumulate", "accumulate");
  int n = 50000;
  std::vector<float> in(n), before(n), after(n);
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 100), before[i] = 1.0f, after[i] = 1.0f + in[i] * 0.5f;
  MepInstance& instance = fixture.add_instance("a", (n + 127) / 128, 128);
  fixture.add_buffer(instance, "in", "float", kTestArena, in, in);
  fixture.add_buffer(instance, "out", "float", kTestArena + (uint64_t(8) << 20) + 512, before, after);
  fixture.add_argument(instance, n, "n");
  fixture.add_argument(instance, 0.5f, "factor");
  Running running(fixture);
  ASSERT_EQ(running.trouble, "");
  ASSERT_TRUE(running.report.pass()) << running.report.complaint();
  Verdict same = running.judge("accumulate", true);
  EXPECT_TRUE(same.ok()) << same.text();
  EXPECT_EQ(running.judge("accumulate_wrong").outcome, Outcome::Wrong);
}

TEST_F(OnGpu, LearnsWithoutTheExperimentThatTheOriginalDoesNotSurvive) {
  MepFixture fixture("", "scatter", "scatter");
  int n = 4096;
  std::vector<int> index(n), index_after(n), data(n, -1), data_after(n);
  for (int i = 0; i < n; ++i) index[i] = index_after[i] = i, data_after[i] = i;
  index_after[0] = 1;
  MepInstance& instance = fixture.add_instance("a", n / 128, 128);
  fixture.add_buffer(instance, "index_of", "int", kTestArena, index, index_after);
  fixture.add_buffer(instance, "data", "int", kTestArena + (uint64_t(32) << 20), data, data_after);
  fixture.add_argument(instance, n, "n");
  Running running(fixture);
  ASSERT_EQ(running.trouble, "");
  EXPECT_TRUE(running.report.pass()) << running.report.complaint();
  EXPECT_TRUE(running.fatal.contains("poison 0 0"));
  EXPECT_TRUE(running.judge("scatter").ok());
}

TEST_F(OnGpu, FindsOutWhatIsWrittenThoughNothingEverChanged) {
  MepFixture fixture("", "mark", "mark");
  int n = 4096;
  std::vector<int> identity(n);
  for (int i = 0; i < n; ++i) identity[i] = i;
  MepInstance& instance = fixture.add_instance("a", n / 128, 128);
  fixture.add_buffer(instance, "index_of", "int", kTestArena, identity, identity);
  fixture.add_buffer(instance, "data", "int", kTestArena + (uint64_t(32) << 20), identity, identity);
  fixture.add_argument(instance, n, "n");
  Running running(fixture);
  ASSERT_EQ(running.trouble, "");
  EXPECT_TRUE(running.report.judges()) << running.report.complaint();
  EXPECT_THAT(running.fatal, ::testing::ElementsAre("poison unchanged index_of"));
  EXPECT_TRUE(running.judge("mark").ok());
  Verdict most = running.judge("mark_most");
  EXPECT_EQ(most.outcome, Outcome::Wrong) << most.text();
  EXPECT_EQ(most.index, 5u);
}

}  // namespace
}  // namespace kernelift::sandbox
