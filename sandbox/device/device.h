// A device as the runner sees it: load an image, place memory at an address, run a list of copies, fills and launches
// within a deadline, and say how long parts of it took. What a kernel does wrong comes back as an outcome, never as an
// Error: an Error is the environment's. Real ones: cuda/. A fake over host memory (fake/) makes the runner's logic
// testable without a GPU. Not here: judging, statistics, processes. One device belongs to one thread of one process.
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
  std::vector<int> twins;  ///< Ordinals of all devices of this model, this one included.
  uint64_t memory_bytes = 0, free_bytes = 0, cache_bytes = 0;
  uint32_t multiprocessors = 1, threads_per_multiprocessor = 0;
  uint32_t blocks_per_multiprocessor = 0, registers_per_multiprocessor = 0;  ///< 0: not known.
  uint32_t shared_per_multiprocessor = 0, shared_taken_per_block = 0;  ///< The latter beside what a kernel asks for.
  uint32_t max_threads_per_block = 1024, shared_per_block = 48 << 10, shared_per_block_optin = 48 << 10;
  Dim3 max_grid{0x7fffffff, 65535, 65535}, max_block{1024, 1024, 64};
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

/// What is to happen on the device, in order.
class DeviceProgram {
 public:
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
  TimedOut,       ///< Still running at the deadline.
  Lost,           ///< The device itself: fell off the bus, uncorrectable memory.
};

struct DeviceOutcome {
  DeviceFault fault = DeviceFault::None;
  std::string detail;
  std::vector<double> seconds;  ///< Of each begin/end pair.
  bool ok() const { return fault == DeviceFault::None; }
  /// False: nothing more can be run in this process.
  bool usable() const {
    return fault == DeviceFault::None || fault == DeviceFault::LaunchRefused || fault == DeviceFault::OverResources;
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
  /// An Error says what the driver says of the image.
  virtual Result<DeviceImage> load(std::string_view image) = 0;
  /// At exactly `address` (whole granules around it are taken), or anywhere if that is 0. An Error names address, size
  /// and reason.
  virtual Result<DeviceMemory> place(uint64_t address, uint64_t bytes) = 0;
  virtual DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) = 0;
  virtual Status write(uint64_t to, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t from, std::span<std::byte> bytes) = 0;
  virtual DeviceClocks clocks() = 0;
};

inline constexpr uint64_t kDeviceGranule = 2 << 20;  ///< Of memory placed at an address.

}  // namespace kernelift
