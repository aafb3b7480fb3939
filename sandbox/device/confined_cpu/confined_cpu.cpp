// See confined_cpu.h.
#include "sandbox/device/confined_cpu/confined_cpu.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "core/base/wire.h"
#include "sandbox/device/confined_cpu/child.h"
#include "sandbox/device/cpu/cpu_device.h"
#include "sandbox/device/host_kernels.h"
#include "sandbox/jail/cpu_time_limit.h"

namespace kernelift::sandbox {
namespace {

using namespace confined;
using Step = DeviceProgram::Step;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 64 << 10;            ///< Faulting bytes on each side: strides of a few rows land in it.
constexpr uint64_t kVariableBytes = 4ull << 30;  ///< Address space for copies of module variables; pages come with use.
constexpr uint64_t kLargestReply = 16 << 20;
constexpr std::chrono::seconds kLoadLimit{20};

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

/// A forked process that runs images, as its parent sees it.
class ChildProcess {
 public:
  static Result<std::unique_ptr<ChildProcess>> start(const Inheritance& inherited) {
    KERNELIFT_ASSIGN(auto ends, Channel::pair());
    std::unique_ptr<ChildProcess> child(new ChildProcess);
    child->fault_ = static_cast<FaultReport*>(shared_memory(sizeof(FaultReport)));
    if (!child->fault_) return environment_error("not enough memory to start a candidate's process");
    pid_t self = getpid();
    child->pid_ = fork();
    if (child->pid_ < 0)
      return environment_error(std::string("cannot fork a candidate's process: ") + std::strerror(errno));
    if (child->pid_ == 0) {
      ends.first.close();
      if (!bind_to_parent(self)) _exit(0);
      // The parent's other connections are not the candidate's: what is sent over them is believed.
      close_descriptors_but(ends.second.fd());
      serve(std::move(ends.second), child->fault_, inherited);
    }
    child->channel_ = std::move(ends.first);
    return child;
  }
  ~ChildProcess() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
    }
    if (fault_) munmap(fault_, sizeof *fault_);
  }

  /// The answer of that type, or what became of the process: its fault, how it ended, that it took too long.
  DeviceOutcome ask(uint32_t request, std::string_view body, uint32_t wanted, std::chrono::milliseconds limit,
                    const std::function<bool()>& interrupted, std::string& answer) {
    channel_.send(request, body, {}, after(limit));
    Frame frame = receive(limit, interrupted);
    if (frame && frame.type != wanted) frame.arrival = Arrival::Malformed;
    if (!frame) return post_mortem(frame.arrival, limit);
    answer = std::move(frame.body);
    return {};
  }
  DeviceOutcome malformed() { return post_mortem(Arrival::Malformed, {}); }

 private:
  ChildProcess() = default;

  Frame receive(std::chrono::milliseconds limit, const std::function<bool()>& interrupted) {
    // Asked often enough that a run ends on time, seldom enough to cost nothing.
    constexpr int kAskMilliseconds = 20;
    const CpuTimeLimit time_limit(pid_, limit);
    const auto begin = Deadline::clock::now();
    pollfd waiting{channel_.fd(), POLLIN, 0};
    while (poll(&waiting, 1, kAskMilliseconds) <= 0)
      if (time_limit.is_over(Deadline::clock::now() - begin) || (interrupted && interrupted()))
        return {Arrival::TimedOut, 0, {}, {}};
    return channel_.receive(after(limit), kLargestReply);
  }

  DeviceOutcome post_mortem(Arrival how, std::chrono::milliseconds limit) {
    DeviceOutcome outcome{DeviceFault::Crashed, "the candidate's process has ended before"};
    outcome.survived = true;
    if (pid_ <= 0) return outcome;  // To signal -1 is to signal everybody.
    kill(pid_, how == Arrival::Closed ? SIGCONT : SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
    const FaultReport fault = *fault_;
    auto ended = [&](DeviceFault what, std::string detail) {
      outcome.fault = what, outcome.detail = std::move(detail);
      return outcome;
    };
    if (how == Arrival::TimedOut)
      return ended(DeviceFault::TimedOut, "not done after " + std::to_string(limit.count()) + " ms");
    if (how == Arrival::Malformed) return ended(DeviceFault::Crashed, "the candidate's process sent nonsense");
    if (fault.signal == SIGSYS) return ended(DeviceFault::Forbidden, fault.text());
    if (fault.signal == SIGSEGV || fault.signal == SIGBUS)
      outcome.address = fault.address, outcome.wrote = fault.known_access && fault.write;
    if (fault.signal != 0) return ended(DeviceFault::Crashed, fault.text());
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
      return ended(DeviceFault::Crashed,
                   "segmentation fault on a stack that ran out: recursion without end, or a very large frame");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
      return ended(DeviceFault::TimedOut, "used up its processor time");
    return ended(DeviceFault::Crashed, WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                           : "exit code " + std::to_string(WEXITSTATUS(status)));
  }

  Channel channel_;
  pid_t pid_ = -1;
  FaultReport* fault_ = nullptr;
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

  Result<DeviceImage> load(std::string_view bytes, bool first) override {
    const uint64_t number = ++last_image_;
    images_[number].bytes = std::string(bytes), images_[number].variable_bytes = variable_bytes_;
    auto hold = std::shared_ptr<void>(this, [this, number](void*) { forget(number); });
    child_.reset();
    // Where code lies follows the order of loading: others come first, unless this one is to.
    if (!first && images_.size() > 1) KERNELIFT_TRY(list(images_.begin()->first, nullptr));
    DeviceImage image;
    KERNELIFT_TRY(list(number, &image));
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
    child_.reset();  // It would not see it.
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
    DeviceMemory memory{at, address ? size : bytes, {}, {}};
    memory.hold = std::shared_ptr<void>(reinterpret_cast<void*>(at), [this, size, guards](void* base) {
      munmap(base, size);
      for (uint64_t guard : guards) munmap(reinterpret_cast<void*>(guard), kGuard);
      placed_.erase(reinterpret_cast<uint64_t>(base));
    });
    // A child may write to its private copy of what is sealed, and to nothing else.
    memory.seal = [this, at, size, kept = std::make_shared<Descriptor>(std::move(file))] {
      child_.reset();
      return mmap(reinterpret_cast<void*>(at), size, PROT_READ, MAP_PRIVATE | MAP_FIXED, kept->get(), 0) != MAP_FAILED;
    };
    return memory;
  }

  DeviceOutcome run(const DeviceProgram& program, std::chrono::milliseconds limit) override {
    note_bound_variables(program);
    if (program.together) return run_in_child(program.steps(), program.reordered, limit);
    DeviceOutcome outcome;
    double own = 0, theirs = 0;  // Seconds of the open interval: of steps here, and of launches.
    for (auto& step : program.steps()) {
      if (step.kind == Step::Kind::Begin) {
        own = theirs = 0;
      } else if (step.kind == Step::Kind::End) {
        outcome.seconds.push_back(own + theirs);
      } else if (step.kind != Step::Kind::Launch || image_of(step.launch->kernel) == 0) {
        auto from = std::chrono::steady_clock::now();
        execute_on_host(step);
        own += std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
      } else {
        Step timed[] = {{Step::Kind::Begin, 0, 0, 0, {}, nullptr}, step, {Step::Kind::End, 0, 0, 0, {}, nullptr}};
        DeviceOutcome launched = run_in_child(timed, program.reordered, limit);
        if (!launched.ok()) return launched;
        theirs += launched.seconds[0];
      }
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
    images_.erase(number);
    child_.reset();  // It may have the image's code loaded.
  }

  Status start_child() {
    if (child_) return done();
    KERNELIFT_ASSIGN(child_, ChildProcess::start({images_, placed_, options_.threads, options_.memory_bytes}));
    return done();
  }

  /// Has a child load an image and say what is in it; `into` may be null. An Error says why it cannot be loaded.
  Status list(uint64_t number, DeviceImage* into) {
    KERNELIFT_TRY(start_child());
    std::string answer;
    DeviceOutcome outcome = child_->ask(kLoad, WireWriter().number(number).take(), kLoaded, kLoadLimit, {}, answer);
    WireReader reader(answer);
    auto fault = static_cast<DeviceFault>(reader.number());
    std::string detail = reader.text();
    if (!outcome.ok() || fault != DeviceFault::None) {
      child_.reset();
      return environment_error(outcome.ok() ? detail : outcome.detail);
    }
    if (!into) return done();
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
      into->kernels.push_back(std::move(kernel));
    }
    uint64_t variables = reader.number();
    for (uint64_t i = 0; i < variables && !reader.failed(); ++i) {
      confined::Image::Variable variable;
      variable.name = reader.text(), variable.size = reader.number();
      // A candidate may have lied about its size.
      if (variable.size > kVariableBytes || variable_bytes_ + (variable.size + 63) / 64 * 64 > kVariableBytes)
        return environment_error("its module variables take more than " + std::to_string(kVariableBytes >> 30) +
                                 " GiB");
      variable.shadow = variables_ + variable_bytes_, variable_bytes_ += (variable.size + 63) / 64 * 64;
      into->variables.push_back({variable.name, reinterpret_cast<uint64_t>(variable.shadow), variable.size});
      images_[number].variables.push_back(std::move(variable));
    }
    if (!reader.ok()) return environment_error("the process that loads it sent nonsense");
    return done();
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

  DeviceOutcome run_in_child(std::span<const Step> steps, bool reordered, std::chrono::milliseconds limit) {
    DeviceOutcome outcome;
    if (Status ready = start_child(); !ready.ok()) {
      outcome.fault = DeviceFault::LaunchRefused, outcome.detail = ready.error().message;
      return outcome;
    }
    RunRequest request;
    request.steps.assign(steps.begin(), steps.end());
    request.reordered = reordered, request.limit = limit;
    size_t intervals = 0;
    for (auto& step : steps) {
      intervals += step.kind == Step::Kind::End;
      if (step.kind != Step::Kind::Launch || image_of(step.launch->kernel) == 0) continue;
      auto& variables = images_[image_of(step.launch->kernel)].variables;
      auto [bound, fresh] = request.bound.try_emplace(image_of(step.launch->kernel));
      for (uint64_t i = 0; fresh && i < variables.size(); ++i)
        if (variables[i].bound)
          bound->second.push_back({i, reinterpret_cast<uint64_t>(variables[i].shadow), variables[i].size});
    }
    std::string answer;
    outcome = child_->ask(kRun, encode(request), kRan, limit, interrupted, answer);
    if (outcome.ok()) {
      WireReader reader(answer);
      outcome.fault = static_cast<DeviceFault>(reader.number()), outcome.detail = reader.text();
      outcome.seconds = reader.reals(), outcome.survived = true;
      auto good = [](double seconds) { return seconds > 0 && seconds < 1e6; };
      bool sound = reader.ok() && outcome.fault < DeviceFault::Lost && std::ranges::all_of(outcome.seconds, good) &&
                   (!outcome.ok() || outcome.seconds.size() == intervals);
      if (!sound) outcome = child_->malformed();
    }
    if (!outcome.ok()) child_.reset();
    return outcome;
  }

  ConfinedCpuOptions options_;
  DeviceFacts facts_;
  std::map<uint64_t, confined::Image> images_;
  uint64_t last_image_ = 0;
  std::map<uint64_t, uint64_t> placed_;
  std::byte* variables_ = nullptr;
  uint64_t variable_bytes_ = 0;  ///< Taken by copies of variables so far.
  std::unique_ptr<ChildProcess> child_;
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
