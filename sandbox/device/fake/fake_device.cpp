// See fake_device.h.
#include "sandbox/device/fake/fake_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "sandbox/device/host_kernels.h"
#include "sandbox/device/late_writes.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kPage = 4096;

/// Whole pages of zeros are dropped, and the system provides them at the next access: every runner clears the 64 MiB
/// that flush a GPU's caches, and no fake kernel reads them.
void fill(uint64_t to, std::byte byte, uint64_t bytes) {
  uint64_t begin = (to + kPage - 1) / kPage * kPage, end = (to + bytes) / kPage * kPage;
  bool given =
      byte == std::byte{0} && begin < end && madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED) == 0;
  if (!given) begin = end = to + bytes;
  std::memset(reinterpret_cast<void*>(to), static_cast<int>(byte), begin - to);
  std::memset(reinterpret_cast<void*>(end), static_cast<int>(byte), to + bytes - end);
}

}  // namespace

FakeDevice::FakeDevice(std::map<std::string, FakeImage> images) : images_(std::move(images)) {
  facts_.label = "fake: host memory", facts_.name = "fake", facts_.arch = "sm_90", facts_.same_model = {0};
  facts_.cache_bytes = 1 << 20, facts_.threads_per_multiprocessor = 2048;
  facts_.shared_per_block_optin = 227 << 10;
}

Result<DeviceImage> FakeDevice::judging_kernels() {
  for (auto& kernel : host_kernels())
    judging_kernels_[kernel.name].body = [kernel](const FakeCall& call) {
      std::string_view name = kernel.name;
      kernel.run({call.arguments, call.argument_bytes});
      double seconds = 1e-6;
      if (name == "kl_hold") seconds = static_cast<double>(call.argument<uint64_t>(0)) * 1e-9;
      if (name == "kl_write") seconds = 1e-7 + static_cast<double>(call.argument<uint64_t>(8)) * 1e-12;
      if (name == "kl_nothing") seconds = 1e-7;
      return FakeRun{seconds};
    };
  return hold_kernels(judging_kernels_);
}

Result<DeviceImage> FakeDevice::load(std::string_view image, bool) {
  auto found = images_.find(std::string(image));
  if (auto other = found == images_.end() && unregistered ? unregistered(image) : std::nullopt)
    found = images_.emplace(std::string(image), std::move(*other)).first;
  if (found == images_.end()) return environment_error("not an image: " + std::string(image.substr(0, 40)));
  DeviceImage loaded = hold_kernels(found->second.kernels);
  auto holds = std::make_shared<std::vector<DeviceMemory>>();
  for (auto& [name, bytes] : found->second.variables) {
    KERNELIFT_ASSIGN(auto memory, place(0, bytes));
    loaded.variables.push_back({name, memory.address, bytes});
    variables_[{std::string(image), name}] = memory.address;
    holds->push_back(std::move(memory));
  }
  loaded.hold = holds;
  return loaded;
}

DeviceImage FakeDevice::hold_kernels(const std::map<std::string, FakeKernel>& kernels) {
  DeviceImage loaded;
  for (auto& [name, registered] : kernels) {
    DeviceKernel kernel;
    kernel.name = name, kernel.handle = next_handle_++;
    kernel.registers = registered.registers, kernel.shared_bytes = registered.shared_bytes,
    kernel.max_threads = registered.max_threads;
    kernel.parameters = registered.parameters, kernel.knows_parameters = !registered.parameters.empty();
    kernel.resident_blocks = [fixed = registered.resident_blocks](uint32_t threads, uint32_t) {
      return fixed ? *fixed : threads ? static_cast<int>(2048 / threads) : 0;
    };
    loaded_[kernel.handle] = &registered;
    loaded.kernels.push_back(std::move(kernel));
  }
  return loaded;
}

Result<DeviceMemory> FakeDevice::place(uint64_t address, uint64_t bytes, Reach) {
  const uint64_t granule = facts_.granule;
  uint64_t begin = address / granule * granule;
  uint64_t size = address ? (address + bytes - begin + granule - 1) / granule * granule : std::max<uint64_t>(bytes, 1);
  if (address != 0 && refused.contains(begin)) return environment_error("the recorded address is not available");
  void* at = mmap(reinterpret_cast<void*>(begin), size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (address ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  if (at == MAP_FAILED)
    return environment_error("cannot map " + std::to_string(size) + " bytes: " + std::strerror(errno));
  auto hold = std::shared_ptr<void>(at, [size](void* memory) { munmap(memory, size); });
  DeviceMemory memory{reinterpret_cast<uint64_t>(at), address ? size : bytes, hold, {}};
  if (address) memory.seal = [at, size] { return mprotect(at, size, PROT_READ) == 0; };
  return memory;
}

DeviceOutcome FakeDevice::run(const DeviceProgram& program, std::chrono::milliseconds limit) {
  DeviceOutcome outcome;
  if (lost_) return {DeviceFault::Crashed, "the context was lost"};
  if (++runs == throttled_from) throttled = true;
  double clock = 0, begun = 0;
  LateWrites late_writes;
  for (auto& step : program.steps()) {
    using Kind = DeviceProgram::Step::Kind;
    switch (step.kind) {
      case Kind::Copy:
        std::memmove(reinterpret_cast<void*>(step.to), reinterpret_cast<const void*>(step.from), step.bytes);
        copied_bytes += step.bytes;
        break;
      case Kind::Fill: fill(step.to, step.byte, step.bytes); break;
      case Kind::Begin: begun = clock; break;
      case Kind::End: outcome.seconds.push_back(clock - begun); break;
      case Kind::Look: late_writes.look(step.to, step.bytes); break;
      case Kind::LookAgain:
        if (meanwhile) meanwhile();
        if (!late_writes.found_none()) return {DeviceFault::WroteLate, LateWrites::kText};
        break;
      case Kind::Launch: {
        auto kernel = loaded_.find(step.launch->kernel);
        if (kernel == loaded_.end()) return {DeviceFault::LaunchRefused, "no such kernel"};
        FakeRun run = kernel->second->body(
            {step.launch->geometry, step.launch, step.launch->arguments.data(), step.launch->arguments.size()});
        clock += run.seconds * (throttled ? 3 : 1);
        if (run.fault == DeviceFault::None && run.seconds > std::chrono::duration<double>(limit).count())
          run.fault = DeviceFault::TimedOut, run.detail = "not done after " + std::to_string(limit.count()) + " ms";
        if (program.check) std::ranges::move(run.findings, std::back_inserter(outcome.findings));
        if (run.fault == DeviceFault::None) break;
        outcome = {run.fault, run.detail};
        outcome.survived = run.survived;
        lost_ = !outcome.usable();
        return outcome;
      }
    }
  }
  return outcome;
}

Status FakeDevice::write(uint64_t to, std::span<const std::byte> bytes) {
  std::memcpy(reinterpret_cast<void*>(to), bytes.data(), bytes.size());
  return done();
}
Status FakeDevice::read(uint64_t from, std::span<std::byte> bytes) {
  std::memcpy(bytes.data(), reinterpret_cast<const void*>(from), bytes.size());
  return done();
}
DeviceClocks FakeDevice::clocks() {
  DeviceClocks now{1000, throttled, throttled ? "made up" : ""};
  if (throttled_from > 0 && runs >= throttled_from) throttled = false, throttled_from = 0;
  return now;
}

}  // namespace kernelift::sandbox
