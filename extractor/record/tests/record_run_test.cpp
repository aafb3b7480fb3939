// A whole recorded run: the real recorder library in a real process with a fake runtime.
#include "extractor/record/record_run.h"

#include <gmock/gmock.h>

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <set>

#include "core/base/file.h"
#include "core/model/kernel_key.h"
#include "core/model/runtime_program.h"
#include "extractor/record/cuda/cupti/find_cupti.h"
#include "extractor/record/hot_list.h"
#include "extractor/record/process_list.h"

namespace kernelift::record {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RecordRunTest : public ::testing::Test {
 protected:
  TemporaryFolder scratch_ = std::move(*TemporaryFolder::create("kernelift-record-test"));

  RecordRequest request(std::vector<std::string> arguments) {
    RecordRequest request;
    request.command = std::move(arguments);
    request.command.insert(request.command.begin(), FAKE_APPLICATION);
    request.state = scratch_.path() / ".kernelift";
    request.library = RECORDER_LIBRARY;
    request.application_to_stderr = true;
    return request;
  }
};

TEST_F(RecordRunTest, ProfilesEveryKernelAndKeepsInstancesOfEach) {
  auto outcome = record_application(request({"run", "100"}));
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->application.ok());
  EXPECT_TRUE(outcome->info.complete);
  ASSERT_EQ(outcome->info.profile.size(), 2u);
  EXPECT_EQ(outcome->info.profile[0].key, canonical_key("_ZN3app5scaleEPfi"));
  EXPECT_EQ(outcome->info.profile[0].count, 100u);
  EXPECT_NEAR(outcome->info.profile[0].median_us, 10, 1e-6);
  EXPECT_EQ(outcome->instances.size(), 8u) << "four of each kernel: launches 0, 1, 8 and 64";
  EXPECT_EQ(outcome->folder, scratch_.path() / ".kernelift" / "capture");
  auto capture = Capture::open(outcome->folder);
  ASSERT_TRUE(capture.ok());
  for (auto& instance : capture->instances()) {
    if (instance.kernel != canonical_key("_ZN3app5scaleEPfi")) continue;
    ASSERT_EQ(instance.regions.size(), 1u);
    EXPECT_EQ(instance.regions[0].reached_from.text(), "arg 0");
    auto before = *capture->load(instance.regions[0].before), after = *capture->load(instance.regions[0].after);
    float first, then;
    std::memcpy(&first, before.data(), 4), std::memcpy(&then, after.data(), 4);
    EXPECT_EQ(first, float(instance.launch_index));
    EXPECT_EQ(then, first + 1);
  }
}

TEST_F(RecordRunTest, WeightsAddUpToOneAndSomethingIsHeldOut) {
  auto outcome = record_application(request({"run", "100"}));
  ASSERT_TRUE(outcome.ok());
  double weight = 0;
  int held_out = 0;
  for (auto& instance : outcome->instances)
    if (instance.kernel == "shift(float*)") weight += instance.weight, held_out += instance.held_out;
  EXPECT_NEAR(weight, 1, 1e-9);
  EXPECT_EQ(held_out, 1);
}

TEST_F(RecordRunTest, CapturesOnlyWhatTheExpressionFinds) {
  auto wanted = request({"run"});
  wanted.config.kernel = "^app::";
  wanted.config.skip = 5;
  wanted.config.instances = 1;
  auto outcome = record_application(wanted);
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(outcome->instances.size(), 1u);
  EXPECT_EQ(outcome->instances[0].launch_index, 5u);
  EXPECT_EQ(outcome->info.profile.size(), 2u) << "the profile is of all kernels";
}

TEST_F(RecordRunTest, KeepsAnEarlierCaptureWhenNothingMatches) {
  ASSERT_TRUE(record_application(request({"run"})).ok());
  auto unmatched = request({"run"});
  unmatched.config.kernel = "no_such_kernel";
  auto outcome = record_application(unmatched);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->folder.empty());
  EXPECT_TRUE(outcome->runtime_seen);
  EXPECT_EQ(outcome->info.profile.size(), 2u) << "what was seen can be listed";
  auto kept = Capture::open(scratch_.path() / ".kernelift" / "capture");
  ASSERT_TRUE(kept.ok());
  EXPECT_FALSE(kept->instances().empty());
  EXPECT_FALSE(fs::exists(scratch_.path() / ".kernelift" / "capture.new"));
}

TEST_F(RecordRunTest, KeepsThePreviousCaptureBesideTheNewOne) {
  ASSERT_TRUE(record_application(request({"run"})).ok());
  ASSERT_TRUE(record_application(request({"run", "100"})).ok());
  ASSERT_TRUE(record_application(request({"run", "100"})).ok());
  EXPECT_TRUE(Capture::open(scratch_.path() / ".kernelift" / "capture.old").ok());
}

TEST_F(RecordRunTest, AProfileDoesNotDisplaceACapture) {
  ASSERT_TRUE(record_application(request({"run"})).ok());
  auto profile = request({"run", "100"});
  profile.config.profile_only = true;
  auto outcome = record_application(profile);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->folder.filename(), "profile");
  EXPECT_TRUE(outcome->instances.empty());
  EXPECT_FALSE(Capture::open(scratch_.path() / ".kernelift" / "capture")->instances().empty());
}

TEST_F(RecordRunTest, KeepsWhatACrashedOrKilledApplicationHadFinished) {
  for (auto mode : {"crash", "killed"}) {
    auto outcome = record_application(request({mode}));
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_FALSE(outcome->application.ok());
    EXPECT_FALSE(outcome->info.complete);
    EXPECT_GE(outcome->instances.size(), 5u) << mode;
    auto capture = Capture::open(outcome->folder);
    ASSERT_TRUE(capture.ok());
    for (auto& instance : capture->instances())
      for (auto& region : instance.regions) EXPECT_TRUE(capture->load(region.after).ok());
    EXPECT_GE(outcome->info.profile.size(), 1u);
  }
}

TEST_F(RecordRunTest, OutlivesCtrlCAndKeepsWhatWasRecorded) {
  auto outcome = record_application(request({"interrupted"}));
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_FALSE(outcome->folder.empty());
  EXPECT_FALSE(record_application(request({"fail"}))->interrupted);
}

TEST_F(RecordRunTest, EndsWhereASignalsHandlerEndsTheProcessInTheMiddleOfAnImage) {
  auto ended = request({"ended-inside"});
  ended.command.insert(ended.command.begin(), {"timeout", "20"});
  auto outcome = record_application(ended);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->application.exit_code, 5);
  EXPECT_EQ(outcome->instances.size(), 2u);
}

TEST_F(RecordRunTest, TakesNextToNothingFromTheApplicationsHeap) {
  // A signal's handler that ends the process would wait for ever for the lock of a heap that we were in the middle of.
  auto counted = request({"counted", "100"});
  counted.application_to_stderr = false;
  ::testing::internal::CaptureStdout();
  auto outcome = record_application(counted);
  std::string printed = ::testing::internal::GetCapturedStdout();
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  size_t at = printed.find("heap: ");
  if (at == std::string::npos) GTEST_SKIP() << "a sanitizer has its own heap";
  EXPECT_LT(std::stoi(printed.substr(at + 6)), 20) << "in 200 launches";
}

TEST_F(RecordRunTest, OutlivesABatchSystemsNoticeAndPassesItOn) {
  auto sleeping = request({});
  sleeping.command = {"/bin/sh", "-c", "kill -TERM $(ps -o ppid= $PPID); exec sleep 60"};
  auto outcome = record_application(sleeping);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_EQ(outcome->application.signal, SIGTERM);
}

TEST_F(RecordRunTest, KeepsAsideWhatAKilledRecordHadCaptured) {
  auto earlier = record_application(request({"run"}));
  ASSERT_TRUE(earlier.ok());
  fs::path state = scratch_.path() / ".kernelift";
  fs::create_directories(state / "capture.new");
  fs::rename(state / "capture", state / "capture.new/process-7");  // As if it had been killed at that time.
  auto outcome = record_application(request({"idle"}));
  ASSERT_TRUE(outcome.ok());
  ASSERT_EQ(outcome->notes.size(), 1u);
  EXPECT_THAT(outcome->notes[0], HasSubstr("capture.lost"));
  auto kept = Capture::open(state / "capture.lost");
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->instances().size(), earlier->instances.size());

  fs::create_directories(state / "capture.new");
  fs::copy(state / "capture.lost", state / "capture.new/process-8", fs::copy_options::recursive);
  outcome = record_application(request({"idle"}));
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(Capture::open(state / "capture.lost").ok()) << "nobody has looked at it yet";
  EXPECT_TRUE(Capture::open(state / "capture.lost.2").ok());
}

TEST_F(RecordRunTest, TellsAnIdleProgramFromOneThatIsNotOurs) {
  auto idle = record_application(request({"idle"}));
  ASSERT_TRUE(idle.ok());
  EXPECT_TRUE(idle->runtime_seen);
  EXPECT_TRUE(idle->info.profile.empty());
  auto stranger = record_application(request({"stranger"}));
  ASSERT_TRUE(stranger.ok());
  EXPECT_FALSE(stranger->runtime_seen);
  EXPECT_TRUE(stranger->notes.empty());
  auto dead = request({});
  dead.command = {"/bin/sh", "-c", "kill -SEGV $$"};
  auto died = record_application(dead);
  ASSERT_TRUE(died.ok());
  EXPECT_THAT(died->notes,
              ::testing::ElementsAre(HasSubstr("/bin/sh never used CUDA: it ended before its first call")));
}

TEST_F(RecordRunTest, GivesAForkedChildARecordingOfItsOwn) {
  auto outcome = record_application(request({"fork"}));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->info.profile.at(0).count, 23u) << "of both";
  ASSERT_EQ(outcome->info.processes.size(), 2u);
  EXPECT_EQ(outcome->info.processes[0].launches + outcome->info.processes[1].launches, 46u);
  ASSERT_EQ(outcome->notes.size(), 1u);
  EXPECT_THAT(outcome->notes[0], HasSubstr("the other processes"));
  int others = 0;
  for (auto& entry : fs::directory_iterator(outcome->folder / "processes")) {
    auto child = Capture::open(entry.path());
    ASSERT_TRUE(child.ok()) << child.error().message;
    EXPECT_EQ(child->info().profile.at(0).count, 3u);
    ++others;
  }
  EXPECT_EQ(others, 1);
}

TEST_F(RecordRunTest, SumsUpTheRanksOfAJobAndTakesImagesOfOneOfThem) {
  for (uint64_t wanted : {0, 2}) {
    auto asked = request({"ranks"});
    if (wanted > 0) asked.config.rank = wanted;
    auto outcome = record_application(asked);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->info.rank, wanted);
    EXPECT_EQ(outcome->info.profile.at(0).count, 10u + 11 + 12 + 13);
    ASSERT_EQ(outcome->info.processes.size(), 4u);
    ASSERT_EQ(outcome->profiles.size(), 4u);
    std::set<uint64_t> ranks;
    for (size_t i = 0; i < 4; ++i) {
      auto& process = outcome->info.processes[i];
      ASSERT_TRUE(process.rank);
      ranks.insert(*process.rank);
      EXPECT_EQ(process.images, *process.rank == wanted);
      EXPECT_EQ(outcome->profiles[i].at(0).count, 10 + *process.rank);
    }
    EXPECT_EQ(ranks, (std::set<uint64_t>{0, 1, 2, 3}));
    EXPECT_THAT(process_list(outcome->info.processes), HasSubstr("rank " + std::to_string(wanted)));
    auto kept = Capture::open(outcome->folder);
    ASSERT_TRUE(kept.ok());
    EXPECT_FALSE(kept->instances().empty());
    EXPECT_EQ(kept->info().profile.at(0).count, 46u) << "what is read later are the sums, too";
    EXPECT_EQ(kept->info().processes.size(), 4u);
    for (auto& other : fs::directory_iterator(outcome->folder / "processes"))
      EXPECT_TRUE(Capture::open(other.path())->instances().empty()) << "profiled only";
  }
  auto nobody = request({"ranks"});
  nobody.config.rank = 9;
  auto outcome = record_application(nobody);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->folder.empty());
  EXPECT_EQ(outcome->info.processes.size(), 4u);
}

TEST_F(RecordRunTest, TellsProcessesWithoutARankByTheirOrder) {
  auto child = request({"fork"});
  child.config.rank = 1;
  auto outcome = record_application(child);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_EQ(outcome->info.processes.size(), 2u);
  for (auto& process : outcome->info.processes) EXPECT_EQ(process.images, process.launches == 6u);
  EXPECT_EQ(Capture::open(outcome->folder)->instances().at(0).launch_index, 0u);
}

TEST_F(RecordRunTest, AProgramThatAScriptRunsSeveralTimesIsOneRecording) {
  auto script = request({});
  script.command = {"/bin/sh", "-c", std::string("for n in 7 9 11; do ") + FAKE_APPLICATION + " run $n; done"};
  auto outcome = record_application(script);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->info.profile.at(0).count, 27u);
  ASSERT_EQ(outcome->info.processes.size(), 3u);
  for (auto& process : outcome->info.processes)
    EXPECT_EQ(process.images, process.command.back() == "11") << "of like processes the one that took most time";
  script.config.profile_only = true;
  auto profile = record_application(script);
  ASSERT_TRUE(profile.ok()) << profile.error().message;
  for (auto& process : profile->info.processes) EXPECT_FALSE(process.images) << "no memory is captured";
}

TEST(ProcessList, ASetupThatHardlyUsesTheDeviceDoesNotCountAsRunTime) {
  CaptureInfo setup, first, second;
  setup.run_seconds = 100, setup.profile = {{"k", "", 1, 1, 1, 1, 1, {}}};
  first.run_seconds = 4, first.rank = 1, first.profile = {{"k", "", 10, 3e6, 1, 2, 3, {}}};
  second.run_seconds = 6, second.rank = 0, second.profile = {{"k", "", 10, 5e6, 1, 2, 4, {}}};
  auto sum = sum_of({setup, first, second}, {"process-1", "process-2", "process-3"}, 1);
  EXPECT_EQ(sum.run_seconds, 10);
  EXPECT_EQ(sum.profile.at(0).total_us, 8e6 + 1);
  EXPECT_EQ(sum.rank, 1u);
  std::string text = process_list(sum.processes);
  EXPECT_LT(text.find("rank 0"), text.find("rank 1"));
  EXPECT_LT(text.find("rank 1"), text.find("process-1"));
  EXPECT_EQ(process_list({sum.processes[0]}), "") << "one process needs no list";
}

TEST_F(RecordRunTest, KeepsWhatNvrtcCompilesHoweverTheProcessFoundIt) {
  if (!fs::exists(NVRTC)) GTEST_SKIP() << NVRTC << " is not installed";
  for (auto mode : {"nvrtc", "nvrtc-linked"}) {
    SCOPED_TRACE(mode);
    auto compiling = request({mode, NVRTC});
    compiling.nvrtc_library = NVRTC_RECORDER_LIBRARY;
    auto outcome = record_application(compiling);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    ASSERT_EQ(outcome->application.exit_code, 0) << "which step failed";
    EXPECT_EQ(outcome->programs, 1u) << "not the one that does not compile";
    auto programs = runtime_programs(outcome->folder);
    ASSERT_EQ(programs.size(), 1u);
    EXPECT_EQ(programs[0].name, "twice.cu");
    EXPECT_THAT(programs[0].source, HasSubstr("T(TWO)"));
    EXPECT_EQ(programs[0].headers.at("two.h"), "#define TWO 2\n");
    EXPECT_THAT(programs[0].options, ::testing::ElementsAre("--gpu-architecture=sm_90", "-std=c++17"));
    EXPECT_EQ(programs[0].names.at("twice<float>"), "_Z5twiceIfEvPT_");
    EXPECT_THAT(programs[0].image, HasSubstr("_Z5twiceIfEvPT_"));
    EXPECT_THAT(programs[0].caller, HasSubstr("kernelift_fake_application"));
    EXPECT_THAT(programs[0].command, ::testing::Contains(NVRTC));
  }
}

TEST_F(RecordRunTest, PassesTheExitCodeOn) {
  auto outcome = record_application(request({"fail"}));
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->application.exit_code, 7);
  EXPECT_FALSE(outcome->folder.empty());
}

TEST_F(RecordRunTest, RefusesABadExpressionAndAMissingProgram) {
  auto bad = request({"run"});
  bad.config.kernel = "(";
  auto outcome = record_application(bad);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().exit, Exit::Usage);
  for (bool to_stderr : {false, true}) {
    auto missing = request({});
    missing.command = {"./no-such-program"};
    missing.application_to_stderr = to_stderr;
    outcome = record_application(missing);
    ASSERT_FALSE(outcome.ok());
    EXPECT_THAT(outcome.error().message, HasSubstr("no-such-program"));
  }
}

TEST_F(RecordRunTest, LeavesOutALaunchThatIsTooLargeAndSaysSo) {
  auto small = request({"run"});
  small.config.instance_bytes = 1000;
  auto outcome = record_application(small);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->instances.empty());
  ASSERT_FALSE(outcome->info.omissions.empty());
  EXPECT_THAT(outcome->info.omissions[0].why, HasSubstr("arg 0"));
}

/// What a library may ask of, and show to, a process that is not ours.
void expect_good_guest(const char* library, std::set<std::string> exports) {
  auto nm = find_program("nm");
  if (!nm) GTEST_SKIP() << "nm is not installed (binutils)";
  auto listed = run_process({nm->string(), "-D", library});
  ASSERT_TRUE(listed.ok() && listed->ok());
  std::istringstream lines(listed->out);
  std::string line;
  std::set<std::string> exported;
  while (std::getline(lines, line)) {
    if (line.find(" U ") == std::string::npos && line.find(" w ") == std::string::npos)
      exported.insert(line.substr(line.rfind(' ') + 1));
    if (size_t at = line.find("@GLIBC_2."); at != std::string::npos)
      EXPECT_LE(std::atoi(line.c_str() + at + 9), 28) << line;
    for (auto forbidden : {" exit", " abort_msg", " printf", " puts", "llvm"})
      EXPECT_EQ(line.find(std::string(" U") + forbidden + "@"), std::string::npos) << line;
  }
  EXPECT_EQ(exported, exports);
}

/// Loaded whatever the process has: only what every Linux brings.
void expect_needs_only_libc(const char* library) {
  auto readelf = find_program("readelf");
  if (!readelf) GTEST_SKIP() << "readelf is not installed (binutils)";
  auto listed = run_process({readelf->string(), "-d", library});
  ASSERT_TRUE(listed.ok() && listed->ok());
  std::istringstream lines(listed->out);
  std::string line;
  int needed = 0;
  while (std::getline(lines, line)) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    ++needed;
    EXPECT_THAT(line, ::testing::AnyOf(HasSubstr("[libc.so"), HasSubstr("[libm.so"), HasSubstr("[libpthread.so"),
                                       HasSubstr("[libdl.so"), HasSubstr("[ld-linux")));
  }
  EXPECT_GT(needed, 0);
}

TEST(RecorderLibrary, ExportsItsEntriesAndNeedsNoNewGlibc) {
  expect_good_guest(RECORDER_LIBRARY, {"kernelift_recorder_attach", "InitializeInjectionNvtx2"});
  expect_needs_only_libc(RECORDER_LIBRARY);
}

TEST(NvrtcRecorderLibrary, ExportsItsEntriesAndNeedsNoNewGlibc) {
  expect_good_guest(NVRTC_RECORDER_LIBRARY, {"nvrtcCreateProgram", "nvrtcAddNameExpression", "nvrtcCompileProgram",
                                             "nvrtcDestroyProgram", "dlsym"});
  expect_needs_only_libc(NVRTC_RECORDER_LIBRARY);
}

#if defined(CUDA_RECORDER_LIBRARY)
TEST(CudaRecorderLibrary, ExportsItsEntriesAndNeedsNoNewGlibc) {
  expect_good_guest(CUDA_RECORDER_LIBRARY, {"InitializeInjection", "InitializeInjectionNvtx2"});
  expect_needs_only_libc(CUDA_RECORDER_LIBRARY);
}

TEST(CudaRecorderLibrary, DoesNothingInAProcessThatIsNotRecorded) {
  unsetenv("KERNELIFT_RECORD_FOLDER");
  void* library = dlopen(CUDA_RECORDER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  ASSERT_TRUE(initialize);
  errno = 77;
  EXPECT_EQ(initialize(), 1);
  EXPECT_EQ(errno, 77);
}
#endif

TEST(FindCupti, TakesTheNewestThatIsNoNewerThanTheDriver) {
  auto scratch = std::move(*TemporaryFolder::create("kernelift-cupti-test"));
  fs::path folder = scratch.path() / "extras/CUPTI/lib64";
  for (auto name : {"libcupti.so", "libcupti.so.11.8", "libcupti.so.12", "libcupti.so.2025.3.1", "libcupti_static.a"})
    ASSERT_TRUE(write_atomically(folder / name, std::string_view("x")).ok());
  EXPECT_EQ(cupti_major("libcupti.so"), 0);
  EXPECT_EQ(cupti_major("libcupti.so.12"), 12);
  EXPECT_EQ(cupti_major("libcupti.so.2025.3.1"), 13);
  setenv("KERNELIFT_CUPTI", folder.c_str(), 1);
  EXPECT_EQ(find_cupti({}, 0)->filename(), "libcupti.so.2025.3.1");
  setenv("KERNELIFT_CUPTI", (folder / "libcupti.so.12").c_str(), 1);
  EXPECT_EQ(find_cupti({}, 0)->filename(), "libcupti.so.12") << "a file is taken at its word";
  unsetenv("KERNELIFT_CUPTI");
  EXPECT_EQ(find_cupti({scratch.path()}, 12040)->filename(), "libcupti.so.12");
}

TEST(HotList, AlignsColumnsAndSumsUpTheTail) {
  std::vector<KernelProfile> profile;
  for (int i = 0; i < 5; ++i) profile.push_back({"k" + std::to_string(i), "", 10, 1000.0 / (i + 1), 1, 2, 3, {}});
  auto text = hot_list(profile, 3);
  EXPECT_THAT(text, HasSubstr("     43.8%   1.00 ms       10    2.0 us    1.0 us    3.0 us  k0\n"));
  EXPECT_THAT(text, HasSubstr("in 2 more kernels"));
  EXPECT_EQ(hot_list({{"k", "", 7, 0, 0, 0, 0, {}}}).substr(hot_list({}).size()),
            "         -         -        7         -         -         -  k\n")
      << "launched, not timed";
  profile = {{"ns::k<int>(int*)", "", 10, 1000, 1, 2, 3, {}},
             {"f(int)", "", 10, 900, 1, 2, 3, {}},
             {"f(float)", "", 10, 800, 1, 2, 3, {}},
             {"tiny()", "", 10, 1, 1, 2, 3, {}}};
  text = hot_list(profile);
  EXPECT_THAT(text, HasSubstr("  ns::k<int>\n"));
  EXPECT_THAT(text, HasSubstr("  f(float)\n")) << "an overload";
  EXPECT_EQ(names_in(profile).of("ns::k<int>(int*)"), "ns::k<int>");
  EXPECT_EQ(names_in(profile).of("f(int)"), "f(int)") << "not f, of which there are two";
  EXPECT_THAT(text, HasSubstr("in 1 more kernel\n"));
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(duration_text(0.25), "250 ns");
}

}  // namespace
}  // namespace kernelift::record
