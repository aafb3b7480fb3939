// See steps.h. Grids are sized for the work up to a cap; the kernels are grid-stride loops.
#include "sandbox/evaluate/runner/memory/steps.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "sandbox/judge/rounding_envelope.h"
#include "sandbox/judge/timing/statistics.h"

namespace kernelift::sandbox {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint64_t kMostBlocks = 8192;
constexpr auto kJudgingLimit = std::chrono::seconds(60);
// Duration of an empty kernel by CUPTI's timestamps. On an H200 events measure 2.8 us more than CUPTI for kernels of 1
// to 180 us, and 3.3 us for an empty kernel; the overhead is the latter less this duration.
constexpr double kEmptyKernel = 0.45e-6;
constexpr uint64_t kLeastFlush = 64 << 20;
constexpr uint64_t kFlushCaches = 2;  // Multiple of the L2's size that is read to evict everything else.

/// Appends an argument as the device's ABI requires: at the next multiple of its alignment.
template <class T>
void pack(std::vector<std::byte>& into, const T& value) {
  size_t offset = (into.size() + alignof(T) - 1) / alignof(T) * alignof(T);
  into.resize(offset + sizeof(T));
  std::memcpy(&into[offset], &value, sizeof(T));
}

uint64_t neighbourhoods(const Row& row) {
  uint64_t each = judging::kNeighbourhoodBytes / row.type.width;
  return std::clamp<uint64_t>((row.count + each - 1) / each, 1, kMostBlocks);
}

uint64_t blocks_for(uint64_t items) { return std::clamp<uint64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks); }

}  // namespace

uint64_t JudgingKernels::kernel(const char* name) const {
  for (auto& kernel : image_.kernels)
    if (kernel.name == name) return kernel.handle;
  return 0;
}

Result<std::unique_ptr<JudgingKernels>> JudgingKernels::load(Device& device) {
  std::unique_ptr<JudgingKernels> kernels(new JudgingKernels(device));
  KERNELIFT_ASSIGN(kernels->image_, device.judging_kernels());
  for (auto [name, handle] :
       std::initializer_list<std::pair<const char*, uint64_t*>>{{"kl_compare", &kernels->compare_},
                                                                {"kl_spread", &kernels->spread_},
                                                                {"kl_check_canary", &kernels->canary_},
                                                                {"kl_poison", &kernels->poison_},
                                                                {"kl_copy_written", &kernels->copy_written_},
                                                                {"kl_classify", &kernels->classify_},
                                                                {"kl_uncovered", &kernels->uncovered_},
                                                                {"kl_copy_ranges", &kernels->copy_ranges_},
                                                                {"kl_copy", &kernels->copy_},
                                                                {"kl_mix", &kernels->mix_},
                                                                {"kl_veil", &kernels->veil_kernel_},
                                                                {"kl_flush", &kernels->flush_kernel_},
                                                                {"kl_hold", &kernels->hold_},
                                                                {"kl_write", &kernels->write_},
                                                                {"kl_nothing", &kernels->nothing_}}) {
    *handle = kernels->kernel(name);
    if (*handle == 0) return environment_error(std::string("the runner's own image has no kernel ") + name);
  }
  KERNELIFT_ASSIGN(kernels->findings_, device.place(0, kFindings * sizeof(judging::Finding), Reach::Hidden));
  KERNELIFT_ASSIGN(kernels->fresh_, device.place(0, kFindings * sizeof(judging::Finding), Reach::Hidden));
  KERNELIFT_ASSIGN(kernels->flush_, device.place(0, std::max(kLeastFlush, kFlushCaches * device.facts().cache_bytes)));
  std::vector<judging::Finding> fresh(kFindings, judging::Finding{0, judging::kNone, 0, 0, 0, judging::kNone, 0});
  KERNELIFT_TRY(device.write(kernels->fresh_.address, std::as_bytes(std::span(fresh))));

  constexpr int kTries = 21;
  Steps steps(*kernels);
  steps.fill(kernels->flush_.address, std::byte{0}, kernels->flush_.size);
  for (int i = 0; i < kTries; ++i) {
    steps.hold(std::chrono::microseconds(20));
    steps.begin(), steps.nothing(), steps.end();
  }
  DeviceOutcome outcome = steps.run(kJudgingLimit);
  if (!outcome.ok()) return environment_error("the device does not run the runner's own kernels: " + outcome.detail);
  kernels->overhead_seconds_ = std::max(0.0, median(outcome.seconds) - kEmptyKernel);
  return kernels;
}

double JudgingKernels::net(double seconds) const {
  // Never zero, since durations are divided by.
  constexpr double kLeastShare = 0.1;
  return std::max(seconds - overhead_seconds_, seconds * kLeastShare);
}

Result<std::vector<judging::Finding>> JudgingKernels::read_findings(size_t count) {
  std::vector<judging::Finding> found(count);
  KERNELIFT_TRY(device_.read(findings_.address, std::as_writable_bytes(std::span(found))));
  return found;
}

std::vector<Row> rows_of(const ElementLayout& layout, uint64_t bytes) {
  std::vector<Row> rows;
  uint64_t count = bytes / layout.stride, whole = count * layout.stride;
  for (auto& lane : layout.lanes) rows.push_back({lane.type, lane.offset, count, layout.stride});
  if (whole < bytes) rows.push_back({ElementType{}, whole, bytes - whole, 1});
  return rows;
}

template <class... T>
void Steps::judging_launch(uint64_t kernel, uint64_t blocks, T... arguments) {
  DeviceLaunch& launch = launches_.emplace_back();
  launch.kernel = kernel;
  launch.geometry.grid.x = static_cast<uint32_t>(blocks), launch.geometry.block.x = kThreads;
  (pack(launch.arguments, arguments), ...);
  program_.launch(launch);
}

judging::Task Steps::task(const Row& row, const FloatTolerance& tolerance, uint64_t expected, uint64_t got,
                          size_t finding, bool veiled) const {
  judging::Task task = task_of(row.type, tolerance);
  task.expected = expected + row.offset, task.got = got + row.offset, task.count = row.count, task.stride = row.stride;
  task.into = kernels_.finding(finding);
  task.veil = veiled ? JudgingKernels::veil_of(kernels_.device().facts()) : judging::Veil{};
  return task;
}

void Steps::clear_findings(size_t count) {
  KERNELIFT_ASSERT(count <= JudgingKernels::kFindings, "a program's findings fit");
  program_.copy(kernels_.findings_.address, kernels_.fresh_.address, count * sizeof(judging::Finding));
}

void Steps::compare(const Row& row, const FloatTolerance& tolerance, uint64_t expected, uint64_t got, size_t finding,
                    bool veiled) {
  if (row.count == 0) return;
  judging_launch(kernels_.compare_, neighbourhoods(row), task(row, tolerance, expected, got, finding, veiled));
}

void Steps::spread(const Row& row, uint64_t expected, uint64_t got, size_t finding, bool veiled) {
  if (row.count == 0 || !row.type.is_float()) return;
  FloatTolerance free;
  free.ulps = free_ulps(row.type);
  judging_launch(kernels_.spread_, neighbourhoods(row), task(row, free, expected, got, finding, veiled));
}

void Steps::check_canary(uint64_t begin, uint64_t bytes, std::byte byte, size_t finding) {
  if (bytes == 0) return;
  constexpr uint64_t kEach = 64;
  judging_launch(kernels_.canary_, blocks_for(bytes / kEach), begin, bytes, static_cast<uint32_t>(byte),
                 kernels_.finding(finding));
}

void Steps::poison(const Row& row, uint64_t buffer, uint64_t states, std::byte byte) {
  if (row.count == 0) return;
  judging_launch(kernels_.poison_, blocks_for(row.count), task(row, {}, buffer, buffer, 0), states,
                 static_cast<uint32_t>(byte));
}

void Steps::copy_written(const Row& row, uint64_t from, uint64_t to, uint64_t states, bool veiled) {
  if (row.count == 0) return;
  judging_launch(kernels_.copy_written_, blocks_for(row.count), task(row, {}, from, to, 0, veiled), states);
}

void Steps::classify(const Row& row, const FloatTolerance& tolerance, uint64_t result, uint64_t now, uint64_t states,
                     std::byte byte, size_t finding) {
  if (row.count == 0) return;
  judging_launch(kernels_.classify_, blocks_for(row.count), task(row, tolerance, result, now, finding), states,
                 static_cast<uint32_t>(byte));
}

void Steps::count_uncovered(const Row& row, uint64_t given, uint64_t result, uint64_t states, size_t finding) {
  if (row.count == 0) return;
  judging_launch(kernels_.uncovered_, blocks_for(row.count), task(row, {}, result, given, finding), states);
}

void Steps::copy_ranges(uint64_t ranges, uint64_t count) {
  judging_launch(kernels_.copy_ranges_, std::clamp<uint64_t>(count, 1, kMostBlocks), ranges, count);
}

void Steps::put(uint64_t to, uint64_t from, uint64_t bytes) {
  if (bytes > 0) judging_launch(kernels_.copy_, blocks_for(bytes / 16), to, from, bytes);
}

void Steps::mix(uint64_t to, uint64_t one, uint64_t other, uint64_t bytes, uint64_t stride, uint64_t seed) {
  if (bytes > 0) judging_launch(kernels_.mix_, blocks_for(bytes / stride), to, one, other, bytes, stride, seed);
}

judging::Veil JudgingKernels::veil_of(const DeviceFacts& facts) {
  static const judging::Veil kVeil = [] {
    judging::Veil veil{};
    while (getrandom(veil.key, sizeof veil.key, 0) != sizeof veil.key) {}
    veil.on = 1;
    return veil;
  }();
  return facts.processor ? judging::Veil{} : kVeil;
}

void Steps::veil(uint64_t to, uint64_t from, uint64_t bytes, uint64_t veiled) {
  const judging::Veil veil = JudgingKernels::veil_of(kernels_.device().facts());
  if (!veil.on) return copy(to, from, bytes);
  if (bytes > 0) judging_launch(kernels_.veil_kernel_, blocks_for(bytes / 8), to, from, veiled, bytes, veil);
}

void Steps::flush_cache() {
  judging_launch(kernels_.flush_kernel_, blocks_for(kernels_.flush_.size / 64), kernels_.flush_.address,
                 kernels_.flush_.size, kernels_.finding(0));
}

void Steps::hold(std::chrono::nanoseconds duration) {
  judging_launch(kernels_.hold_, 1, static_cast<uint64_t>(duration.count()));
}

void Steps::write(uint64_t buffer, uint64_t bytes) {
  judging_launch(kernels_.write_, blocks_for(bytes / 16), buffer, bytes, static_cast<uint64_t>(bytes));
}

void Steps::nothing() { judging_launch(kernels_.nothing_, 1); }

}  // namespace kernelift::sandbox
