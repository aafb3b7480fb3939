// Builds device programs from the device's copies, fills and launches, and from the runner's own kernels
// (Device::judging_kernels). A Steps object is filled, run once and destroyed; it owns the launches that its program
// points to.
#pragma once
#include <deque>
#include <memory>

#include "sandbox/device/device.h"
#include "sandbox/judge/error_bounds.h"

namespace kernelift::sandbox {

/// The runner's own kernels, loaded, and the device memory that they use.
class JudgingKernels {
 public:
  static Result<std::unique_ptr<JudgingKernels>> load(Device& device);
  Device& device() const { return device_; }
  static constexpr size_t kFindings = 1 << 15;  ///< Most findings of one program.
  uint64_t finding(size_t index) const { return findings_.address + index * sizeof(judging::Finding); }
  Result<std::vector<judging::Finding>> read_findings(size_t count);
  /// Seconds that two events around a launch measure beyond the kernel's own duration by the GPU's timestamps.
  double overhead_seconds() const { return overhead_seconds_; }
  /// How answers on the device are veiled: not on a processor, whose candidates have processes of their own.
  static judging::Veil veil_of(const DeviceFacts& facts);
  /// A measured interval without that overhead.
  double net(double seconds) const;

 private:
  friend class Steps;
  explicit JudgingKernels(Device& device) : device_(device) {}
  uint64_t kernel(const char* name) const;

  Device& device_;
  DeviceImage image_;
  DeviceMemory findings_, fresh_, flush_;
  double overhead_seconds_ = 0;
  uint64_t compare_ = 0, spread_ = 0, canary_ = 0, poison_ = 0, copy_written_ = 0, classify_ = 0, uncovered_ = 0,
           copy_ranges_ = 0, copy_ = 0, mix_ = 0, veil_kernel_ = 0, flush_kernel_ = 0, hold_ = 0, write_ = 0,
           nothing_ = 0;
};

/// One lane of a buffer: scalars at `offset`, every `stride` bytes.
struct Row {
  ElementType type;
  uint64_t offset = 0, count = 0;
  uint32_t stride = 1;
};
/// The rows of a buffer of `bytes` bytes; bytes of an incomplete last element form a row of plain bytes.
std::vector<Row> rows_of(const ElementLayout& layout, uint64_t bytes);

class Steps {
 public:
  explicit Steps(JudgingKernels& support) : kernels_(support) {}

  void copy(uint64_t to, uint64_t from, uint64_t bytes) { program_.copy(to, from, bytes); }
  void fill(uint64_t to, std::byte byte, uint64_t bytes) { program_.fill(to, byte, bytes); }
  void launch(const DeviceLaunch& launch) { program_.launch(launch); }
  void begin(bool closely = false) { program_.begin(closely); }
  void end() { program_.end(); }
  void look(uint64_t at, uint64_t bytes) { program_.look(at, bytes); }
  void look_again() { program_.look_again(); }

  /// Resets the findings; to be added before the first step that has a finding.
  void clear_findings(size_t count);
  void compare(const Row& row, const FloatTolerance& tolerance, uint64_t expected, uint64_t got, size_t finding,
               bool veiled = false);
  void spread(const Row& row, uint64_t expected, uint64_t got, size_t finding, bool veiled = false);
  void check_canary(uint64_t begin, uint64_t bytes, std::byte byte, size_t finding);
  /// `states`: address of one byte per scalar.
  void poison(const Row& row, uint64_t buffer, uint64_t states, std::byte byte);
  /// Copies the scalars that `states` marks as written.
  void copy_written(const Row& row, uint64_t from, uint64_t to, uint64_t states, bool veiled = false);
  void classify(const Row& row, const FloatTolerance& tolerance, uint64_t result, uint64_t now, uint64_t states,
                std::byte byte, size_t finding);
  void count_uncovered(const Row& row, uint64_t given, uint64_t result, uint64_t states, size_t finding);
  void copy_ranges(uint64_t ranges, uint64_t count);
  /// A copy after which the caches hold the destination, not the source.
  void put(uint64_t to, uint64_t from, uint64_t bytes);
  /// Each element of `stride` bytes is that of one image or that of the other, drawn by `seed`.
  void mix(uint64_t to, uint64_t one, uint64_t other, uint64_t bytes, uint64_t stride, uint64_t seed);
  /// Copies to or from memory at `veiled`, which holds answers (veil.h): one of `to` and `from`.
  void veil(uint64_t to, uint64_t from, uint64_t bytes, uint64_t veiled);
  void flush_cache();
  /// Keeps the stream busy for `duration`, while the host queues the following steps.
  void hold(std::chrono::nanoseconds duration);
  void write(uint64_t buffer, uint64_t bytes);
  void nothing();

  /// DeviceProgram::together, reordered, check and field.
  void set_together() { program_.together = true; }
  void set_reordered() { program_.reordered = true; }
  void set_check(CheckedExtents extents) { program_.check = std::move(extents); }
  void set_field(FieldRequest request) { program_.field = std::move(request); }
  DeviceOutcome run(std::chrono::milliseconds limit) { return kernels_.device_.run(program_, limit); }

 private:
  template <class... T>
  void judging_launch(uint64_t kernel, uint64_t blocks, T... arguments);
  judging::Task task(const Row& row, const FloatTolerance& tolerance, uint64_t expected, uint64_t got, size_t finding,
                     bool veiled = false) const;

  JudgingKernels& kernels_;
  DeviceProgram program_;
  std::deque<DeviceLaunch> launches_;
};

}  // namespace kernelift::sandbox
