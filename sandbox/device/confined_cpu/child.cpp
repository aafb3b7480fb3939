// See child.h.
#include "sandbox/device/confined_cpu/child.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/wire.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/host_kernels.h"

namespace kernelift::sandbox::confined {
namespace {

using cpu::LaunchFault;
using Step = DeviceProgram::Step;
using Clock = std::chrono::steady_clock;

struct Fault {
  DeviceFault fault = DeviceFault::None;
  std::string detail;
  explicit operator bool() const { return fault != DeviceFault::None; }
};

Fault from_launch(const cpu::LaunchOutcome& outcome) {
  switch (outcome.fault) {
    case LaunchFault::InvalidConfiguration: return {DeviceFault::LaunchRefused, outcome.detail};
    case LaunchFault::OutOfResources: return {DeviceFault::OverResources, outcome.detail};
    case LaunchFault::Unsupported: return {DeviceFault::Unsupported, outcome.detail};
    case LaunchFault::TimedOut: return {DeviceFault::TimedOut, outcome.detail};
    default: return {DeviceFault::Crashed, outcome.detail};
  }
}

WireWriter answer(const Fault& fault) {
  WireWriter writer;
  writer.number(static_cast<uint64_t>(fault.fault)).text(fault.detail);
  return writer;
}

class Child {
 public:
  Child(Channel channel, Descriptor done, ControlCell& cell, const Inheritance& inherited)
      : channel_(std::move(channel)), done_(std::move(done)), cell_(cell), inherited_(inherited) {
    options_.print = [](std::string_view) {};
  }

  void serve() {
    while (Frame frame = channel_.receive()) {
      if (frame.type == kLoad) {
        if (!channel_.send(kLoaded, load_and_list(WireReader(frame.body).number()))) return;
      } else if (frame.type == kRun) {
        auto request = decode(frame.body);
        if (!request) return;
        std::vector<double> seconds;
        Fault fault = run(*request, seconds);
        if (!channel_.send(kRan, answer(fault).reals(seconds).take())) return;
      } else if (frame.type == kPrepare) {
        if (!run_prepared(frame.body)) return;
      }
    }
  }
  void refuse(const std::string& why) { channel_.send(kLoaded, answer({DeviceFault::LaunchRefused, why}).take()); }

 private:
  Result<cpu::LoadedImage*> loaded(uint64_t number) {
    auto& image = loaded_[number];
    if (!image) {
      auto known = inherited_.images.find(number);
      if (known == inherited_.images.end()) return environment_error("an image that this process does not know");
      if (sealed_) return environment_error("an image that came after another one's code had run");
      KERNELIFT_ASSIGN(image, cpu::LoadedImage::load(known->second.bytes, "image" + std::to_string(number)));
      for (auto& room : rooms(image->image())) std::memset(room.data(), std::to_integer<int>(kCanary), room.size());
    }
    return image.get();
  }

  std::string load_and_list(uint64_t number) {
    auto image = loaded(number);
    if (!image.ok()) return answer({DeviceFault::LaunchRefused, image.error().message}).take();
    const kl_image& table = (*image)->image();
    WireWriter writer = answer({});
    writer.number(table.kernel_count);
    for (uint32_t i = 0; i < table.kernel_count; ++i) {
      const kl_kernel& kernel = table.kernels[i];
      writer.text(kernel.name).number(kernel.static_shared_bytes).number(kernel.max_threads);
      writer.number(kernel.parameter_count);
      for (uint32_t p = 0; p < kernel.parameter_count; ++p)
        writer.number(kernel.parameters[p].offset).number(kernel.parameters[p].size);
    }
    writer.number(table.variable_count);
    for (uint32_t i = 0; i < table.variable_count; ++i)
      writer.text(table.variables[i].name)
          .number(table.variables[i].size)
          .number(table.variables[i].room)
          .number(reinterpret_cast<uint64_t>(table.variables[i].address));
    return writer.take();
  }

  static std::vector<std::span<std::byte>> rooms(const kl_image& image) {
    std::vector<std::span<std::byte>> all;
    for (uint32_t i = 0; i < image.variable_count; ++i) {
      const kl_variable& variable = image.variables[i];
      auto* begin = static_cast<std::byte*>(variable.address);
      all.push_back({begin - variable.room, variable.room}), all.push_back({begin + variable.size, variable.room});
    }
    return all;
  }

  static bool are_canaries(const std::byte* at, uint64_t bytes) {
    return bytes == 0 || (*at == kCanary && std::memcmp(at, at + 1, bytes - 1) == 0);
  }

  /// Values of module variables, from their copies in shared memory to the image or back; what is left of their
  /// canaries, only back. Around launches that the parent times it does that itself.
  void carry_variables(const RunRequest& request, bool into_image) {
    for (auto& [number, variables] : request.variables) {
      auto image = loaded(number);
      if (!image.ok()) continue;  // A launch from it will say so.
      for (auto& variable : variables) {
        if (variable.index >= (*image)->image().variable_count) continue;
        auto* own = static_cast<std::byte*>((*image)->image().variables[variable.index].address);
        auto* copy = reinterpret_cast<std::byte*>(variable.shadow);
        const uint64_t room = variable.room;
        if (variable.bound && into_image) std::memcpy(own, copy, variable.size);
        if (variable.bound && !into_image) std::memcpy(copy, own, variable.size);
        if (into_image) continue;
        for (auto offset : {-static_cast<int64_t>(room), static_cast<int64_t>(variable.size)})
          if (!are_canaries(own + offset, room)) std::memcpy(copy + offset, own + offset, room);
      }
    }
  }

  Fault launch(const DeviceLaunch& launch) {
    auto image = loaded(image_of(launch.kernel));
    if (!image.ok()) return {DeviceFault::LaunchRefused, image.error().message};
    if (kernel_of(launch.kernel) >= (*image)->image().kernel_count)
      return {DeviceFault::LaunchRefused, "no such kernel"};
    const kl_kernel& kernel = (*image)->image().kernels[kernel_of(launch.kernel)];
    arguments_.assign(launch.arguments.begin(), launch.arguments.end());
    arguments_.resize(std::max<size_t>(arguments_.size(), kernel.parameter_bytes));
    auto outcome = cpu::launch(kernel, launch.geometry, arguments_.data(), options_);
    return outcome.ok() ? Fault{} : from_launch(outcome);
  }

  void flush_caches() {
    constexpr uint64_t kLine = 64;
    for (auto [begin, end] : inherited_.placed)
      for (uint64_t at = begin; at < end; at += kLine) {
#if defined(__x86_64__)
        _mm_clflush(reinterpret_cast<const void*>(at));
#elif defined(__aarch64__)
        asm volatile("dc civac, %0" ::"r"(at) : "memory");
#endif
      }
#if defined(__x86_64__)
    _mm_mfence();
#endif
  }

  /// Before an image's code runs for the first time: loads what the request needs, and lets nothing more become code.
  Fault seal(const RunRequest& request) {
    if (sealed_ || request.launches.empty()) return {};
    for (auto& launch : request.launches)
      if (image_of(launch.kernel) == 0) continue;
      else if (auto image = loaded(image_of(launch.kernel)); !image.ok())
        return {DeviceFault::LaunchRefused, image.error().message};
    if (Status done = seal_jail(); !done.ok()) return {DeviceFault::LaunchRefused, done.error().message};
    sealed_ = true;
    return {};
  }

  void set_options(const RunRequest& request) {
    options_.workers = inherited_.threads;
    if (request.reordered) options_.workers = inherited_.threads == 1 ? 2 : 1;
    options_.no_progress_timeout = request.limit;
  }

  /// All of a program's launches, timed by the parent: from when it sets `go` until it gets the message. Before that
  /// this process sleeps, while the launch's memory is filled. False: the parent is gone.
  bool run_prepared(std::string_view body) {
    auto request = decode(body);
    if (!request) return false;
    set_options(*request);
    Fault fault = seal(*request);
    for (auto& step : request->steps)
      if (step.kind == Step::Kind::Launch && image_of(step.launch->kernel) != 0)
        if (auto image = loaded(image_of(step.launch->kernel)); !image.ok() && !fault)
          fault = {DeviceFault::LaunchRefused, image.error().message};
    if (fault) return channel_.send(kPrepared, answer(fault).reals({}).take());
    if (!channel_.send(kPrepared, {})) return false;
    constexpr unsigned kSpins = 1 << 14;
    ++prepared_;
    for (uint32_t now = 0; (now = cell_.wake.load(std::memory_order_acquire)) != prepared_;)
      syscall(SYS_futex, &cell_.wake, FUTEX_WAIT, now, nullptr, nullptr, 0);
    cell_.awake.store(prepared_, std::memory_order_release);
    for (unsigned spins = 0; cell_.go.load(std::memory_order_acquire) != prepared_; ++spins)
      if (spins > kSpins) sched_yield();
    const std::unique_ptr<cpu::AccessCheck> check = check_for(*request);
    const std::unique_ptr<cpu::FieldRun> field = field_for(*request);
    options_.check = check.get(), options_.field = field.get();
    for (auto& step : request->steps) {
      if (fault) break;
      if (step.kind == Step::Kind::Launch && image_of(step.launch->kernel) != 0) fault = launch(*step.launch);
      else execute_on_host(step);
    }
    options_.check = nullptr, options_.field = nullptr;
    char byte = 1;
    iovec from{&byte, 1};
    msghdr message{};
    message.msg_iov = &from, message.msg_iovlen = 1;
    if (sendmsg(done_.get(), &message, MSG_NOSIGNAL) != 1) return false;
    WireWriter writer = answer(fault);
    writer.reals({});
    if (check) put_findings(writer, check->findings(), check->not_checked(), unreached_by(*request));
    if (field) put(writer, field->report());
    return channel_.send(kRan, writer.take());
  }

  /// Of the images that the request launches from.
  std::set<CodePlace> unreached_by(const RunRequest& request) {
    std::set<CodePlace> all;
    std::set<uint64_t> images;
    for (auto& launch : request.launches) images.insert(image_of(launch.kernel));
    images.erase(0);
    for (uint64_t number : images)
      if (auto image = loaded(number); image.ok()) all.merge((*image)->unreached());
    return all;
  }

  /// With the variables of the images that the request launches from; nullptr: it is not checked.
  std::unique_ptr<cpu::AccessCheck> check_for(const RunRequest& request) {
    if (!request.check) return nullptr;
    CheckedExtents extents = *request.check;
    std::set<uint64_t> images;
    for (auto& launch : request.launches) images.insert(image_of(launch.kernel));
    for (uint64_t number : images) {
      if (number == 0) continue;
      auto image = loaded(number);
      if (!image.ok()) continue;  // A launch from it will say so.
      const kl_image& table = (*image)->image();
      for (const kl_variable& variable : std::span(table.variables, table.variable_count)) {
        const auto begin = reinterpret_cast<uint64_t>(variable.address), end = begin + variable.size;
        extents.objects.push_back({variable.name, begin, variable.size});
        if (variable.room == 0) continue;
        extents.forbidden.push_back({begin - variable.room, begin});
        extents.forbidden.push_back({end, end + variable.room});
      }
    }
    return std::make_unique<cpu::AccessCheck>(std::move(extents));
  }

  /// With the addresses of variables in the images that the request launches from; nullptr: it is no field run.
  std::unique_ptr<cpu::FieldRun> field_for(const RunRequest& request) {
    if (!request.field) return nullptr;
    FieldRequest wanted = *request.field;
    for (auto& object : wanted.objects) {
      if (object.variable.empty()) continue;
      for (auto& launch : request.launches) {
        auto image = image_of(launch.kernel) == 0 ? usage_error("") : loaded(image_of(launch.kernel));
        if (!image.ok()) continue;
        if (const kl_variable* found = (*image)->find_variable(object.variable))
          object.begin = reinterpret_cast<uint64_t>(found->address);
      }
    }
    std::erase_if(wanted.objects, [](auto& object) { return object.begin == 0; });
    return std::make_unique<cpu::FieldRun>(std::move(wanted));
  }

  Fault run(const RunRequest& request, std::vector<double>& seconds) {
    set_options(request);
    if (request.leave_only) return carry_variables(request, false), Fault{};
    if (Fault fault = seal(request)) return fault;
    bool timed = false;
    Clock::time_point begun;
    for (auto& step : request.steps) {
      switch (step.kind) {
        case Step::Kind::Begin:
          carry_variables(request, true);
          timed = true, begun = Clock::now();
          break;
        case Step::Kind::End:
          seconds.push_back(std::chrono::duration<double>(Clock::now() - begun).count());
          timed = false;
          carry_variables(request, false);
          break;
        case Step::Kind::Launch: {
          if (image_of(step.launch->kernel) == 0) {
            bool flush = std::strcmp(host_kernels()[kernel_of(step.launch->kernel)].name, "kl_flush") == 0;
            flush ? flush_caches() : execute_on_host(step);
            break;
          }
          if (!timed) carry_variables(request, true);
          if (Fault fault = launch(*step.launch)) return fault;
          if (!timed) carry_variables(request, false);
          break;
        }
        default: execute_on_host(step);
      }
    }
    return {};
  }

  Channel channel_;
  Descriptor done_;
  ControlCell& cell_;
  uint32_t prepared_ = 0;
  const Inheritance& inherited_;
  cpu::LaunchOptions options_;
  std::map<uint64_t, std::shared_ptr<cpu::LoadedImage>> loaded_;
  std::vector<std::byte> arguments_;
  bool sealed_ = false;
};

void put(WireWriter& writer, const Dim3& dimensions) {
  writer.number(dimensions.x).number(dimensions.y).number(dimensions.z);
}

Dim3 take_dimensions(WireReader& reader) {
  Dim3 dimensions;
  for (int axis = 0; axis < 3; ++axis) along(dimensions, axis) = static_cast<uint32_t>(reader.number());
  return dimensions;
}

void put(WireWriter& writer, const CheckedAccess& access) {
  writer.text(access.place);
  put(writer, access.block), put(writer, access.thread);
  writer.number(access.write).number(access.atomic);
}

CheckedAccess take_access(WireReader& reader) {
  CheckedAccess access;
  access.place = reader.text();
  access.block = take_dimensions(reader), access.thread = take_dimensions(reader);
  access.write = reader.number(), access.atomic = reader.number();
  return access;
}

void put(WireWriter& writer, const CheckedExtents& extents) {
  writer.number(extents.objects.size());
  for (auto& object : extents.objects)
    writer.text(object.name).number(object.begin).number(object.bytes).number(object.unwritten);
  writer.number(extents.forbidden.size());
  for (auto& [begin, end] : extents.forbidden) writer.number(begin).number(end);
  writer.number(extents.follow_all_reads);
}

CheckedExtents take_extents(WireReader& reader) {
  CheckedExtents extents;
  for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count) {
    CheckedObject& object = extents.objects.emplace_back();
    object.name = reader.text(), object.begin = reader.number(), object.bytes = reader.number();
    object.unwritten = reader.number();
  }
  for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count) {
    const uint64_t begin = reader.number();
    extents.forbidden.push_back({begin, reader.number()});
  }
  extents.follow_all_reads = reader.number();
  return extents;
}

void put(WireWriter& writer, const FieldRequest& request) {
  writer.number(uint64_t(request.numbers))
      .number(request.seed)
      .number(request.constants_meant)
      .number(request.objects.size());
  for (auto& object : request.objects)
    writer.text(object.variable)
        .number(object.begin)
        .number(object.bytes)
        .number(object.states)
        .number(object.key)
        .number(object.integers);
}

FieldRequest take_field(WireReader& reader) {
  FieldRequest request;
  const uint64_t numbers = reader.number();
  if (numbers <= uint64_t(NumberKind::ErrorBounds)) request.numbers = NumberKind(numbers);
  request.seed = reader.number(), request.constants_meant = reader.number();
  for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count) {
    FieldObject& object = request.objects.emplace_back();
    object.variable = reader.text(), object.begin = reader.number(), object.bytes = reader.number();
    object.states = reader.number(), object.key = reader.number(), object.integers = reader.number();
  }
  return request;
}

void put(WireWriter& writer, const Geometry& geometry) {
  put(writer, geometry.grid), put(writer, geometry.block);
  writer.number(geometry.shared_bytes).number(geometry.cooperative);
}

Geometry take_geometry(WireReader& reader) {
  Geometry geometry;
  geometry.grid = take_dimensions(reader), geometry.block = take_dimensions(reader);
  geometry.shared_bytes = static_cast<uint32_t>(reader.number()), geometry.cooperative = reader.number();
  return geometry;
}

}  // namespace

std::string encode(const RunRequest& request) {
  WireWriter writer;
  writer.number(request.reordered).number(request.leave_only).number(static_cast<uint64_t>(request.limit.count()));
  writer.number(request.check.has_value());
  if (request.check) put(writer, *request.check);
  writer.number(request.field.has_value());
  if (request.field) put(writer, *request.field);
  writer.number(request.variables.size());
  for (auto& [image, variables] : request.variables) {
    writer.number(image).number(variables.size());
    for (auto& one : variables)
      writer.number(one.index).number(one.shadow).number(one.size).number(one.room).number(one.bound);
  }
  writer.number(request.steps.size());
  for (auto& step : request.steps) {
    writer.number(static_cast<uint64_t>(step.kind)).number(step.to).number(step.from).number(step.bytes);
    writer.number(static_cast<uint64_t>(step.byte));
    if (step.kind != Step::Kind::Launch) continue;
    const DeviceLaunch& launch = *step.launch;
    writer.number(launch.kernel);
    put(writer, launch.geometry);
    writer.text({reinterpret_cast<const char*>(launch.arguments.data()), launch.arguments.size()});
  }
  return writer.take();
}

std::optional<RunRequest> decode(std::string_view bytes) {
  WireReader reader(bytes);
  RunRequest request;
  request.reordered = reader.number(), request.leave_only = reader.number();
  request.limit = std::chrono::milliseconds(reader.number());
  if (reader.number()) request.check = take_extents(reader);
  if (reader.number()) request.field = take_field(reader);
  for (uint64_t images = reader.number(); images > 0 && !reader.failed(); --images) {
    auto& variables = request.variables[reader.number()];
    for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count) {
      auto& one = variables.emplace_back();
      one.index = reader.number(), one.shadow = reader.number(), one.size = reader.number();
      one.room = reader.number(), one.bound = reader.number();
    }
  }
  uint64_t steps = reader.number();
  for (uint64_t i = 0; i < steps && !reader.failed(); ++i) {
    Step step{static_cast<Step::Kind>(reader.number()), 0, 0, 0, {}, nullptr};
    step.to = reader.number(), step.from = reader.number(), step.bytes = reader.number();
    step.byte = static_cast<std::byte>(reader.number());
    if (step.kind == Step::Kind::Launch) {
      DeviceLaunch& launch = request.launches.emplace_back();
      launch.kernel = reader.number(), launch.geometry = take_geometry(reader);
      std::string arguments = reader.text();
      auto* begin = reinterpret_cast<const std::byte*>(arguments.data());
      launch.arguments.assign(begin, begin + arguments.size());
    }
    request.steps.push_back(step);
  }
  if (!reader.ok()) return std::nullopt;
  size_t next = 0;
  for (auto& step : request.steps)
    if (step.kind == Step::Kind::Launch) step.launch = &request.launches[next++];
  return request;
}

void put_findings(WireWriter& writer, const std::vector<AccessFinding>& findings, const std::string& not_checked,
                  const std::set<CodePlace>& unreached) {
  writer.text(not_checked).number(unreached.size());
  for (auto& place : unreached) writer.number(place.line).number(place.column);
  writer.number(findings.size());
  for (auto& finding : findings) {
    writer.number(static_cast<uint64_t>(finding.kind)).text(finding.object).number(uint64_t(finding.element));
    put(writer, finding.access);
    writer.number(finding.other.has_value());
    if (finding.other) put(writer, *finding.other);
  }
}

void take_findings(WireReader& reader, DeviceOutcome& outcome) {
  outcome.not_checked = reader.text();
  for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count) {
    const auto line = static_cast<uint32_t>(reader.number());
    outcome.unreached.insert({line, static_cast<uint32_t>(reader.number())});
  }
  for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count) {
    AccessFinding& finding = outcome.findings.emplace_back();
    finding.kind = static_cast<FindingKind>(std::min(reader.number(), uint64_t(FindingKind::DivergentBarrier)));
    finding.object = reader.text(), finding.element = int64_t(reader.number());
    finding.access = take_access(reader);
    if (reader.number()) finding.other = take_access(reader);
    else if (finding.kind == FindingKind::Race || finding.kind == FindingKind::BlockRace ||
             finding.kind == FindingKind::DivergentBarrier)
      finding.other = CheckedAccess{};
  }
}

void put(WireWriter& writer, const FieldReport& report) {
  writer.number(report.floats)
      .text(report.decided)
      .text(report.function)
      .number(report.divisions_by_zero)
      .number(report.constants.size());
  for (uint64_t constant : report.constants) writer.number(constant);
}

FieldReport take_field_report(WireReader& reader) {
  FieldReport report;
  report.floats = reader.number();
  report.decided = reader.text(), report.function = reader.text();
  report.divisions_by_zero = reader.number();
  for (uint64_t count = reader.number(); count > 0 && !reader.failed(); --count)
    report.constants.push_back(reader.number());
  return report;
}

void execute_on_host(const Step& step) {
  switch (step.kind) {
    case Step::Kind::Copy:
      std::memmove(reinterpret_cast<void*>(step.to), reinterpret_cast<const void*>(step.from), step.bytes);
      break;
    case Step::Kind::Fill:
      std::memset(reinterpret_cast<void*>(step.to), static_cast<int>(step.byte), step.bytes);
      break;
    case Step::Kind::Launch:
      host_kernels()[kernel_of(step.launch->kernel)].run(
          {step.launch->arguments.data(), step.launch->arguments.size()});
      break;
    default: break;
  }
}

/// Address space of a worker: its own stack, an arena of malloc (64 MiB), the stacks of a block whose threads wait for
/// each other. A thread that finds none ends the process.
constexpr uint64_t kWorkerBytes = 128ull << 20;

void serve(Channel channel, Descriptor done, ControlCell* cell, const Inheritance& inherited) {
  report_faults_to(&cell->fault);
  // By it code could be written that runs: it must not stay open here.
  if (Descriptor memory(open("/proc/self/mem", O_RDWR | O_CLOEXEC)); memory) {
    const int number = memory.get();
    channel.send(kMemory, {}, {&number, 1});
  } else {
    channel.send(kMemory, {});
  }
  JailSpec jail;
  jail.kind = JailKind::Device;
  const unsigned workers = inherited.threads ? inherited.threads : std::thread::hardware_concurrency();
  jail.extra_memory_bytes = inherited.memory_bytes + workers * kWorkerBytes;
  Child child(std::move(channel), std::move(done), *cell, inherited);
  if (auto confined = enter_jail(jail); !confined.ok()) child.refuse(confined.error().message);
  else child.serve();
  _exit(0);
}

}  // namespace kernelift::sandbox::confined
