// The interface of devices for the runner: load an image, place memory at an address, run a list of copies, fills and
// launches within a deadline, and report how long parts of it took. Restoring, poisoning and comparing are launches
// too, of the runner's own kernels, which every device has (judging_kernels). A fault of a kernel is an outcome; an
// Error means that the environment failed. Implementations: cuda/ for NVIDIA GPUs, confined_cpu/ for this machine's
// processor, fake/ over host memory, to test the runner without a GPU. Devices do not judge and compute no statistics.
// A device belongs to one thread of one process.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/capture.h"
#include "core/model/launch/access_finding.h"
#include "core/model/launch/field_run.h"
#include "core/model/launch/limits.h"
#include "core/model/texture_object.h"

namespace kernelift::sandbox {

struct DeviceFacts {
  std::string label;  ///< "cuda: NVIDIA H200, sm_90, driver 580.159.03": every timing is labelled with it.
  std::string name;   ///< "NVIDIA H200"
  std::string arch;   ///< "sm_90"
  int ordinal = 0;
  std::vector<int> same_model;  ///< Ordinals of all devices of this model, this one included.
  uint64_t memory_bytes = 0, free_bytes = 0, cache_bytes = 0;
  uint32_t multiprocessors = 1, threads_per_multiprocessor = 0;
  uint32_t blocks_per_multiprocessor = 0, registers_per_multiprocessor = 0;  ///< 0: not known.
  uint32_t shared_per_multiprocessor = 0;                                    ///< Bytes.
  uint32_t shared_taken_per_block = 0;  ///< Bytes that the driver reserves in each block besides the kernel's own.
  uint32_t max_threads_per_block = kMostThreadsPerBlock;
  uint32_t shared_per_block = kOrdinarySharedBytes, shared_per_block_optin = kOrdinarySharedBytes;
  Dim3 max_grid = kLargestGrid, max_block = kLargestBlock;
  uint64_t granule = 2 << 20;  ///< Memory at an address is placed in pieces of this many bytes.
  uint64_t guard = 0;  ///< Bytes before and after placed memory that fault, unless other memory is placed there.
  /// This machine's processor. Code runs in separate processes, and a fault ends only its process; the code's position
  /// in memory changes its speed; other programs disturb timings; memory can only be placed at its recorded address.
  bool processor = false;
  uint32_t cores = 1;  ///< Processor: number of cores that write to memory in parallel.
};

struct DeviceKernel {
  std::string name;  ///< Mangled name, as the image spells it.
  uint64_t handle = 0;
  uint32_t registers = 0, local_bytes = 0, shared_bytes = 0, constant_bytes = 0;
  uint32_t max_threads = kMostThreadsPerBlock;  ///< Per block, by registers and __launch_bounds__.
  std::vector<Parameter> parameters;
  bool knows_parameters = false;  ///< false: the driver is too old to list parameters.
  /// The number of blocks with so many threads and dynamic shared bytes that one multiprocessor holds at the same time.
  std::function<int(uint32_t threads, uint32_t shared)> resident_blocks;
};

/// What memory that no launch may write is filled with.
inline constexpr std::byte kCanary{0xc9};

struct DeviceVariable {
  std::string name;
  uint64_t address = 0, size = 0;
  /// Bytes directly before and behind it that hold kCanary until a launch writes there; 0: other things may lie there.
  uint64_t room = 0;
};

/// A loaded image; it is unloaded when its last copy is destroyed.
struct DeviceImage {
  std::vector<DeviceKernel> kernels;
  std::vector<DeviceVariable> variables;
  std::shared_ptr<void> hold = {};
};

/// Whether launches can access placed memory. A processor's processes do not inherit Hidden memory, so that a candidate
/// cannot read a reference in it. Other devices do not distinguish the two.
enum class Reach { Launches, Hidden };

/// Placed memory; it is released when its last copy is destroyed.
struct DeviceMemory {
  uint64_t address = 0, size = 0;
  std::shared_ptr<void> hold = {};
  std::function<bool()> seal = {};  ///< Makes the memory read-only permanently; null if the device cannot.
  std::function<bool()> hide = {};  ///< No launch has it from now on; null if the device cannot.
};

/// A texture or surface object that a launch may use: its recorded handle, and what it stands for. The object's memory
/// is where its texels lie now, those of an array too: row after row, as it is placed, restored and compared.
struct DeviceTexture {
  uint64_t handle = 0;
  kl_texture object = {};
};

struct DeviceLaunch {
  uint64_t kernel = 0;
  Geometry geometry;
  Dim3 cluster{0, 0, 0};             ///< 0: none.
  int cluster_policy = 0;            ///< CUclusterSchedulingPolicy; 0: the default.
  int carveout = -1;                 ///< Preferred share of the L1 as shared memory, in %; -1: the driver's choice.
  int cache_config = 0;              ///< CUfunc_cache; 0: no preference.
  int priority = 0;                  ///< The launch attribute; 0: the default.
  std::vector<std::byte> arguments;  ///< Packed as the device sees them.
  /// To be made before it. Nothing to do for a processor: there, objects are memory.
  std::vector<DeviceTexture> textures;
};

/// A range of memory for the judging kernel kl_copy_ranges, in its layout in device memory.
struct DeviceRange {
  uint64_t to = 0, from = 0, bytes = 0;
};

/// A list of steps that a device executes in order.
class DeviceProgram {
 public:
  /// The process that launches also executes the other steps, and takes the time, so that they leave its caches as its
  /// kernels find them. Only for code that is trusted: the original in a replay. Such programs must not use Hidden
  /// memory. No effect on a GPU.
  bool together = false;
  /// Blocks run in another order than usual, if the device can choose it.
  bool reordered = false;
  /// Check mode, of images that were made for it (cpu::LowerOptions::checked): what the launches between begin() and
  /// end() may access, besides their images' variables. No effect on a GPU.
  std::optional<CheckedExtents> check;
  /// A field run, of images that were made for it (cpu::LowerOptions::field), of the launches between begin() and
  /// end(). States lie in placed memory. No effect on a GPU.
  std::optional<FieldRequest> field;

  struct Step {
    enum class Kind { Copy, Fill, Launch, Begin, End, Look, LookAgain } kind;
    uint64_t to = 0, from = 0, bytes = 0;
    std::byte byte{};
    const DeviceLaunch* launch = nullptr;
  };
  void copy(uint64_t to, uint64_t from, uint64_t bytes) { add({Step::Kind::Copy, to, from, bytes, {}, nullptr}); }
  void fill(uint64_t to, std::byte byte, uint64_t bytes) { add({Step::Kind::Fill, to, 0, bytes, byte, nullptr}); }
  /// EXPECTS: `launch` outlives the run.
  void launch(const DeviceLaunch& launch) { steps_.push_back({Step::Kind::Launch, 0, 0, 0, {}, &launch}); }
  /// The steps between begin() and end() are timed; intervals do not overlap. `closely`: the device sees the end at
  /// once, even if that disturbs the measured time.
  void begin(bool closely = false) { steps_.push_back({Step::Kind::Begin, 0, 0, 0, std::byte{closely}, nullptr}); }
  void end() { steps_.push_back({Step::Kind::End, 0, 0, 0, {}, nullptr}); }
  /// Right behind end(): looks at random places of the range, before anything else is done.
  void look(uint64_t at, uint64_t bytes) { add({Step::Kind::Look, at, 0, bytes, {}, nullptr}); }
  /// The places that were looked at hold what they held then, or the program ends with WroteLate: a launch that was
  /// reported as done went on writing. Devices whose launches cannot go on (a GPU's stream) do nothing.
  void look_again() { steps_.push_back({Step::Kind::LookAgain, 0, 0, 0, {}, nullptr}); }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  void add(Step step) {
    if (step.bytes > 0) steps_.push_back(step);
  }
  std::vector<Step> steps_;
};

enum class DeviceFault {
  None,
  LaunchRefused,  ///< The launch configuration is invalid; nothing ran.
  OverResources,  ///< Too many registers, too much shared memory, or blocks not co-resident; nothing ran.
  Crashed,        ///< Illegal address, misaligned access, trap, assertion.
  Forbidden,      ///< A system call that kernels do not make.
  Unsupported,    ///< The kernel uses a feature that the device lacks.
  TimedOut,       ///< Still running at the deadline.
  WroteLate,      ///< It wrote to memory after it had been reported as done.
  Lost,           ///< The device failed: it fell off the bus, or had an uncorrectable memory error.
};

struct DeviceOutcome {
  DeviceFault fault = DeviceFault::None;
  std::string detail;
  std::vector<double> seconds = {};          ///< Duration of each begin/end pair.
  bool survived = false;                     ///< The fault ended only the separate process in which the code ran.
  uint64_t address = 0;                      ///< The address whose access crashed; 0 if not known.
  bool wrote = false;                        ///< That access was a write.
  std::vector<AccessFinding> findings = {};  ///< Of a checked program.
  std::string not_checked = {};              ///< Why a checked program could not be checked.
  std::set<CodePlace> unreached = {};        ///< Of a checked program: code to which no thread came so far.
  FieldReport field = {};                    ///< Of a program that is a field run.
  bool ok() const { return fault == DeviceFault::None; }
  /// False: this process can run nothing more on the device.
  bool usable() const {
    return survived || fault == DeviceFault::None || fault == DeviceFault::LaunchRefused ||
           fault == DeviceFault::OverResources || fault == DeviceFault::Unsupported || fault == DeviceFault::WroteLate;
  }
};

struct DeviceClocks {
  double megahertz = 0;    ///< Clock of the multiprocessors; 0: not known.
  bool throttled = false;  ///< The clock is held down by heat, power or the operator at this moment.
  std::string why;         ///< The reasons, if throttled.
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// An Error holds the driver's message about the image. `first`: the image is placed in memory before images that
  /// were loaded earlier, on devices where the position can change its speed.
  virtual Result<DeviceImage> load(std::string_view image, bool first = false) = 0;
  /// The runner's own kernels, such as kl_compare (host_kernels.h lists them), for this device.
  virtual Result<DeviceImage> judging_kernels() = 0;
  /// Places memory at exactly `address` (the granules that contain it are taken whole), or anywhere if `address` is 0.
  /// An Error names address, size and reason.
  virtual Result<DeviceMemory> place(uint64_t address, uint64_t bytes, Reach reach = Reach::Launches) = 0;
  virtual DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) = 0;
  virtual Status write(uint64_t to, std::span<const std::byte> bytes) = 0;
  virtual Status read(uint64_t from, std::span<std::byte> bytes) = 0;
  virtual DeviceClocks clocks() = 0;

  /// Called while waiting for a launch, if the device can end launches: true ends the launch as timed out.
  std::function<bool()> interrupted;
};

}  // namespace kernelift::sandbox
