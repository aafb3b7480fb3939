// A Device over host memory, for tests of code that uses devices. Images are names of registered sets of kernels,
// kernels are functions, memory is mapped at the wanted addresses, and durations are those that the functions return:
// everything is deterministic. It fails like a GPU: a launch may be refused, crash or hang, and after a crash or hang
// nothing runs any more.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "core/model/launch/limits.h"
#include "sandbox/device/device.h"

namespace kernelift::sandbox {

struct FakeCall {
  Geometry geometry;
  const DeviceLaunch* launch = nullptr;
  const std::byte* arguments = nullptr;
  size_t argument_bytes = 0;
  /// The argument at `offset`; zero if the launch passes fewer bytes.
  template <class T>
  T argument(size_t offset) const {
    T value{};
    if (offset + sizeof value <= argument_bytes) __builtin_memcpy(&value, arguments + offset, sizeof value);
    return value;
  }
};

struct FakeRun {
  double seconds = 1e-5;
  DeviceFault fault = DeviceFault::None;
  std::string detail = {};
  std::vector<AccessFinding> findings = {};  ///< If the program is checked.
  bool survived = false;                     ///< The fault ended nothing else.
};

struct FakeKernel {
  std::function<FakeRun(const FakeCall&)> body;
  std::vector<Parameter> parameters;
  uint32_t registers = 32, shared_bytes = 0, max_threads = kMostThreadsPerBlock;
  std::optional<int> resident_blocks = {};  ///< Per multiprocessor; nullopt: as many as 2048 threads allow.
};

struct FakeImage {
  std::map<std::string, FakeKernel> kernels;
  std::map<std::string, uint64_t> variables;  ///< Sizes in bytes, by name.
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(std::map<std::string, FakeImage> images);
  DeviceFacts& editable_facts() { return facts_; }
  /// place() refuses these addresses, as a driver may.
  std::set<uint64_t> refused;
  /// Makes the FakeImage of an image that is not registered, e.g. a real compiler's; nullopt: it is not an image.
  std::function<std::optional<FakeImage>(std::string_view)> unregistered;
  std::function<void()> meanwhile;  ///< Called while a launch that was reported as done is being looked at.
  bool throttled = false;           ///< All launches take three times as long.
  int runs = 0;                     ///< Number of programs that were run.
  int throttled_from = 0;           ///< Run from which `throttled` is set, until clocks() is called; 0: never.
  uint64_t copied_bytes = 0;        ///< Bytes that the programs copied.

  /// Address of a variable of the image of that name as it was loaded last, for kernels that use it.
  static uint64_t variable_of(const std::string& image, const std::string& variable) {
    return variables_[{image, variable}];
  }

  const DeviceFacts& facts() const override { return facts_; }
  Result<DeviceImage> load(std::string_view image, bool first = false) override;
  /// The host kernels, with invented durations: kl_hold takes as long as its argument says, kl_write writes 1 TB/s.
  Result<DeviceImage> judging_kernels() override;
  Result<DeviceMemory> place(uint64_t address, uint64_t bytes, Reach reach = Reach::Launches) override;
  DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) override;
  Status write(uint64_t to, std::span<const std::byte> bytes) override;
  Status read(uint64_t from, std::span<std::byte> bytes) override;
  DeviceClocks clocks() override;

 private:
  inline static std::map<std::pair<std::string, std::string>, uint64_t> variables_;
  DeviceFacts facts_;
  std::map<std::string, FakeImage> images_;
  DeviceImage hold_kernels(const std::map<std::string, FakeKernel>& kernels);
  std::map<uint64_t, const FakeKernel*> loaded_;
  std::map<std::string, FakeKernel> judging_kernels_;
  uint64_t next_handle_ = 1;
  bool lost_ = false;
};

}  // namespace kernelift::sandbox
