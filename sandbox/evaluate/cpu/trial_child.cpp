// The child's side of a trial: confined first, then the images are loaded, then commands are obeyed. Code in here
// shares its process with a candidate, so nothing it says is believed without a check outside: results are compared by
// the runner in memory that the runner sees, and only durations come from here.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/wire.h"
#include "core/model/kernel_key.h"
#include "sandbox/evaluate/cpu/trial.h"

namespace kernelift {
namespace {

using cpu::LaunchFault;

constexpr uint64_t kLargestScratch = 4ull << 30;

/// One launch of one instance, ready to go.
struct PreparedLaunch {
  const kl_kernel* kernel = nullptr;
  Geometry geometry;
  std::vector<std::byte> arguments;
};

struct ScratchMemory {
  std::byte* base = nullptr;
  uint64_t size = 0;
  bool zeroed = false;
};

struct BoundVariable {
  const MemoryVariable* recorded;
  std::byte* in_image;  ///< Null: this image has no such variable.
};

struct LoadedSide {
  std::shared_ptr<cpu::LoadedImage> image;
  std::vector<std::vector<PreparedLaunch>> launches;  ///< By instance.
  std::vector<std::vector<BoundVariable>> variables;  ///< By instance.
  std::vector<std::vector<ScratchMemory>> scratch;    ///< By instance.
};

TrialFailure from_launch(const cpu::LaunchOutcome& outcome) {
  switch (outcome.fault) {
    case LaunchFault::InvalidConfiguration: return {Outcome::LaunchFailed, outcome.detail};
    case LaunchFault::OutOfResources: return {Outcome::OverResources, outcome.detail};
    case LaunchFault::Unsupported: return {Outcome::Refused, outcome.detail};
    case LaunchFault::TimedOut: return {Outcome::TimedOut, outcome.detail};
    default: return {Outcome::Crashed, outcome.detail};
  }
}

const kl_kernel* find_kernel(const cpu::LoadedImage& image, const std::string& wanted) {
  if (auto* exact = image.find_kernel(wanted)) return exact;
  const kl_kernel* found = nullptr;
  for (uint32_t i = 0; i < image.image().kernel_count; ++i) {
    const kl_kernel& kernel = image.image().kernels[i];
    std::string key = canonical_key(kernel.name);
    if (key != wanted && !key_matches(key, wanted)) continue;
    if (found) return nullptr;  // Ambiguous is as good as absent.
    found = &kernel;
  }
  return found;
}

class TrialChild {
 public:
  TrialChild(Channel channel, const Mep& mep, const ReplayMemory& memory, const TrialSettings& settings)
      : channel_(std::move(channel)), mep_(mep), memory_(memory), settings_(settings) {
    options_.workers = settings.threads;
    options_.no_progress_timeout = settings.launch_limit;
    options_.print = [](std::string_view) {};
  }

  std::optional<TrialFailure> load(Side side, const TrialCode& code) {
    auto image = cpu::LoadedImage::load(code.image, side == Side::Baseline ? "original" : "candidate");
    if (!image.ok()) return TrialFailure{Outcome::LaunchFailed, image.error().message};
    LoadedSide& loaded = sides_[static_cast<size_t>(side)];
    loaded.image = *image;
    for (size_t i = 0; i < mep_.instances.size(); ++i)
      if (auto failure = prepare(loaded, code, i)) {
        failure->detail = "instance " + mep_.instances[i].id + ": " + failure->detail;
        return failure;
      }
    return std::nullopt;
  }

  void report_loaded(const std::optional<TrialFailure>& failure) { reply(trial_frame::kLoaded, failure); }

  void serve() {
    while (Frame frame = channel_.receive()) {
      WireReader reader(frame.body);
      if (frame.type == trial_frame::kRun) {
        auto side = static_cast<Side>(reader.number());
        size_t instance = reader.number();
        set_variables(side, instance, reader.text());
        double seconds = 0;
        auto failure = launch(side, instance, seconds);
        mirror_variables(side, instance);
        reply(trial_frame::kRan, failure, WireWriter().real(seconds).take());
      } else if (frame.type == trial_frame::kTime) {
        size_t instance = reader.number();
        int rounds = static_cast<int>(reader.number());
        time(instance, rounds, static_cast<int>(reader.number()));
      }
    }
  }

 private:
  void reply(uint32_t type, const std::optional<TrialFailure>& failure, std::string payload = {}) {
    TrialFailure said = failure.value_or(TrialFailure{Outcome::Ok, {}});
    if (!channel_.send(type, WireWriter().text(name(said.outcome)).text(said.detail).text(payload).take())) _exit(0);
  }

  std::optional<TrialFailure> prepare(LoadedSide& side, const TrialCode& code, size_t index) {
    const MepInstance& instance = mep_.instances[index];
    std::vector<CandidateLaunch> launches = code.launches;
    if (launches.empty()) launches.push_back(CandidateLaunch::as_recorded(mep_.kernel_mangled));
    side.scratch.emplace_back();
    for (auto& wanted : code.scratch) {
      Bindings bound = code.values;
      bound["gx"] = instance.geometry.grid.x, bound["gy"] = instance.geometry.grid.y,
      bound["gz"] = instance.geometry.grid.z;
      bound["bx"] = instance.geometry.block.x, bound["by"] = instance.geometry.block.y,
      bound["bz"] = instance.geometry.block.z;
      bound["shared"] = instance.geometry.shared_bytes;
      auto bytes = wanted.bytes.evaluate(bound);
      if (!bytes.ok()) return TrialFailure{Outcome::LaunchFailed, bytes.error().message};
      if (*bytes < 0 || static_cast<uint64_t>(*bytes) > kLargestScratch)
        return TrialFailure{Outcome::OverResources, "scratch memory of " + std::to_string(*bytes) + " bytes, limit " +
                                                        std::to_string(kLargestScratch)};
      // Whole pages of its own; shared, so that it is not counted twice after a fork.
      auto* base = static_cast<std::byte*>(shared_memory(std::max<size_t>(1, static_cast<size_t>(*bytes))));
      if (!base)
        return TrialFailure{Outcome::OverResources, "no memory for " + std::to_string(*bytes) + " bytes of scratch"};
      // Fresh pages are zero; scratch that was not asked to be must not be relied on.
      constexpr int kRubbish = 0xc5;
      std::memset(base, kRubbish, static_cast<size_t>(*bytes));
      side.scratch.back().push_back({base, static_cast<uint64_t>(*bytes), wanted.zeroed});
    }
    side.launches.emplace_back();
    for (auto& wanted : launches) {
      const kl_kernel* kernel = find_kernel(*side.image, wanted.kernel);
      // Spelled by the source or mangled by another compiler, template arguments may be written otherwise.
      if (!kernel && (wanted.kernel == mep_.kernel_mangled || wanted.kernel == mep_.kernel_name))
        kernel = find_kernel(*side.image, mep_.kernel_key);
      if (!kernel)
        return TrialFailure{Outcome::LaunchFailed, "the source has no kernel '" + wanted.kernel + "', or several"};
      auto geometry = wanted.evaluate(instance.geometry, code.values);
      if (!geometry.ok()) return TrialFailure{Outcome::LaunchFailed, geometry.error().message};
      PreparedLaunch launch{kernel, *geometry, instance.arguments};
      if (auto failure = over_limits(launch)) return failure;
      if (auto failure = append_scratch(launch, instance, side.scratch.back())) return failure;
      side.launches.back().push_back(std::move(launch));
    }
    side.variables.emplace_back();
    for (auto& variable : memory_.instances()[index].variables)
      side.variables.back().push_back({&variable, find_variable(*side.image, variable)});
    return std::nullopt;
  }

  static std::optional<TrialFailure> over_limits(const PreparedLaunch& launch) {
    cpu::DeviceLimits limits = cpu::device_limits();
    auto over = [](const char* what, uint64_t used, uint64_t limit) {
      return TrialFailure{Outcome::OverResources,
                          std::string(what) + ": " + std::to_string(used) + ", limit " + std::to_string(limit)};
    };
    uint64_t threads = launch.geometry.block.count(), bound = launch.kernel->max_threads;
    if (threads > limits.max_threads_per_block) return over("threads per block", threads, limits.max_threads_per_block);
    if (bound > 0 && threads > bound) return over("threads per block under __launch_bounds__", threads, bound);
    uint64_t shared = uint64_t(launch.geometry.shared_bytes) + launch.kernel->static_shared_bytes;
    if (shared > limits.shared_per_block_optin)
      return over("bytes of shared memory per block", shared, limits.shared_per_block_optin);
    return std::nullopt;
  }

  /// A kernel that takes more than the recorded parameters gets the scratch buffers' addresses, in order.
  std::optional<TrialFailure> append_scratch(PreparedLaunch& launch, const MepInstance& instance,
                                             const std::vector<ScratchMemory>& scratch) {
    const kl_kernel& kernel = *launch.kernel;
    size_t recorded = instance.parameters.size();
    auto mismatch = [&] {
      return TrialFailure{Outcome::LaunchFailed,
                          "the kernel takes " + std::to_string(kernel.parameter_count) + " parameters of " +
                              std::to_string(kernel.parameter_bytes) + " bytes; the recorded launch passes " +
                              std::to_string(recorded) + " of " + std::to_string(instance.arguments.size()) +
                              (scratch.empty() ? "" : " and " + std::to_string(scratch.size()) + " scratch pointers")};
    };
    size_t extra = kernel.parameter_count - recorded;
    if (kernel.parameter_count < recorded || extra > scratch.size()) return mismatch();
    for (size_t i = 0; i < recorded; ++i)
      if (kernel.parameters[i].offset != instance.parameters[i].offset ||
          kernel.parameters[i].size != instance.parameters[i].size)
        return mismatch();
    launch.arguments.resize(std::max<size_t>(kernel.parameter_bytes, launch.arguments.size()));
    for (size_t i = 0; i < extra; ++i) {
      const kl_parameter& slot = kernel.parameters[recorded + i];
      if (slot.size != sizeof(void*) || slot.offset + slot.size > launch.arguments.size()) return mismatch();
      std::memcpy(&launch.arguments[slot.offset], &scratch[i].base, sizeof(void*));
    }
    return std::nullopt;
  }

  static std::byte* find_variable(const cpu::LoadedImage& image, const MemoryVariable& wanted) {
    const kl_variable* found = image.find_variable(wanted.name);
    for (uint32_t i = 0; !found && i < image.image().variable_count; ++i)
      if (canonical_key(image.image().variables[i].name) == wanted.key) found = &image.image().variables[i];
    return found && found->size == wanted.size ? static_cast<std::byte*>(found->address) : nullptr;
  }

  /// What a variable holds before a launch: as recorded, unless values laid out like the mirror were given.
  const void* value_before(const MemoryVariable& recorded) const {
    bool named = recorded.mirror_offset + recorded.size <= values_.size();
    return named ? static_cast<const void*>(&values_[recorded.mirror_offset]) : recorded.given;
  }
  void set_variables(Side side, size_t instance, std::string values = {}) {
    values_ = std::move(values);
    for (auto& variable : sides_[static_cast<size_t>(side)].variables[instance])
      if (variable.in_image) std::memcpy(variable.in_image, value_before(*variable.recorded), variable.recorded->size);
  }
  void mirror_variables(Side side, size_t instance) {
    for (auto& variable : sides_[static_cast<size_t>(side)].variables[instance])
      std::memcpy(&memory_.mirror()[variable.recorded->mirror_offset],
                  variable.in_image ? variable.in_image : value_before(*variable.recorded), variable.recorded->size);
  }

  /// All launches of one side; clearing scratch that asks for it is part of the candidate's time.
  std::optional<TrialFailure> launch(Side side, size_t instance, double& seconds) {
    LoadedSide& loaded = sides_[static_cast<size_t>(side)];
    arguments_.clear();
    for (auto& launch : loaded.launches[instance]) arguments_.push_back(launch.arguments);
    auto begin = std::chrono::steady_clock::now();
    for (auto& scratch : loaded.scratch[instance])
      if (scratch.zeroed) std::memset(scratch.base, 0, scratch.size);
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const PreparedLaunch& launch = loaded.launches[instance][i];
      auto outcome = cpu::launch(*launch.kernel, launch.geometry, arguments_[i].data(), options_);
      if (!outcome.ok()) return from_launch(outcome);
    }
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return std::nullopt;
  }

  void put_back(Side side, size_t instance) {
    for (auto& region : memory_.instances()[instance].regions)
      for (auto& range : region.restored)
        std::memcpy(region.live() + range.begin, region.given + range.begin, range.size());
    for (auto& variable : sides_[static_cast<size_t>(side)].variables[instance])
      if (variable.in_image && variable.recorded->changed())
        std::memcpy(variable.in_image, variable.recorded->given, variable.recorded->size);
  }

  void flush_caches(size_t instance) {
    constexpr uint64_t kLine = 64;
    for (auto& region : memory_.instances()[instance].regions)
      for (uint64_t at = region.address / kLine * kLine; at < region.address + region.size; at += kLine) {
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

  void time(size_t instance, int rounds, int batch) {
    std::vector<double> samples[2];
    std::optional<TrialFailure> failure;
    for (Side side : {Side::Baseline, Side::Candidate}) set_variables(side, instance);
    for (int round = 0; round < rounds && !failure; ++round) {
      // Who goes first alternates, so that neither side always finds the other's leavings. The candidate begins: in a
      // glance of two rounds its launches are then the first and the last, and no short disturbance slows both.
      Side order[] = {Side::Candidate, Side::Baseline};
      if (round_counter_++ % 2) std::swap(order[0], order[1]);
      for (Side side : order) {
        double sum = 0;
        for (int i = 0; i < batch && !failure; ++i) {
          put_back(side, instance);
          if (settings_.cold) flush_caches(instance);
          double seconds = 0;
          failure = launch(side, instance, seconds);
          sum += seconds;
        }
        samples[static_cast<size_t>(side)].push_back(sum / batch);
      }
    }
    reply(trial_frame::kTimed, failure, WireWriter().reals(samples[0]).reals(samples[1]).take());
  }

  Channel channel_;
  const Mep& mep_;
  const ReplayMemory& memory_;
  const TrialSettings& settings_;
  cpu::LaunchOptions options_;
  LoadedSide sides_[2];
  std::vector<std::vector<std::byte>> arguments_;
  std::string values_;  ///< Of module variables, see value_before.
  unsigned round_counter_ = 0;
};

}  // namespace

void serve_trial(Channel channel, FaultReport* fault, const Mep& mep, const ReplayMemory& memory,
                 const TrialCode& baseline, const TrialCode* candidate, const TrialSettings& settings,
                 bool candidate_first) {
  report_faults_to(fault);
  JailSpec jail;
  jail.kind = JailKind::Device;
  jail.extra_memory_bytes = settings.memory_bytes;
  TrialChild child(std::move(channel), mep, memory, settings);
  if (auto confined = enter_jail(jail); !confined.ok()) {
    child.report_loaded(TrialFailure{Outcome::LaunchFailed, confined.error().message});
    _exit(0);
  }
  std::optional<TrialFailure> failure;
  // A baseline timed against itself is loaded twice, like any other pair.
  const TrialCode& other = candidate ? *candidate : baseline;
  if (candidate_first) failure = child.load(Side::Candidate, other);
  if (!failure) failure = child.load(Side::Baseline, baseline);
  if (!failure && !candidate_first) failure = child.load(Side::Candidate, other);
  child.report_loaded(failure);
  if (!failure) child.serve();
  _exit(0);
}

}  // namespace kernelift
