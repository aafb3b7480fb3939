// See confined_cpu.h.
#include "sandbox/device/confined_cpu/confined_cpu.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "core/base/wire.h"
#include "sandbox/device/confined_cpu/child.h"
#include "sandbox/device/confined_cpu/child_process.h"
#include "sandbox/device/confined_cpu/idle_children.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/host_kernels.h"
#include "sandbox/device/late_writes.h"

namespace kernelift::sandbox {
namespace {

using namespace confined;
using Step = DeviceProgram::Step;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 64 << 10;            ///< Faulting bytes on each side: strides of a few rows land in it.
constexpr uint64_t kVariableBytes = 4ull << 30;  ///< Address space for copies of module variables; pages come with use.
constexpr size_t kMostChildren = 3;              ///< Of the original, of a candidate, and of another build.
constexpr std::chrono::seconds kLoadLimit{20};
constexpr const char* kNoWay = "there is no way to module variables in a candidate's process";
constexpr double kShortSeconds = 1e-3;  ///< Threads of shorter launches are pinned.

uint64_t down(uint64_t address) { return address / kPage * kPage; }
uint64_t up(uint64_t address) { return down(address + kPage - 1); }

/// At `begin` and nowhere else.
bool map_at(uint64_t begin, uint64_t size, int protection, int flags, int fd) {
  void* wanted = reinterpret_cast<void*>(begin);
  void* got = mmap(wanted, size, protection, flags | MAP_FIXED_NOREPLACE, fd, 0);
  if (got == wanted) return true;
  if (got != MAP_FAILED) munmap(got, size);  // Kernels before 4.17 take the address as a hint.
  return false;
}

Error no_memory(uint64_t address, uint64_t bytes) {
  char text[200];
  if (address == 0) std::snprintf(text, sizeof text, "not enough memory for %llu bytes", (unsigned long long)bytes);
  else
    std::snprintf(text, sizeof text,
                  "cannot map %llu bytes at the recorded address 0x%llx: %s; addresses of this process are random, so "
                  "try again",
                  (unsigned long long)bytes, (unsigned long long)address,
                  errno == EEXIST ? "something else is there" : std::strerror(errno));
  return environment_error(text);
}

/// The steps from `from` to the next launch, which are this process's, and the interval that comes then, if it is
/// timed.
struct Between {
  Between(std::span<const Step> steps, size_t from) : own(steps.subspan(from)) {
    const auto next = std::ranges::find_if(own, [](const Step& step) {
      return step.kind == Step::Kind::Begin || (step.kind == Step::Kind::Launch && image_of(step.launch->kernel) != 0);
    });
    end = from + static_cast<size_t>(next - own.begin());
    if (next != own.end() && next->kind == Step::Kind::Begin)
      interval = {std::next(next), std::ranges::find(next, own.end(), Step::Kind::End, &Step::kind)};
    own = own.first(end - from);
    filling = end;
    for (; filling > from && !is_look(steps[filling - 1]); --filling) {}
  }
  /// Up to the last look at what a launch left.
  std::span<const Step> looks() const {
    size_t count = 0;
    for (size_t i = 0; i < own.size() && own[i].kind != Step::Kind::LookAgain; ++i)
      if (is_look(own[i])) count = i + 1;
    return own.first(count);
  }
  static bool is_look(const Step& step) { return step.kind == Step::Kind::Look || step.kind == Step::Kind::LookAgain; }

  std::span<const Step> own, interval;
  size_t end = 0;      ///< Index of what comes behind them.
  size_t filling = 0;  ///< Index of the first that has nothing to do with the launch before them.
};

/// What a child has ready.
struct TimedLaunch {
  ChildProcess* child = nullptr;
  uint64_t image = 0;
  RunRequest request;
};

class ConfinedCpu : public Device {
 public:
  explicit ConfinedCpu(const ConfinedCpuOptions& options) : options_(options) {
    facts_.label = cpu_device_label(options.threads), facts_.name = "cpu";
    facts_.processor = true, facts_.granule = kPage, facts_.guard = kGuard;
    facts_.cores = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    cpu::DeviceLimits limits = cpu::device_limits();
    facts_.max_threads_per_block = limits.max_threads_per_block;
    facts_.shared_per_block = limits.shared_per_block;
    facts_.shared_per_block_optin = limits.shared_per_block_optin;
  }
  ~ConfinedCpu() override {
    if (variables_) munmap(variables_, kVariableBytes);
  }

  Status open() {
    void* memory =
        mmap(nullptr, kVariableBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return environment_error("not enough address space for module variables");
    variables_ = static_cast<std::byte*>(memory);
    return done();
  }

  const DeviceFacts& facts() const override { return facts_; }

  Result<DeviceImage> load(std::string_view bytes, bool) override {
    const uint64_t number = ++last_image_;
    images_[number].bytes = std::string(bytes), images_[number].variable_bytes = variable_bytes_;
    auto hold = std::shared_ptr<void>(this, [this, number](void*) { forget(number); });
    // Where memory lies has luck in it, and an old process differs from a new one: what is raced begins together.
    children_.clear();
    DeviceImage image;
    KERNELIFT_TRY(list(number, image));
    image.hold = hold;
    return image;
  }

  Result<DeviceImage> judging_kernels() override {
    DeviceImage image;
    for (size_t i = 0; i < host_kernels().size(); ++i) {
      DeviceKernel kernel;
      kernel.name = host_kernels()[i].name, kernel.handle = handle_of(0, i);
      image.kernels.push_back(std::move(kernel));
    }
    return image;
  }

  Result<DeviceMemory> place(uint64_t address, uint64_t bytes, Reach reach) override {
    const uint64_t begin = down(address), size = std::max(kPage, up(address + bytes) - begin);
    if (reach == Reach::Hidden) return place_hidden(begin, size, bytes);
    children_.clear();  // They would not see it.
    Descriptor file(memfd_create("kernelift-memory", MFD_CLOEXEC));
    if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0) return no_memory(address, size);
    uint64_t at = begin;
    if (address == 0) {
      void* got = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
      if (got == MAP_FAILED) return no_memory(0, size);
      at = reinterpret_cast<uint64_t>(got);
    } else if (!map_at(begin, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get())) {
      return no_memory(begin, size);
    }
    std::vector<uint64_t> guards;
    if (address != 0) {
      placed_[at] = at + size;
      for (uint64_t guard : {at - kGuard, at + size})
        if (map_at(guard, kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1)) guards.push_back(guard);
    }
    DeviceMemory memory{at, address ? size : bytes, {}, {}, {}};
    memory.hold = std::shared_ptr<void>(reinterpret_cast<void*>(at), [this, size, guards](void* base) {
      munmap(base, size);
      for (uint64_t guard : guards) munmap(reinterpret_cast<void*>(guard), kGuard);
      placed_.erase(reinterpret_cast<uint64_t>(base));
    });
    memory.hide = [this, at, size] {
      children_.clear();
      return madvise(reinterpret_cast<void*>(at), size, MADV_DONTFORK) == 0;
    };
    // A child may write to its private copy of what is sealed, and to nothing else.
    memory.seal = [this, at, size, kept = std::make_shared<Descriptor>(std::move(file))] {
      children_.clear();
      return mmap(reinterpret_cast<void*>(at), size, PROT_READ, MAP_PRIVATE | MAP_FIXED, kept->get(), 0) != MAP_FAILED;
    };
    return memory;
  }

  DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) override {
    note_bound_variables(program);
    if (program.together) return run_together(program, limit);
    DeviceOutcome outcome;
    LateWrites late_writes;
    std::set<uint64_t> timed;
    const std::span<const Step> steps = program.steps();
    for (size_t at = 0; at < steps.size();) {
      // What fills memory for a launch comes once its child has everything else ready, and sleeps.
      const Between between(steps, at);
      TimedLaunch next;
      for (; at < between.end; ++at) {
        if (at == between.filling)
          if (DeviceOutcome ready = prepare(between.interval, program, limit, next); !ready.ok()) return ready;
        if (steps[at].kind == Step::Kind::Look) late_writes.look(steps[at].to, steps[at].bytes);
        else if (steps[at].kind != Step::Kind::LookAgain) execute_on_host(steps[at]);
        else if (!late_writes.found_none()) return cheated(LateWrites::kText);
      }
      if (at == steps.size()) break;
      DeviceOutcome ran;
      if (steps[at].kind == Step::Kind::Begin) {
        double seconds = 0;
        const bool closely = steps[at].byte != std::byte{0};
        if (DeviceOutcome ready = prepare(between.interval, program, limit, next); !ready.ok()) return ready;
        at += between.interval.size() + 2;
        const auto looks = Between(steps, at).looks();
        ran = time_interval(between.interval, next, closely, looks, late_writes, seconds);
        at += looks.size();
        outcome.seconds.push_back(seconds);
        if (next.child) timed.insert(next.image);
        std::ranges::move(ran.findings, std::back_inserter(outcome.findings));
        if (!ran.not_checked.empty()) outcome.not_checked = std::move(ran.not_checked);
        if (program.check) outcome.unreached = std::move(ran.unreached);
        if (program.field) outcome.field = std::move(ran.field);
      } else {
        ran = run_in_child({&steps[at++], 1}, program.reordered, limit);
      }
      if (!ran.ok()) return ran;
    }
    for (uint64_t image : timed) {
      auto child = children_.find(image);
      if (child == children_.end()) continue;
      const std::vector<pid_t> threads = child->second->threads();
      if (threads.size() > most_threads())
        return cheated("its process has more threads than the launches need: something runs on after them");
      // A longer launch is moved out of the way of other programs while it runs; a short one is not.
      if (shortest_ < kShortSeconds) child->second->pin(threads);
    }
    return outcome;
  }

  Status write(uint64_t to, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(reinterpret_cast<void*>(to), bytes.data(), bytes.size());
    return done();
  }
  Status read(uint64_t from, std::span<std::byte> bytes) override {
    if (!bytes.empty()) std::memcpy(bytes.data(), reinterpret_cast<const void*>(from), bytes.size());
    return done();
  }
  DeviceClocks clocks() override { return {}; }

 private:
  /// Children do not inherit it.
  Result<DeviceMemory> place_hidden(uint64_t begin, uint64_t size, uint64_t bytes) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (begin ? MAP_FIXED_NOREPLACE : 0);
    void* got = mmap(reinterpret_cast<void*>(begin), size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (got == MAP_FAILED) return no_memory(0, size);
    auto hold = std::shared_ptr<void>(got, [size](void* base) { munmap(base, size); });
    if (madvise(got, size, MADV_DONTFORK) != 0)
      return environment_error("cannot hide recorded answers from candidates: madvise failed");
    return DeviceMemory{reinterpret_cast<uint64_t>(got), begin ? size : bytes, hold,
                        [got, size] { return mprotect(got, size, PROT_READ) == 0; }};
  }

  void forget(uint64_t number) {
    const bool newest = !images_.empty() && images_.rbegin()->first == number;
    if (newest) variable_bytes_ = images_.rbegin()->second.variable_bytes;
    images_.erase(number), children_.erase(number);
  }

  unsigned most_threads() const {
    constexpr unsigned kSpare = 2;  // The main thread, and one that oneTBB may add.
    return std::max(facts_.cores, std::thread::hardware_concurrency()) + kSpare;
  }

  /// Not the device's failure: children go, and the next program has others.
  DeviceOutcome cheated(const char* how) {
    children_.clear();
    DeviceOutcome outcome{DeviceFault::WroteLate, how};
    outcome.survived = true;
    return outcome;
  }

  /// Each image has a process of its own, in which no other image's code ever ran: a candidate can change nothing about
  /// the original that it is raced against.
  Result<ChildProcess*> child_of(uint64_t image) {
    auto& child = children_[image];
    if (!child) {
      KERNELIFT_ASSIGN(child, ChildProcess::start({images_, placed_, options_.threads, options_.memory_bytes}));
      if (!overhead_) KERNELIFT_TRY(measure_overhead(*child));
      if (!images_[image].variables.empty()) (void)load_in(*child, image).ok();  // A launch from it will say why not.
    }
    child->used = ++uses_;
    if (children_.size() > kMostChildren)
      children_.erase(std::ranges::min_element(children_, {}, [](auto& one) { return one.second->used; }));
    return child.get();
  }

  /// What timing a request costs, by a child that has loaded nothing yet. Known once, and the same for all.
  Status measure_overhead(ChildProcess& child) {
    constexpr int kTries = 31;
    std::vector<double> all;
    for (int i = 0; i < kTries; ++i) {
      RunRequest nothing;
      nothing.limit = kLoadLimit;
      std::string answer;
      double seconds = 0;
      DeviceOutcome outcome = child.prepare(nothing, {}, answer);
      IdleChildren::settle(children_, child), child.begin_filling();
      if (outcome.ok()) outcome = child.launch(nothing, false, {}, seconds);
      if (outcome.ok()) outcome = child.finish({}, answer);
      if (!outcome.ok() || !sound(answer))
        return environment_error("a candidate's process cannot be timed: " + outcome.detail);
      all.push_back(seconds);
    }
    std::ranges::nth_element(all, all.begin() + kTries / 2);
    overhead_ = all[kTries / 2];
    return done();
  }

  static bool sound(const std::string& answer) {
    WireReader reader(answer);
    const bool none = static_cast<DeviceFault>(reader.number()) == DeviceFault::None;
    reader.text(), reader.reals();
    return reader.ok() && none;
  }

  /// What a child says is in an image that it loads. An Error says why it cannot be loaded.
  struct Listed {
    std::vector<DeviceKernel> kernels;
    std::vector<confined::Image::Variable> variables;
  };
  Result<Listed> load_in(ChildProcess& child, uint64_t number) {
    std::string answer;
    DeviceOutcome outcome = child.ask(kLoad, WireWriter().number(number).take(), kLoaded, kLoadLimit, {}, answer);
    if (!outcome.ok()) return environment_error(outcome.detail);
    WireReader reader(answer);
    auto fault = static_cast<DeviceFault>(reader.number());
    std::string detail = reader.text();
    if (fault != DeviceFault::None) return environment_error(detail);
    Listed into;
    uint64_t kernels = reader.number();
    for (uint64_t i = 0; i < kernels && !reader.failed(); ++i) {
      DeviceKernel kernel;
      kernel.name = reader.text(), kernel.handle = handle_of(number, i);
      kernel.shared_bytes = static_cast<uint32_t>(reader.number());
      if (auto bound = static_cast<uint32_t>(reader.number())) kernel.max_threads = bound;
      kernel.knows_parameters = true;
      uint64_t parameters = reader.number();
      for (uint64_t p = 0; p < parameters && !reader.failed(); ++p) {
        auto offset = static_cast<uint32_t>(reader.number());
        kernel.parameters.push_back({offset, static_cast<uint32_t>(reader.number())});
      }
      into.kernels.push_back(std::move(kernel));
    }
    uint64_t variables = reader.number();
    std::vector<uint64_t> addresses;
    for (uint64_t i = 0; i < variables && !reader.failed(); ++i) {
      auto& variable = into.variables.emplace_back();
      variable.name = reader.text(), variable.size = reader.number(), variable.room = reader.number();
      addresses.push_back(reader.number());
    }
    if (!reader.ok()) return environment_error("the process that loads it sent nonsense");
    child.learn(number, std::move(addresses));
    return into;
  }

  /// Has a child load an image and say what is in it. An Error says why it cannot be loaded.
  Status list(uint64_t number, DeviceImage& into) {
    KERNELIFT_ASSIGN(ChildProcess * child, child_of(number));
    auto listed = load_in(*child, number);
    if (!listed.ok()) {
      children_.erase(number);
      return std::move(listed).error();
    }
    into.kernels = std::move(listed->kernels);
    for (auto& variable : listed->variables) {
      auto whole_lines = [](uint64_t bytes) { return (bytes + 63) / 64 * 64; };
      // A candidate may have lied about its size.
      if (std::max(variable.size, variable.room) > kVariableBytes ||
          variable_bytes_ + whole_lines(variable.room) + whole_lines(variable.size + variable.room) > kVariableBytes)
        return environment_error("its module variables take more than " + std::to_string(kVariableBytes >> 30) +
                                 " GiB");
      variable.shadow = variables_ + variable_bytes_ + whole_lines(variable.room);
      variable_bytes_ += whole_lines(variable.room) + whole_lines(variable.size + variable.room);
      std::fill_n(variable.shadow - variable.room, variable.room, kCanary);
      std::fill_n(variable.shadow + variable.size, variable.room, kCanary);
      into.variables.push_back(
          {variable.name, reinterpret_cast<uint64_t>(variable.shadow), variable.size, variable.room});
      images_[number].variables.push_back(std::move(variable));
    }
    return copy_initial_values(number, *child);
  }

  /// What the image's variables hold before its first launch, to their copies here.
  Status copy_initial_values(uint64_t number, ChildProcess& child) {
    if (images_[number].variables.empty()) return done();
    RunRequest request;
    request.limit = kLoadLimit;
    for (uint64_t i = 0; i < images_[number].variables.size(); ++i) {
      auto& variable = images_[number].variables[i];
      request.variables[number].push_back(
          {i, reinterpret_cast<uint64_t>(variable.shadow), variable.size, variable.room, true});
    }
    request.leave_only = true;
    std::string answer;
    DeviceOutcome outcome = child.run(request, {}, answer);
    return outcome.ok() && sound(answer) ? done() : environment_error("reading module variables: " + outcome.detail);
  }

  void note_bound_variables(const DeviceProgram& program) {
    for (auto& step : program.steps()) {
      auto* to = reinterpret_cast<std::byte*>(step.to);
      if (step.kind != Step::Kind::Copy || to < variables_ || to >= variables_ + variable_bytes_) continue;
      for (auto& [number, image] : images_)
        for (auto& variable : image.variables)
          variable.bound |= to >= variable.shadow && to < variable.shadow + std::max<uint64_t>(variable.size, 1);
    }
  }

  RunRequest request_for(std::span<const Step> steps, bool reordered, std::chrono::milliseconds limit) {
    RunRequest request;
    request.steps.assign(steps.begin(), steps.end());
    request.reordered = reordered, request.limit = limit;
    for (auto& step : steps) {
      if (step.kind != Step::Kind::Launch || image_of(step.launch->kernel) == 0) continue;
      auto& variables = images_[image_of(step.launch->kernel)].variables;
      auto [wanted, fresh] = request.variables.try_emplace(image_of(step.launch->kernel));
      for (uint64_t i = 0; fresh && i < variables.size(); ++i)
        if (variables[i].bound || variables[i].room > 0)
          wanted->second.push_back({i, reinterpret_cast<uint64_t>(variables[i].shadow), variables[i].size,
                                    variables[i].room, variables[i].bound});
    }
    return request;
  }

  static uint64_t image_in(std::span<const Step> steps) {
    for (auto& step : steps)
      if (step.kind == Step::Kind::Launch && image_of(step.launch->kernel) != 0) return image_of(step.launch->kernel);
    return 0;
  }

  /// `intervals`: how many durations the child measured itself. Makes its answer the outcome.
  void believe(ChildProcess& child, uint64_t image, const std::string& answer, size_t intervals,
               const RunRequest& request, DeviceOutcome& outcome) {
    if (outcome.ok()) {
      WireReader reader(answer);
      outcome.fault = static_cast<DeviceFault>(reader.number()), outcome.detail = reader.text();
      outcome.seconds = reader.reals(), outcome.survived = true;
      // What failed before it began has neither.
      if (request.check && !reader.ok()) take_findings(reader, outcome);
      if (request.field && !reader.ok()) outcome.field = take_field_report(reader);
      auto good = [](double seconds) { return seconds > 0 && seconds < 1e6; };
      bool sound = reader.ok() && outcome.fault < DeviceFault::Lost && std::ranges::all_of(outcome.seconds, good) &&
                   (!outcome.ok() || outcome.seconds.size() == intervals);
      if (!sound) outcome = child.malformed();
    }
    if (!outcome.ok()) children_.erase(image);
  }

  static DeviceOutcome not_started(const Error& error) {
    DeviceOutcome outcome;
    outcome.fault = DeviceFault::LaunchRefused, outcome.detail = error.message;
    return outcome;
  }

  DeviceOutcome run_in_child(std::span<const Step> steps, bool reordered, std::chrono::milliseconds limit) {
    const uint64_t image = image_in(steps);
    auto child = child_of(image);
    if (!child.ok()) return not_started(child.error());
    std::string answer;
    const RunRequest request = request_for(steps, reordered, limit);
    DeviceOutcome outcome = (*child)->run(request, interrupted, answer);
    const auto intervals = static_cast<size_t>(std::ranges::count(steps, Step::Kind::End, &Step::kind));
    believe(**child, image, answer, intervals, request, outcome);
    return outcome;
  }

  DeviceOutcome run_together(const DeviceProgram& program, std::chrono::milliseconds limit) {
    return run_in_child(program.steps(), program.reordered, limit);
  }

  /// Has the child of the image that the interval launches from, if any, get ready for it.
  DeviceOutcome prepare(std::span<const Step> interval, const DeviceProgram& program, std::chrono::milliseconds limit,
                        TimedLaunch& launch) {
    if (launch.child || image_in(interval) == 0) return {};
    launch.image = image_in(interval);
    auto child = child_of(launch.image);
    if (!child.ok()) return not_started(child.error());
    launch.request = request_for(interval, program.reordered, limit);
    launch.request.check = program.check, launch.request.field = program.field;
    for (auto& [image, variables] : launch.request.variables) {
      if (variables.empty() || (*child)->knows(image)) continue;
      if (auto listed = load_in(**child, image); !listed.ok()) {
        children_.erase(launch.image);
        return not_started(listed.error());
      }
    }
    std::string answer;
    DeviceOutcome outcome = (*child)->prepare(launch.request, interrupted, answer);
    if (outcome.ok() && answer.empty()) {
      launch.child = *child;
      IdleChildren::settle(children_, **child);
      (*child)->begin_filling();
      return outcome;
    }
    believe(**child, launch.image, answer, 0, launch.request, outcome);
    return outcome.ok() ? (*child)->malformed() : outcome;
  }

  /// Runs the steps between a Begin and its End: in the child of their image if they launch from one, else here. Then
  /// `looks`, before anything else.
  DeviceOutcome time_interval(std::span<const Step> steps, TimedLaunch& launch, bool closely,
                              std::span<const Step> looks, LateWrites& late_writes, double& seconds) {
    constexpr double kLeastShare = 0.1;  // Of what was measured; durations are divided by.
    auto look = [&] {
      for (auto& step : looks)
        step.kind == Step::Kind::Look ? late_writes.look(step.to, step.bytes) : execute_on_host(step);
    };
    if (!launch.child) {
      const auto from = std::chrono::steady_clock::now();
      for (auto& step : steps) execute_on_host(step);
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
      look();
      return {};
    }
    ChildProcess& child = *launch.child;
    if (!child.carry_variables(launch.request, true)) return not_started(environment_error(kNoWay));
    const IdleChildren idle(children_, child);
    DeviceOutcome outcome = child.launch(launch.request, closely, interrupted, seconds);
    if (outcome.ok()) look();
    idle.stop_restless(seconds);
    std::string answer;
    if (outcome.ok()) outcome = child.finish(interrupted, answer);
    if (outcome.ok() && !child.carry_variables(launch.request, false)) outcome = child.malformed();
    seconds = std::max(seconds - *overhead_, kLeastShare * seconds);
    if (launch.image == images_.begin()->first) shortest_ = std::min(shortest_, seconds);
    believe(child, launch.image, answer, 0, launch.request, outcome);
    return outcome;
  }

  ConfinedCpuOptions options_;
  DeviceFacts facts_;
  std::map<uint64_t, confined::Image> images_;
  uint64_t last_image_ = 0;
  std::map<uint64_t, uint64_t> placed_;
  std::byte* variables_ = nullptr;
  uint64_t variable_bytes_ = 0;  ///< Taken by copies of variables so far.
  Children children_;
  uint64_t uses_ = 0;
  std::optional<double> overhead_;  ///< Seconds that timing a request costs.
  double shortest_ = 1e9;           ///< Seconds of a launch of the image that was loaded first, the original.
};

}  // namespace

std::string cpu_device_label(unsigned threads) {
  std::string model = "unknown processor", line;
  std::ifstream info("/proc/cpuinfo");
  while (std::getline(info, line))
    if (line.starts_with("model name") && line.find(": ") != std::string::npos) {
      model = line.substr(line.find(": ") + 2);
      break;
    }
  unsigned cores = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  return "cpu: " + model + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

Result<std::unique_ptr<Device>> open_confined_cpu(const ConfinedCpuOptions& options) {
  auto device = std::make_unique<ConfinedCpu>(options);
  KERNELIFT_TRY(device->open());
  return std::unique_ptr<Device>(std::move(device));
}

void prepare_for_confined_cpu() { cpu::open_image_libraries(); }

}  // namespace kernelift::sandbox
