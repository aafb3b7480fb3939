// A device as the runner sees it: load an image, place memory at an address, run a list of copies, fills and launches
// within a deadline, and say how long parts of it took. Restoring, poisoning and comparing are launches as well, of the
// runner's own kernels, which every device has (judging_kernels). What a kernel does wrong comes back as an outcome,
// never as an Error: an Error is the environment's. Real ones: cuda/ for NVIDIA's GPUs, confined_cpu/ for this
// machine's processor; HIP would be the third. A fake over host memory (fake/) makes the runner's logic testable
// without a GPU. Not here: judging, statistics. One device belongs to one thread of one process.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/capture.h"

namespace kernelift {

struct DeviceFacts {
  std::string label;  ///< "cuda: NVIDIA H200, sm_90, driver 580.159.03": every timing is labelled with it.
  std::string name;   ///< "NVIDIA H200"
  std::string arch;   ///< "sm_90"
  int ordinal = 0;
  std::vector<int> same_model;  ///< Ordinals of all devices of this model, this one included.
  uint64_t memory_bytes = 0, free_bytes = 0, cache_bytes = 0;
  uint32_t multiprocessors = 1, threads_per_multiprocessor = 0;
  uint32_t blocks_per_multiprocessor = 0, registers_per_multiprocessor = 0;  ///< 0: not known.
  uint32_t shared_per_multiprocessor = 0, shared_taken_per_block = 0;  ///< The latter beside what a kernel asks for.
  uint32_t max_threads_per_block = 1024, shared_per_block = 48 << 10, shared_per_block_optin = 48 << 10;
  Dim3 max_grid{0x7fffffff, 65535, 65535}, max_block{1024, 1024, 64};
  uint64_t granule = 2 << 20;  ///< Bytes of the pieces in which memory is placed at an address.
  uint64_t guard = 0;          ///< Bytes on either side of placed memory that fault, where nothing else is placed.
  /// This machine's processor: code runs in processes of its own, which a fault ends, and nothing else; where code lies
  /// in memory changes its speed, other programs disturb it, and memory cannot be had at another address than recorded.
  bool processor = false;
  uint32_t cores = 1;  ///< That write to memory at once, of a processor.
};

struct DeviceKernel {
  std::string name;  ///< As the image spells it.
  uint64_t handle = 0;
  uint32_t registers = 0, local_bytes = 0, shared_bytes = 0, constant_bytes = 0;
  uint32_t max_threads = 1024;        ///< Per block, by registers and __launch_bounds__.
  std::vector<Parameter> parameters;  ///< Empty and !knows_parameters: the driver is too old to tell.
  bool knows_parameters = false;
  /// Blocks of so many threads and dynamic shared bytes that one multiprocessor holds at once.
  std::function<int(uint32_t threads, uint32_t shared)> resident_blocks;
};

struct DeviceVariable {
  std::string name;
  uint64_t address = 0, size = 0;
};

/// A loaded image; the last copy's end unloads it.
struct DeviceImage {
  std::vector<DeviceKernel> kernels;
  std::vector<DeviceVariable> variables;
  std::shared_ptr<void> hold;
};

/// Who sees placed memory. Where the device can hide it from launches (a processor's processes do not inherit it), a
/// candidate cannot read answers that are Hidden.
enum class Reach { Launches, Hidden };

/// Placed memory; the last copy's end gives it back.
struct DeviceMemory {
  uint64_t address = 0, size = 0;
  std::shared_ptr<void> hold;
  std::function<bool()> seal = {};  ///< Makes it read-only for good, where the device can; null: it cannot.
};

struct DeviceLaunch {
  uint64_t kernel = 0;
  Geometry geometry;
  Dim3 cluster{0, 0, 0};             ///< 0: none.
  int cluster_policy = 0;            ///< How clusters are scheduled, as the driver numbers it; 0: its default.
  int carveout = -1;                 ///< Percent of the L1 wanted as shared memory; -1: the driver's choice.
  int cache_config = 0;              ///< Shared memory or L1, as the driver numbers the preference; 0: none.
  int priority = 0;                  ///< Of the launch, as the driver numbers it; 0: the default.
  std::vector<std::byte> arguments;  ///< Packed as the device sees them.
};

/// One piece of memory to be copied by the judging kernel kl_copy_ranges, as it lies in device memory.
struct DeviceRange {
  uint64_t to = 0, from = 0, bytes = 0;
};

/// What is to happen on the device, in order.
class DeviceProgram {
 public:
  /// The process that launches does everything else as well, so that the caches are as its kernels find them. For
  /// programs that are timed; they touch no Hidden memory. Of no meaning on a GPU.
  bool together = false;
  /// Blocks are run in another order, where the device can choose it.
  bool reordered = false;

  struct Step {
    enum class Kind { Copy, Fill, Launch, Begin, End } kind;
    uint64_t to = 0, from = 0, bytes = 0;
    std::byte byte{};
    const DeviceLaunch* launch = nullptr;
  };
  void copy(uint64_t to, uint64_t from, uint64_t bytes) { add({Step::Kind::Copy, to, from, bytes, {}, nullptr}); }
  void fill(uint64_t to, std::byte byte, uint64_t bytes) { add({Step::Kind::Fill, to, 0, bytes, byte, nullptr}); }
  /// EXPECTS: `launch` outlives the run.
  void launch(const DeviceLaunch& launch) { steps_.push_back({Step::Kind::Launch, 0, 0, 0, {}, &launch}); }
  /// What lies between begin() and end() is timed; intervals do not overlap.
  void begin() { steps_.push_back({Step::Kind::Begin, 0, 0, 0, {}, nullptr}); }
  void end() { steps_.push_back({Step::Kind::End, 0, 0, 0, {}, nullptr}); }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  void add(Step step) {
    if (step.bytes > 0) steps_.push_back(step);
  }
  std::vector<Step> steps_;
};

enum class DeviceFault {
  None,
  LaunchRefused,  ///< The configuration; nothing ran.
  OverResources,  ///< Registers, shared memory, co-residency; nothing ran.
  Crashed,        ///< Illegal address, misaligned access, trap, assertion.
  Forbidden,      ///< A system call that no kernel makes.
  Unsupported,    ///< The device does not have what the kernel uses.
  TimedOut,       ///< Still running at the deadline.
  Lost,           ///< The device itself: fell off the bus, uncorrectable memory.
};

struct DeviceOutcome {
  DeviceFault fault = DeviceFault::None;
  std::string detail;
  std::vector<double> seconds = {};  ///< Of each begin/end pair.
  bool survived = false;             ///< The fault ended a process of the code's own.
  uint64_t address = 0;              ///< Where a crash accessed memory, as far as known; else 0.
  bool wrote = false;                ///< That access was a write.
  bool ok() const { return fault == DeviceFault::None; }
  /// False: nothing more can be run in this process.
  bool usable() const {
    return survived || fault == DeviceFault::None || fault == DeviceFault::LaunchRefused ||
           fault == DeviceFault::OverResources || fault == DeviceFault::Unsupported;
  }
};

struct DeviceClocks {
  double megahertz = 0;    ///< Of the multiprocessors; 0: unknown.
  bool throttled = false;  ///< By heat, power or the operator, right now.
  std::string why;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// An Error says what the driver says of the image. `first`: it is placed in front of images that were loaded before,
  /// where that can change its speed.
  virtual Result<DeviceImage> load(std::string_view image, bool first = false) = 0;
  /// The runner's own kernels, kl_compare and the like (host_kernels.h lists them), as this device runs them.
  virtual Result<DeviceImage> judging_kernels() = 0;
  /// At exactly `address` (whole granules around it are taken), or anywhere if that is 0. An Error names address, size
  /// and reason.
  virtual Result<DeviceMemory> place(uint64_t address, uint64_t bytes, Reach reach = Reach::Launches) = 0;
  virtual DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) = 0;
  virtual Status write(uint64_t to, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t from, std::span<std::byte> bytes) = 0;
  virtual DeviceClocks clocks() = 0;

  /// Asked while a launch is waited for, where the device can end one: true ends it as timed out.
  std::function<bool()> interrupted;
};

}  // namespace kernelift
