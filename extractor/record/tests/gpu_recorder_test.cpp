// The recorder on a real GPU: small CUDA programs, compiled here by nvcc with its static runtime, run alone and
// recorded. Output and exit code must be the same, and the capture must hold what the program really did. Links no
// LLVM, so that it can be carried to a machine with a GPU; skips itself where there is none.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "core/base/file.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "extractor/record/record_run.h"

namespace kernelift::record {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr auto kProgramLimit = std::chrono::seconds(60);

/// Where the programs' sources are: beside the tests' own, wherever the tree was carried to.
fs::path source_root() {
  if (const char* named = std::getenv("KERNELIFT_SOURCE_DIR")) return named;
  return fs::exists("extractor/record/tests/cuda") ? fs::current_path() : fs::path(SOURCE_ROOT);
}

fs::path library(const char* name) {
  fs::path installed = executable_folder().parent_path() / "lib/kernelift/runtime" / name;
  return fs::exists(installed) ? installed : executable_folder() / name;
}

bool gpu_answers() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto init = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
  return init && init(0) == 0;
}

struct Ran {
  std::string output;
  int exit_code = 0;
};

class GpuRecorder : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!gpu_answers() || !find_program("nvcc")) return;
    programs_ = new TemporaryFolder(std::move(*TemporaryFolder::create("kernelift-gpu-programs")));
    std::vector<std::thread> compilers;
    for (auto& entry : fs::directory_iterator(source_root() / "extractor/record/tests/cuda")) {
      if (entry.path().extension() != ".cu" || entry.path().stem().extension() == ".inc") continue;
      compilers.emplace_back([source = entry.path()] {
        ProcessOptions options;
        options.timeout = std::chrono::seconds(100);
        std::vector<std::string> command = {find_program("nvcc")->string(),
                                            "-std=c++17",
                                            "-arch=native",
                                            "-I",
                                            source_root().string(),
                                            "-lcuda",
                                            "-o",
                                            (programs_->path() / source.stem()).string(),
                                            source.string()};
        // A program of two files is relocatable code.
        fs::path second = source.parent_path() / (source.stem().string() + "_b.inc.cu");
        if (fs::exists(second)) command.insert(command.end(), {"-rdc=true", second.string()});
        auto built = run_process(command, options);
        if (!built.ok() || !built->ok())
          std::printf("nvcc %s: %s\n", source.c_str(), built.ok() ? built->err.c_str() : "");
      });
    }
    for (auto& compiler : compilers) compiler.join();
  }
  static void TearDownTestSuite() { delete programs_; }

  void SetUp() override {
    if (!gpu_answers()) GTEST_SKIP() << "no NVIDIA GPU: cuInit does not succeed";
    if (!find_program("nvcc")) GTEST_SKIP() << "nvcc is not on PATH";
    auto cupti = find_cupti({}, driver_cuda_version());
    if (!cupti) GTEST_SKIP() << "CUPTI is not installed";
    request.cupti = *cupti;
    request.state = scratch_.path() / ".kernelift";
    request.library = library("libkernelift_record.so");
    request.cuda_library = library("libkernelift_record_cuda.so");
  }

  std::vector<std::string> command(std::vector<std::string> words) {
    words[0] = (programs_->path() / words[0]).string();
    return words;
  }
  Ran alone(std::vector<std::string> words) {
    ProcessOptions options;
    options.timeout = kProgramLimit;
    auto ran = run_process(command(std::move(words)), options);
    EXPECT_TRUE(ran.ok());
    return ran.ok() ? Ran{ran->out, ran->exit_code} : Ran{};
  }
  /// Records and compares with the run alone. `same_output` false for a program that prints addresses or times, which
  /// says itself by exit code 0 that it was not disturbed.
  RecordOutcome record(std::vector<std::string> words, bool same_output = true) {
    Ran bare = same_output ? alone(words) : Ran{};
    fs::path out = scratch_.path() / "out";
    request.command = {"/bin/sh", "-c", "exec timeout 60 \"$@\" >\"$0\" 2>/dev/null", out.string()};
    for (auto& word : command(std::move(words))) request.command.push_back(word);
    auto outcome = record_application(request);
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
    if (!outcome.ok()) return {};
    EXPECT_EQ(outcome->application.exit_code, bare.exit_code);
    if (same_output) EXPECT_EQ(read_text(out).ok() ? *read_text(out) : "", bare.output);
    if (!outcome->folder.empty())
      if (auto opened = Capture::open(outcome->folder); opened.ok()) capture.emplace(std::move(*opened));
    return std::move(*outcome);
  }
  const KernelProfile* profile(const RecordOutcome& outcome, const std::string& part) {
    for (auto& kernel : outcome.info.profile)
      if (kernel.key.find(part) != std::string::npos) return &kernel;
    return nullptr;
  }
  const CapturedInstance* instance(const std::string& part, uint64_t launch) {
    if (!capture) return nullptr;
    for (auto& one : capture->instances())
      if (one.kernel.find(part) != std::string::npos && one.launch_index == launch) return &one;
    return nullptr;
  }
  template <class T>
  T value(const Image& image, size_t index = 0) {
    auto bytes = capture->load(image);
    T result{};
    if (bytes.ok() && (index + 1) * sizeof(T) <= bytes->size())
      std::memcpy(&result, bytes->data() + index * sizeof(T), sizeof(T));
    else ADD_FAILURE() << (bytes.ok() ? "short image" : bytes.error().message);
    return result;
  }
  std::string omissions(const RecordOutcome& outcome) {
    std::string text;
    for (auto& one : outcome.info.omissions) text += one.what + ": " + one.why + "\n";
    return text;
  }

  static TemporaryFolder* programs_;
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-gpu-test"));
  RecordRequest request;
  std::optional<Capture> capture;
};
TemporaryFolder* GpuRecorder::programs_ = nullptr;

TEST_F(GpuRecorder, CapturesInPlaceMemoryAndEveryModuleVariableOfAnUnmodifiedBinary) {
  auto outcome = record({"plain", "20"});
  EXPECT_THAT(outcome.info.device, ::testing::StartsWith("cuda:"));
  EXPECT_TRUE(outcome.info.complete);
  ASSERT_TRUE(profile(outcome, "step"));
  EXPECT_EQ(profile(outcome, "step")->count, 20u);
  EXPECT_GT(profile(outcome, "step")->median_us, 0.5);
  for (uint64_t launch : {0, 1, 8}) {
    auto* one = instance("step", launch);
    ASSERT_TRUE(one) << launch;
    ASSERT_EQ(one->regions.size(), 2u);
    EXPECT_EQ(one->regions[0].reached_from.text(), "arg 0");
    EXPECT_EQ(one->regions[0].before.size, 4u << 20);
    EXPECT_EQ(value<float>(one->regions[0].before, 77), float(launch));
    EXPECT_EQ(value<float>(one->regions[0].after, 77), float(launch + 1));
    EXPECT_EQ(one->regions[1].reached_from.text(), "variable indirect")
        << "memory that only a static variable points to";
    std::map<std::string, const CapturedVariable*> variables;
    for (auto& variable : one->variables) variables[variable.key] = &variable;
    ASSERT_TRUE(variables.contains("scale") && variables.contains("offset_table") && variables.contains("counter"));
    EXPECT_TRUE(variables["scale"]->constant);
    EXPECT_EQ(value<float>(variables["scale"]->before, 3), 1.0f) << "as the host had filled it";
    EXPECT_EQ(value<int>(variables["offset_table"]->before, 3), 1);
    EXPECT_EQ(value<int>(variables["counter"]->before), int(launch));
    EXPECT_EQ(value<int>(variables["counter"]->after), int(launch + 1));
    EXPECT_TRUE(variables.contains("(anonymous)::hidden"));
    EXPECT_GT(one->code.size, 0u);
    EXPECT_GT(one->settings.registers, 0u);
    EXPECT_GT(one->microseconds, 0.5);
  }
}

TEST_F(GpuRecorder, ProfilesWithoutImages) {
  request.config.profile_only = true;
  auto outcome = record({"plain", "500"});
  ASSERT_TRUE(profile(outcome, "step"));
  EXPECT_EQ(profile(outcome, "step")->count, 500u);
  EXPECT_EQ(outcome.folder.filename(), "profile");
  EXPECT_TRUE(outcome.instances.empty());
}

TEST_F(GpuRecorder, ListsKernelsOfARunInWhichNoneMatches) {
  request.config.kernel = "no_such_kernel";
  auto outcome = record({"plain", "20"});
  ASSERT_TRUE(profile(outcome, "step"));
  EXPECT_EQ(profile(outcome, "step")->count, 20u);
  EXPECT_TRUE(outcome.folder.empty());
}

TEST_F(GpuRecorder, ReadsMemoryOfEveryKind) {
  const std::map<std::string, std::pair<MemoryKind, uint64_t>> wanted = {
      {"malloc", {MemoryKind::Device, 12000}},     {"async", {MemoryKind::Device, 12000}},
      {"pool", {MemoryKind::Device, 12000}},       {"pitched", {MemoryKind::Device, 512 * 30}},
      {"managed", {MemoryKind::Managed, 12000}},   {"pinned", {MemoryKind::HostMapped, 12000}},
      {"mapped", {MemoryKind::HostMapped, 12000}}, {"registered", {MemoryKind::HostMapped, 16384}},
      {"vmm", {MemoryKind::Device, 4 << 20}}};
  for (auto& [name, kind] : wanted) {
    SCOPED_TRACE(name);
    auto outcome = record({"memory_kinds", name}, false);
    auto* one = instance("add_one", 0);
    ASSERT_TRUE(one) << omissions(outcome);
    ASSERT_EQ(one->regions.size(), 1u);
    EXPECT_EQ(one->regions[0].kind, kind.first);
    EXPECT_EQ(one->regions[0].before.size, kind.second);
    size_t first = name == "vmm" ? ((2 << 20) - 4000) / 4 : 0;
    EXPECT_EQ(value<int>(one->regions[0].before, first + 2999), 0);
    EXPECT_EQ(value<int>(one->regions[0].after, first + 2999), 1);
  }
  record({"memory_kinds", "variable"}, false);
  auto* one = instance("add_one", 0);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->regions.empty()) << "it is the module's own variable";
  ASSERT_EQ(one->variables.size(), 1u);
  EXPECT_NE(one->variables[0].before, one->variables[0].after);
}

TEST_F(GpuRecorder, SeesEveryWayToLaunch) {
  auto outcome = record({"launch_paths"});
  EXPECT_EQ(profile(outcome, "by_runtime")->count, 4u) << "three of them in a graph";
  EXPECT_EQ(profile(outcome, "by_graph")->count, 3u);
  auto* packed = instance("by_driver", 1);
  ASSERT_TRUE(packed) << "an extra[] buffer";
  EXPECT_EQ(int(packed->arguments[0]), 9);
  ASSERT_EQ(packed->parameters.size(), 2u);
  EXPECT_EQ(packed->parameters[1].offset, 8u);
  auto* odd = instance("by_struct", 0);
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->regions.at(0).reached_from.text(), "arg 0 +1") << "an address that is not aligned";
  auto* together = instance("together", 0);
  ASSERT_TRUE(together);
  EXPECT_TRUE(together->geometry.cooperative);
  auto* cluster = instance("by_cluster", 0);
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->settings.cluster, (Dim3{2, 1, 1}));
  EXPECT_EQ(cluster->settings.priority, -1);
  EXPECT_TRUE(cluster->settings.programmatic);
}

TEST_F(GpuRecorder, TakesImagesOfGraphNodesAndFollowsUpdates) {
  auto outcome = record({"graphs", "kept"});
  EXPECT_EQ(profile(outcome, "scale")->count, 12u);
  EXPECT_EQ(profile(outcome, "add")->count, 24u);
  // Each launch: memset to 1, scale by 2; on two branches add `step` here and 100 there; copy.
  for (uint64_t launch : {0, 1, 8}) {
    auto* scale = instance("scale", launch);
    ASSERT_TRUE(scale) << omissions(outcome);
    EXPECT_EQ(value<int>(scale->regions.at(0).before, 9), 1);
    EXPECT_EQ(value<int>(scale->regions.at(0).after, 9), 2);
    EXPECT_EQ(scale->settings.entry, "cuGraphLaunch");
    EXPECT_GT(scale->like.own, 0) << "its own part's record";
    EXPECT_EQ(scale->like.count, 8u) << "four of the twelve were run in parts, for this kernel's images or another's";
  }
  int here = 0;
  for (auto& one : outcome.instances) {
    if (one.kernel.find("add") == std::string::npos) continue;
    int before = value<int>(one.regions.at(0).before, 9), add = 0;
    std::memcpy(&add, one.arguments.data() + 8, sizeof add);
    EXPECT_EQ(value<int>(one.regions.at(0).after, 9), before + add);
    if (add == 100) continue;
    EXPECT_EQ(uint64_t(add), one.launch_index / 2) << "the update of that launch";
    EXPECT_EQ(before, 2);
    ++here;
  }
  EXPECT_GT(here, 0);
  EXPECT_THAT(omissions(outcome), ::testing::Not(HasSubstr("in CUDA graphs")));
}

TEST_F(GpuRecorder, NamesWhyAGraphsImagesAreNotTaken) {
  for (auto [mode, why] : {std::pair("destroyed", "has been destroyed"), std::pair("hosting", "holds a host function"),
                           std::pair("child", "holds a child graph")}) {
    SCOPED_TRACE(mode);
    capture.reset();
    auto outcome = record({"graphs", mode});
    EXPECT_THAT(omissions(outcome), HasSubstr(why));
    EXPECT_EQ(profile(outcome, "scale")->count, 12u);
  }
}

TEST_F(GpuRecorder, KeepsNamesakesOfTwoFilesAndTheirStaticVariablesApart) {
  auto outcome = record({"relocatable"});
  ASSERT_EQ(outcome.instances.size(), 2u) << omissions(outcome);
  EXPECT_NE(outcome.instances[0].id, outcome.instances[1].id);
  for (auto& one : outcome.instances) {
    EXPECT_EQ(one.kernel, "namesake(float*)");
    std::map<std::string, const CapturedVariable*> variables;
    for (auto& variable : one.variables) variables[variable.name] = &variable;
    ASSERT_EQ(variables.size(), 4u) << "of both files: they are one module";
    bool second = one.mangled.find("_b_inc_cu") != std::string::npos;
    for (auto& [name, variable] : variables) {
      if ((name.find("_b_inc_cu") != std::string::npos) != second) continue;
      if (variable->key == "scale") EXPECT_EQ(value<float>(variable->before), second ? -1 : 3);
      else EXPECT_EQ(value<int>(variable->before, 1), second ? 5 : 2) << name;
    }
  }
}

TEST_F(GpuRecorder, NamesMemoryThatNothingLeadsToOrTakesItToo) {
  record({"hidden"});
  auto* one = instance("disguised", 0);
  ASSERT_TRUE(one);
  ASSERT_EQ(one->regions.size(), 1u);
  ASSERT_EQ(one->unreached.size(), 1u);
  EXPECT_EQ(one->unreached[0].size, 8000u);
  request.config.all_memory = true;
  capture.reset();
  record({"hidden"});
  one = instance("disguised", 0);
  ASSERT_TRUE(one);
  ASSERT_EQ(one->regions.size(), 2u);
  EXPECT_TRUE(one->unreached.empty());
  EXPECT_EQ(value<int>(one->regions[1].before, 31), 0);
  EXPECT_EQ(value<int>(one->regions[1].after, 31), 1);
}

TEST_F(GpuRecorder, TakesWhatLiesBehindTexturesAndSurfacesOfTheKernelsThatUseThem) {
  auto outcome = record({"textures"});
  auto kinds = [](const CapturedInstance& one) {
    std::multiset<std::string> found;
    for (auto& region : one.regions) found.insert(name(region.kind));
    return found;
  };
  auto* surface = instance("by_surface", 0);
  ASSERT_TRUE(surface) << omissions(outcome);
  EXPECT_THAT(kinds(*surface), ElementsAre("array", "texture"));
  for (auto& region : surface->regions)
    if (region.kind == MemoryKind::Array) {
      ASSERT_EQ(region.before.size, 32u * 32 * sizeof(float));
      for (int x = 0; x < 32; ++x) EXPECT_EQ(value<float>(region.after, x), float(x));
    }
  auto* texture = instance("by_texture", 0);
  ASSERT_TRUE(texture) << omissions(outcome);
  EXPECT_THAT(kinds(*texture), ElementsAre("array", "device", "texture"));
  auto* plain = instance("plain", 0);
  ASSERT_TRUE(plain) << omissions(outcome);
  EXPECT_THAT(kinds(*plain), ElementsAre("device")) << "a number that equals a handle is none";
}

TEST_F(GpuRecorder, LeavesThreadsStreamsAndGraphCapturesAlone) {
  auto outcome = record({"trouble", "threads"});
  ASSERT_TRUE(profile(outcome, "count"));
  EXPECT_EQ(profile(outcome, "count")->count, 1200u);
  ASSERT_FALSE(outcome.instances.empty()) << omissions(outcome);
  for (auto& one : capture->instances()) {
    int before = value<int>(one.regions.at(0).before, 5);
    EXPECT_EQ(value<int>(one.regions.at(0).after, 5), before + 1) << one.id << ": a thread's launch came between";
  }
}

TEST_F(GpuRecorder, LeavesAloneThoseWhoMakeStreamsOrCaptureTheirOwn) {
  for (auto mode : {"streams", "own-streams"}) {
    SCOPED_TRACE(mode);
    auto outcome = record({"trouble", mode});  // Same output, same exit code, within a minute.
    EXPECT_FALSE(outcome.instances.empty()) << omissions(outcome);
  }
}

TEST_F(GpuRecorder, CapturesALaunchOfThreeSecondsUnlessItIsToldNotToWait) {
  auto outcome = record({"trouble", "long"});
  EXPECT_EQ(outcome.instances.size(), 1u) << omissions(outcome);
  request.config.patience_seconds = 1, request.state /= "impatient";
  outcome = record({"trouble", "long"});
  EXPECT_TRUE(outcome.instances.empty());
  EXPECT_THAT(omissions(outcome), HasSubstr("had not ended within 1 s"));
}

TEST_F(GpuRecorder, GivesUpOnAnImageThatTheApplicationWouldWaitForEver) {
  request.config.patience_seconds = 2;
  auto outcome = record({"trouble", "host-flag"});
  EXPECT_THAT(omissions(outcome), HasSubstr("not idle within 2 s"));
  EXPECT_EQ(profile(outcome, "count")->count, 7u);
}

TEST_F(GpuRecorder, KeepsWhatWasFinishedHoweverTheProcessEnds) {
  for (auto mode : {"kill", "abort", "quick-exit", "exit-in-thread", "throw", "reset", "fault"}) {
    SCOPED_TRACE(mode);
    capture.reset();
    auto outcome = record({"trouble", mode});
    ASSERT_FALSE(outcome.instances.empty()) << omissions(outcome);
    for (auto& one : capture->instances()) {
      EXPECT_EQ(value<int>(one.regions.at(0).after, 9), value<int>(one.regions.at(0).before, 9) + 1);
      for (auto& variable : one.variables) EXPECT_TRUE(capture->load(variable.after).ok());
    }
  }
}

TEST_F(GpuRecorder, EndsWhereASignalsHandlerEndsTheProcess) {
  // In the middle of CUDA's start, of a first image, of launches: same exit code, and in time. It prints nothing.
  for (auto microseconds : {"30000", "300000", "500000", "700000", "900000"}) {
    SCOPED_TRACE(microseconds);
    capture.reset();
    auto outcome = record({"trouble", "exit-in-handler", microseconds});
    EXPECT_EQ(outcome.application.exit_code, 5);
    // Whatever was kept is whole.
    for (size_t i = 0; capture && i < capture->instances().size(); ++i)
      for (auto& region : capture->instances()[i].regions) EXPECT_TRUE(capture->load(region.after).ok());
  }
}

TEST_F(GpuRecorder, SaysThatMemoryBelongsToAnotherProcess) {
  auto outcome = record({"trouble", "borrowed"});
  if (outcome.application.exit_code == 77) GTEST_SKIP() << "processes cannot share GPU memory here";
  EXPECT_FALSE(outcome.instances.empty()) << omissions(outcome);
  EXPECT_THAT(omissions(outcome), HasSubstr("belongs to another process"));
}

TEST_F(GpuRecorder, SurvivesForkAndExec) {
  auto outcome = record({"trouble", "fork-after"});
  EXPECT_EQ(profile(outcome, "count")->count, 11u) << "the child had nothing to add, and left the files alone";
  EXPECT_TRUE(outcome.info.complete);
  outcome = record({"trouble", "exec"});
  EXPECT_FALSE(outcome.instances.empty());
  outcome = record({"trouble", "fork-first"});
  EXPECT_EQ(outcome.notes.size(), 1u) << "each worker has a recording of its own";
}

TEST_F(GpuRecorder, LetsGoOfCuptiWhenTheApplicationWantsIt) {
  for (auto mode : {"subscribe", "subscribe-v2", "activity"})
    for (bool profile_only : {false, true}) {
      SCOPED_TRACE(mode);
      request.config.profile_only = profile_only;
      auto outcome = record({"own_profiler", mode, request.cupti.string()});
      EXPECT_THAT(omissions(outcome), HasSubstr("has let go"));
      ASSERT_TRUE(profile(outcome, "work"));
      EXPECT_EQ(profile(outcome, "work")->count, 5u) << "those before";
    }
}

TEST_F(GpuRecorder, LeavesRecordsToAnApplicationThatAskedForThemBeforeItUsedCuda) {
  for (bool profile_only : {false, true}) {
    request.config.profile_only = profile_only;
    auto outcome =
        record({"own_profiler", "early", request.cupti.string()});  // Same output: it has all twelve records.
    EXPECT_THAT(omissions(outcome), HasSubstr("uses CUPTI already"));
  }
}

TEST_F(GpuRecorder, RecordsAnApplicationThatHasOpenedCuptiAndDoesNotUseIt) {
  auto outcome = record({"own_profiler", "loaded", request.cupti.string()});
  ASSERT_TRUE(profile(outcome, "work"));
  EXPECT_EQ(profile(outcome, "work")->count, 12u);
}

TEST_F(GpuRecorder, TakesEachGpusOwnVariables) {
  int count = 0;
  auto ask = reinterpret_cast<int (*)(int*)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuDeviceGetCount"));
  if (!ask || ask(&count) != 0 || count < 2) GTEST_SKIP() << "one GPU only";
  auto outcome = record({"two_gpus"});
  ASSERT_TRUE(capture && capture->instances().size() >= 2) << omissions(outcome);
  for (auto& one : capture->instances()) {
    int gpu = int(one.launch_index % 2);
    for (auto& variable : one.variables)
      if (variable.key == "factor") EXPECT_EQ(value<int>(variable.before), 10 + gpu) << one.id;
      else if (variable.key == "calls")
        EXPECT_EQ(value<int>(variable.after), value<int>(variable.before) + 1) << one.id;
    EXPECT_EQ(value<int>(one.regions.at(0).after, 3), value<int>(one.regions.at(0).before, 3) + 10 + gpu) << one.id;
  }
}

TEST_F(GpuRecorder, NamesTheBytesOfALaunchThatIsTooLarge) {
  request.config.instance_bytes = 1 << 20;
  auto outcome = record({"plain", "20"});
  EXPECT_TRUE(outcome.instances.empty());
  EXPECT_THAT(omissions(outcome), HasSubstr("raise --mib"));
}

TEST_F(GpuRecorder, TwoInstancesOfUnchangedMemoryTakeHardlyMoreThanOne) {
  uint64_t stored[2];
  for (uint64_t instances : {1, 2}) {
    request.config.instances = instances;
    request.config.kernel = "touch";
    auto outcome = record({"large", "256", "2"}, false);
    ASSERT_EQ(outcome.instances.size(), instances) << omissions(outcome);
    stored[instances - 1] = outcome.stored_bytes;
  }
  EXPECT_LE(double(stored[1]), 1.1 * double(stored[0]));
}

}  // namespace
}  // namespace kernelift::record
