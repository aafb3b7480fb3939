// The child's half of the confined CPU device, and how its parent talks to it. Code in the child shares its process
// with a candidate, so nothing that it says is believed without a check outside: results are compared by the parent in
// memory that it sees itself, and only durations come from here.
#pragma once
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/wire.h"
#include "sandbox/device/confined_cpu/confined_cpu.h"
#include "sandbox/jail/channel.h"
#include "sandbox/jail/jail.h"

namespace kernelift::sandbox::confined {

/// Frames. Memory: what the child begins with, the descriptor of its own memory. Load: image number. Run: an encoded
/// program. Prepare: one that is run when ControlCell says so, with its variables' values in place. Answers: Loaded and
/// Ran with a fault first; Prepared, empty unless it failed already.
enum : uint32_t { kLoad = 1, kLoaded = 2, kRun = 3, kRan = 4, kPrepare = 5, kPrepared = 6, kMemory = 7 };

/// Memory that a child shares with its parent.
struct ControlCell {
  FaultReport fault;
  // Numbers of prepared programs, in this order: the parent wakes the child for it, the child is awake and watches, the
  // parent lets it run. Until it is woken the child sleeps.
  alignas(64) std::atomic<uint32_t> wake{0};
  alignas(64) std::atomic<uint32_t> awake{0};
  alignas(64) std::atomic<uint32_t> go{0};
};

/// Handles of kernels: the image's number above, the kernel's index in it below; image 0 is the host kernels.
inline uint64_t handle_of(uint64_t image, uint64_t kernel) { return image << 32 | (kernel + 1); }
inline uint64_t image_of(uint64_t handle) { return handle >> 32; }
inline uint64_t kernel_of(uint64_t handle) { return (handle & 0xffffffff) - 1; }

/// An image as children inherit it.
struct Image {
  std::string bytes;
  struct Variable {
    std::string name;
    uint64_t size = 0;
    uint64_t room = 0;            ///< kl_variable::room: canaries, around its copy as well.
    std::byte* shadow = nullptr;  ///< Its copy in shared memory.
    bool bound = false;           ///< A program has set it: children take over and leave behind its value.
  };
  std::vector<Variable> variables;  ///< In the image's order, as a child listed them.
  uint64_t variable_bytes = 0;      ///< Of the shared memory for copies, as much was taken before it came.
};

/// What a child knows of its parent at the fork.
struct Inheritance {
  const std::map<uint64_t, Image>& images;
  const std::map<uint64_t, uint64_t>& placed;  ///< begin → end of memory at recorded addresses, for kl_flush.
  unsigned threads = 0;
  uint64_t memory_bytes = 0;
};

/// What a run needs beside the program's steps.
struct RunRequest {
  std::vector<DeviceProgram::Step> steps;
  std::vector<DeviceLaunch> launches;  ///< Those of the steps, in order.
  bool reordered = false;
  std::optional<CheckedExtents> check;  ///< DeviceProgram::check.
  std::optional<FieldRequest> field;    ///< DeviceProgram::field.
  bool leave_only = false;              ///< Only leave the variables' values in their copies.
  std::chrono::milliseconds limit{0};
  struct Variable {
    uint64_t index = 0, shadow = 0, size = 0;  ///< In the image's table; address and bytes of its copy.
    uint64_t room = 0;
    bool bound = false;  ///< Its value is carried over. Damaged canaries are in any case.
  };
  std::map<uint64_t, std::vector<Variable>> variables;  ///< By image.
};
std::string encode(const RunRequest& request);
std::optional<RunRequest> decode(std::string_view bytes);

/// What check mode found, behind the fault and the durations of an answer.
void put_findings(WireWriter& writer, const std::vector<AccessFinding>& findings, const std::string& not_checked,
                  const std::set<CodePlace>& unreached);
void take_findings(WireReader& reader, DeviceOutcome& outcome);
/// What a field run met, likewise.
void put(WireWriter& writer, const FieldReport& report);
FieldReport take_field_report(WireReader& reader);

/// The child's life: confines itself, serves, never returns. `done`: where it tells that a prepared program is done.
[[noreturn]] void serve(Channel channel, Descriptor done, ControlCell* cell, const Inheritance& inherited);

/// Executes a step that is no launch of an image: a copy, a fill, or one of the host kernels.
void execute_on_host(const DeviceProgram::Step& step);

}  // namespace kernelift::sandbox::confined
