// The CPU device's one public header: device IR to an image, and running an image's kernels on this machine's
// processor.
//   kernelift_lower     lower(): links LLVM
//   kernelift_executor  LoadedImage, launch(): no LLVM; linked into the CUDA runtime library and into the sandbox's
//   runner
// What the device cannot do is refused by the construct's name and source place, never compiled to something else.
// The executor never throws, exits or prints (device printf goes to the sink that the caller gives).
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/launch/access_finding.h"
#include "core/model/launch/field_run.h"
#include "core/model/launch/geometry.h"
#include "core/toolchain/image_abi.h"

namespace llvm {
class Module;
}

namespace kernelift::cpu {

struct LowerOptions {
  std::string cpu = "native";  ///< LLVM CPU name.
  int host_level = 3;          ///< 0..3: how much the host pipeline optimises after the cut; candidates use 3.
  bool vectorize = true;
  bool force_fibers = false;  ///< Tests and benchmarks: run every kernel in fiber mode.
  /// The lanes of a warp move side by side between accesses to memory, as on a GPU: what they lose by racing is lost.
  /// Slow: for a check of kernels whose threads else run one after another.
  bool side_by_side = false;
  /// Check mode: accesses to memory and barriers report to LaunchOptions::check. Places need line tables.
  bool checked = false;
  /// Field runs: floating-point work is done once more, in numbers of that kind, for LaunchOptions::field.
  bool field = false;
  NumberKind numbers = NumberKind::Residues;
  /// A kernel that reaches something unsupported is left out by name (mode "refused") and the others are made. For
  /// whole applications, which may hold kernels that they launch on other GPUs only. Else it is an Error.
  bool leave_out_refused = false;
  /// Module variables lie apart, so that a write beside one can be found (kl_variable::room).
  bool variables_apart = false;
};

/// Facts about one lowered kernel, for verdict counters and reports.
struct LoweredKernel {
  std::string name;
  std::string mode, mode_reason;
  uint64_t code_bytes = 0;
};

struct LoweredImage {
  std::vector<char> elf;  ///< A shared object that exports kernelift_image (image_abi.h).
  std::vector<LoweredKernel> kernels;
};

/// Consumes the module. Module variables stay external and are listed in the image. Error exit is Refused when a
/// construct is not supported, named with its place. What is wrong with the module as a whole (a function that nobody
/// defines) is an Error whatever the options say.
Result<LoweredImage> lower(std::unique_ptr<llvm::Module> device_ir, const LowerOptions& options = {});

/// Opens the libraries that images may need beyond this process's own (vector mathematics): to be called before a jail
/// closes the files. Elsewhere load() finds them itself.
void open_image_libraries();

class LoadedImage {
 public:
  /// dlopens the ELF from memory. `name` shows in debuggers and errors.
  static Result<std::shared_ptr<LoadedImage>> load(std::span<const char> elf, const std::string& name);
  ~LoadedImage();
  const kl_image& image() const;
  const kl_kernel* find_kernel(std::string_view mangled) const;  ///< nullptr if absent.
  const kl_variable* find_variable(std::string_view mangled) const;
  /// Of an image for check mode: code to which no thread of its launches has come, in functions to which one has. What
  /// has several copies (a template) was reached if one of them was.
  std::set<CodePlace> unreached() const;

 private:
  struct State;
  explicit LoadedImage(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

enum class LaunchFault {
  None,
  InvalidConfiguration,
  Assert,
  Trap,
  DivergentBarrier,
  TimedOut,
  OutOfResources,
  Unsupported,
};

struct LaunchOutcome {
  LaunchFault fault = LaunchFault::None;
  std::string detail;  ///< "assert(x > 0) failed at k.cu:12, block (0,0,0) thread (3,0,0)"
  double seconds = 0;
  bool ok() const { return fault == LaunchFault::None; }
};

/// Check mode: watches the launches that are given it, of images that were lowered with LowerOptions::checked, one
/// after another. It finds mistakes; code that means to deceive it is in the same process and can.
class AccessCheck {
 public:
  explicit AccessCheck(CheckedExtents extents);
  ~AccessCheck();
  /// The first of each kind about each object.
  const std::vector<AccessFinding>& findings() const;
  /// Why a launch was not checked; empty: all were. If it was since a kernel began to write late to what it had read,
  /// CheckedExtents::follow_all_reads helps.
  const std::string& not_checked() const;
  /// The executor's.
  class CheckedMemory& memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A field run, of images that were lowered with LowerOptions::field: the launches that are given it, one after
/// another, leave the numbers that their floats stand for in the states of its objects.
class FieldRun {
 public:
  explicit FieldRun(FieldRequest request);
  ~FieldRun();
  const FieldReport& report() const;
  /// The executor's.
  class FieldMemory& memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct FieldDifference {
  uint64_t offset = 0;  ///< Bytes from the object's start.
  bool surely = false;  ///< Two numbers; else an integer beside what may be a float.
};
/// The first place of an object where two runs with this seed, which left the states `one` and `other`, left other
/// numbers, one that surely differs if there is any. Words that both left as integers are not compared.
std::optional<FieldDifference> first_difference(const FieldObject& object, uint64_t seed, std::span<const uint64_t> one,
                                                std::span<const uint64_t> other);

/// The number of a Precise or an ErrorBounds run, by the state that it left of a float; nullopt: no float was written.
std::optional<double> number_beside_float(uint64_t state);

struct LaunchOptions {
  unsigned workers = 0;                                          ///< 0: all cores.
  std::optional<std::chrono::milliseconds> no_progress_timeout;  ///< Spinning fibers with no progress: TimedOut.
  std::function<void(std::string_view)> print;                   ///< Device printf; empty: stdout.
  AccessCheck* check = nullptr;                                  ///< One worker runs what is checked.
  FieldRun* field = nullptr;                                     ///< As well.
};

/// Blocks until the whole grid has run. `arguments` is packed, kl_kernel::parameter_bytes long.
LaunchOutcome launch(const kl_kernel& kernel, const Geometry& geometry, const void* arguments,
                     const LaunchOptions& options = {});

/// Threads of a block, shared memory and other limits the CPU device reports (as a CUDA device would).
struct DeviceLimits {
  uint32_t max_threads_per_block = 1024, warp_size = 32;
  uint32_t shared_per_block = 48 << 10, shared_per_block_optin = 227 << 10;
  uint32_t processors = 0;  ///< Cores.
};
DeviceLimits device_limits();

}  // namespace kernelift::cpu
