// Launches in NVTX ranges. What is watched is one for a process and stays so: each case runs in a process of its own.
#include "extractor/record/nvtx_ranges.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "core/base/file.h"
#include "extractor/record/cpu/recorder.h"
#include "extractor/record/tests/fake_runtime.h"

namespace kernelift::record {
namespace {

/// In a child: `work` says by an empty text that all is right.
void expect_in_child(const std::function<std::string()>& work) {
  auto child = [&] {
    const std::string wrong = work();
    std::fprintf(stderr, "%s\n", wrong.c_str());
    _exit(wrong.empty() ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST(NvtxRanges, CountsThePushedRangesOfAThread) {
  expect_in_child([]() -> std::string {
    NvtxRanges::watch("step");
    if (NvtxRanges::occurrence() != 0) return "before";
    NvtxRanges::push(nullptr, "all"), NvtxRanges::push(nullptr, "step"), NvtxRanges::push(nullptr, "inner");
    const uint64_t first = NvtxRanges::occurrence();
    if (first == 0) return "a range inside it is in it, too";
    uint64_t elsewhere = 1;
    std::thread([&] { elsewhere = NvtxRanges::occurrence(); }).join();
    if (elsewhere != 0) return "another thread is not in it";
    NvtxRanges::pop(nullptr), NvtxRanges::pop(nullptr);
    if (NvtxRanges::occurrence() != 0) return "after";
    NvtxRanges::push(nullptr, "step");
    if (NvtxRanges::occurrence() <= first) return "the next time is another one";
    NvtxRanges::pop(nullptr), NvtxRanges::pop(nullptr), NvtxRanges::pop(nullptr);
    return NvtxRanges::occurrence() != 0 ? "popped too often" : "";
  });
}

TEST(NvtxRanges, ADomainHasAStackOfItsOwn) {
  expect_in_child([]() -> std::string {
    NvtxRanges::watch("step@solver");
    void *solver = NvtxRanges::new_domain("solver"), *other = NvtxRanges::new_domain("other");
    NvtxRanges::push(other, "step");
    if (NvtxRanges::occurrence() != 0) return "of another domain";
    NvtxRanges::push(solver, "step"), NvtxRanges::push(other, "x");
    NvtxRanges::pop(other), NvtxRanges::pop(other);
    if (NvtxRanges::occurrence() == 0) return "the other domain's ends are not its";
    NvtxRanges::pop(solver);
    if (NvtxRanges::occurrence() != 0) return "after";
    return NvtxRanges::missed() == "no kernel was launched in it; other NVTX ranges of the run: 'step@other', 'x@other'"
               ? ""
               : NvtxRanges::missed();
  });
}

TEST(NvtxRanges, AStartedRangeIsOfAllThreadsUntilItsLastEnd) {
  expect_in_child([]() -> std::string {
    NvtxRanges::watch("step");
    const uint64_t one = NvtxRanges::start(nullptr, "step"), two = NvtxRanges::start(nullptr, "step");
    uint64_t elsewhere = 0;
    std::thread([&] { elsewhere = NvtxRanges::occurrence(), NvtxRanges::end(one); }).join();
    if (elsewhere == 0 || NvtxRanges::occurrence() != elsewhere) return "in it";
    NvtxRanges::end(two), NvtxRanges::end(two), NvtxRanges::end(77);
    return NvtxRanges::occurrence() != 0 ? "after" : "";
  });
}

TEST(NvtxRanges, TheRecorderCountsAndCapturesOnlyLaunchesInTheRange) {
  expect_in_child([]() -> std::string {
    auto scratch = TemporaryFolder::create("kernelift-nvtx-test");
    if (!scratch.ok()) return scratch.error().message;
    fake::Runtime runtime;
    fake::Kernel kernel{"_Z1kPf", {{0, 8}}};
    auto* data = runtime.allocate<float>(10);
    RecordConfig config;
    config.folder = scratch->path().string(), config.region = "step";
    Recorder recorder(config, runtime.view);
    auto launch = [&] {
      runtime.launch([&](const kl_record_launch* l) { recorder.launch_begin(*l); },
                     [&](const kl_record_launch* l, double s) { recorder.launch_end(*l, s); }, kernel, fake::pack(data),
                     {1, 1, 1}, 0.001, [&] { data[0] += 1, usleep(2000); });
    };
    std::chrono::duration<double> in_range{};  // Measured: on a busy machine a launch takes longer than it sleeps.
    for (int i = 0; i < 3; ++i) {
      launch(), usleep(30'000);
      const auto began = std::chrono::steady_clock::now();
      NvtxRanges::push(nullptr, "step");
      launch();
      NvtxRanges::pop(nullptr);
      in_range += std::chrono::steady_clock::now() - began;
    }
    recorder.finish();
    auto capture = Capture::open(scratch->path() / ("process-" + std::to_string(getpid())));
    if (!capture.ok()) return capture.error().message;
    if (capture->info().profile.at(0).count != 3) return "all launches are counted";
    float before = 0;
    std::memcpy(&before, capture->load(capture->instances().at(0).regions.at(0).before)->data(), 4);
    if (before != 1) return "the first captured launch is not the first in the range";
    return capture->info().span_seconds > in_range.count() ? "the time between the occurrences counts" : "";
  });
}

/// What NVTX's headers do at their first call, with two functions of the core and one of domains.
namespace fake_nvtx {
using Function = void (*)();
Function push = nullptr, pop = nullptr, domain_push = nullptr, domain_create = nullptr;
Function* core[16] = {};
Function* core2[16] = {};
int table(uint32_t module, Function*** out, unsigned* size) {
  core[9] = &push, core[11] = &pop, core2[4] = &domain_push, core2[12] = &domain_create;
  *out = module == 1 ? core : core2, *size = 16;
  return module == 1 || module == 5;
}
struct Callbacks {
  size_t size = sizeof(Callbacks);
  int (*get)(uint32_t, Function***, unsigned*) = table;
} callbacks;
}  // namespace fake_nvtx

TEST(NvtxRanges, TheRecorderTakesThePlacesOfNvtxsFunctions) {
  expect_in_child([]() -> std::string {
    setenv("KERNELIFT_RECORD_FOLDER", "/nonexistent", 1), setenv("KERNELIFT_RECORD_REGION", "step", 1);
    void* library = dlopen(RECORDER_LIBRARY, RTLD_NOW);
    if (!library) return dlerror();
    auto initialize = reinterpret_cast<int (*)(const void* (*)(uint32_t))>(dlsym(library, "InitializeInjectionNvtx2"));
    if (!initialize) return "no entry for NVTX";
    auto exports = [](uint32_t id) -> const void* { return id == 1 ? &fake_nvtx::callbacks : nullptr; };
    if (initialize(exports) != 1) return "refused";
    if (!fake_nvtx::push || !fake_nvtx::pop || !fake_nvtx::domain_push || !fake_nvtx::domain_create) return "not taken";
    reinterpret_cast<int (*)(const char*)>(fake_nvtx::push)("step");
    reinterpret_cast<int (*)()>(fake_nvtx::pop)();
    void* domain = reinterpret_cast<void* (*)(const char*)>(fake_nvtx::domain_create)("solver");
    struct {
      uint16_t version = 3, size = 48;
      uint32_t category = 0;
      int32_t color_type = 0;
      uint32_t color = 0;
      int32_t payload_type = 0, reserved = 0;
      uint64_t payload = 0;
      int32_t message_type = 1;
      const char* message = "step";
    } event;
    static_assert(sizeof event == 48);
    reinterpret_cast<int (*)(void*, const void*)>(fake_nvtx::domain_push)(domain, &event);
    event.message_type = 0, event.message = nullptr;
    reinterpret_cast<int (*)(void*, const void*)>(fake_nvtx::domain_push)(domain, &event);
    return "";
  });
}

}  // namespace
}  // namespace kernelift::record
