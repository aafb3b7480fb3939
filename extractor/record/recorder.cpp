// See recorder.h. A launch that is not captured costs one look-up and a few additions; only launches of wanted kernels
// look at the list of allocations. Images go from the application's memory through one compression buffer to the disk:
// the recorder never holds a copy of a buffer.
#include "extractor/record/recorder.h"

#include <sys/statvfs.h>
#include <unistd.h>
#include <csignal>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/model/kernel_key.h"
#include "core/toolchain/fat_blob.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

constexpr uint64_t kCheckEvery = 1024;                    ///< Launches between two looks at the clock.
constexpr auto kManifestEvery = std::chrono::seconds(5);  ///< So a killed run keeps its profile to within this.
constexpr uint64_t kDiskReserve = uint64_t(256) << 20;    ///< Bytes of disk that a capture never takes.
constexpr size_t kMostOmissions = 200;

/// A write past RLIMIT_FSIZE must come back as an error here, not as a signal that ends the application. (On Linux
/// sigprocmask is the calling thread's own mask; pthread_sigmask would ask for a newer glibc.)
class NoFileSizeSignal {
 public:
  NoFileSizeSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    blocked_ = sigprocmask(SIG_BLOCK, &signals_, &before_) == 0;
  }
  ~NoFileSizeSignal() {
    if (!blocked_ || sigismember(&before_, SIGXFSZ)) return;
    timespec now{};
    while (sigtimedwait(&signals_, nullptr, &now) > 0) {}
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signals_, before_;
  bool blocked_ = false;
};

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    words.emplace_back(text.c_str() + at);
    at += words.back().size() + 1;
  }
  return words;
}

/// Since this process was started, by the kernel's own clock (10 ms fine): a profile's shares are of the whole run.
double seconds_since_process_start() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  constexpr int kFieldsToStart = 19;  // proc(5): state is the first after the name, starttime the twentieth.
  for (int i = 0; i < kFieldsToStart; ++i) fields >> skipped;
  double start_ticks = 0;
  fields >> start_ticks;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9 - start_ticks / double(sysconf(_SC_CLK_TCK));
}

/// Adds the time it lives to a sum.
class OwnTime {
 public:
  explicit OwnTime(double& sum) : sum_(sum) {}
  ~OwnTime() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count(); }

 private:
  double& sum_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Geometry geometry_of(const kl_record_launch& launch) {
  return {{launch.grid.x, launch.grid.y, launch.grid.z},
          {launch.block.x, launch.block.y, launch.block.z},
          launch.dynamic_shared_bytes,
          launch.cooperative != 0};
}

std::span<const std::byte> arguments_of(const kl_record_launch& launch) {
  return {static_cast<const std::byte*>(launch.arguments), launch.arguments ? launch.kernel->parameter_bytes : 0};
}

std::span<const std::byte> memory_at(uint64_t address, uint64_t size) {
  return {reinterpret_cast<const std::byte*>(address), size};
}

/// The source file that the module's code was compiled from, as the compiler shim noted it; empty if it did not.
std::string unit_of(const kl_record_launch& launch) {
  uint64_t size = launch.fat_blob ? fat_blob_size(launch.fat_blob) : 0;
  if (size == 0) return "";
  auto entries = read_fat_blob({static_cast<const char*>(launch.fat_blob), size});
  return entries.ok() && !entries->empty() ? entries->front().name : "";
}

std::string bytes_text(uint64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB"; }

}  // namespace

Recorder::Recorder(RecordConfig config, const kl_runtime_view& view) : config_(std::move(config)), view_(view) {
  // An empty folder says: this process used the runtime. One without a manifest in it: and never launched a kernel.
  folder_ = config_.folder + "/process-" + std::to_string(getpid());
  std::error_code code;
  fs::create_directories(folder_, code);
  if (config_.kernel.empty()) return;
  try {
    pattern_.emplace(config_.kernel);
  } catch (const std::regex_error&) {
    omit("all kernels", "'" + config_.kernel + "' is not a regular expression");
    config_.profile_only = true;
  }
}

void Recorder::omit(std::string what, std::string why) {
  if (omissions_.size() < kMostOmissions) omissions_.push_back({std::move(what), std::move(why)});
}

void Recorder::stop(const std::string& why) {
  omit("everything after " + std::to_string(launches_) + " launches", why);
  pending_.reset();
  stopped_ = true;
}

bool Recorder::open_archive() {
  if (writer_) return true;
  auto writer = CaptureWriter::create(folder_);
  if (!writer.ok()) {
    stop(writer.error().message);
    return false;
  }
  writer_ = std::move(*writer);
  return true;
}

Recorder::Kernel& Recorder::kernel_of(const kl_record_launch& launch) {
  if (launch.kernel == last_) return *last_kernel_;
  auto& slot = kernels_[launch.kernel];
  if (!slot) {
    slot.reset(new Kernel{canonical_key(launch.kernel->name),
                          launch.kernel->name,
                          unit_of(launch),
                          false,
                          {},
                          InstanceChooser(config_.instances, config_.skip),
                          {}});
    slot->wanted =
        !config_.profile_only && config_.instances > 0 &&
        (!pattern_ || std::regex_search(slot->key, *pattern_) || std::regex_search(slot->mangled, *pattern_));
  }
  last_ = launch.kernel;
  return *(last_kernel_ = slot.get());
}

AllocationMap Recorder::allocations() const {
  std::vector<kl_allocation> live(64);
  for (;;) {
    size_t count = view_.allocations(live.data(), live.size());
    bool fits = count <= live.size();
    live.resize(count);
    if (fits) return AllocationMap(std::move(live));
  }
}

void Recorder::launch_begin(const kl_record_launch& launch) {
  pending_.reset();
  Kernel& kernel = kernel_of(launch);
  kernel.traits.reset();
  if (!kernel.wanted || stopped_) return;
  AllocationMap live = allocations();
  kernel.traits = {geometry_of(launch), scalar_hash(arguments_of(launch), live)};
  if (!kernel.chooser.wants(*kernel.traits) || !open_archive()) return;
  NoFileSizeSignal guard;
  view_.synchronize();
  if (!capture_before(kernel, launch, live)) pending_.reset();
}

bool Recorder::capture_before(Kernel& kernel, const kl_record_launch& launch, const AllocationMap& live) {
  OwnTime timer(own_seconds_);
  std::span variables(launch.image->variables, launch.image ? launch.image->variable_count : 0);
  auto parameters = std::span(launch.kernel->parameters, launch.kernel->parameter_count);
  auto regions = reachable(arguments_of(launch), parameters, variables, live);
  uint64_t total = 0, largest = 0;
  const ReachedRegion* biggest = nullptr;
  for (auto& region : regions) {
    total += region.size;
    if (region.size > largest) largest = region.size, biggest = &region;
  }
  for (auto& variable : variables) total += variable.size;
  std::string what = "launch " + std::to_string(kernel.chooser.seen() - 1) + " of " + kernel.key;
  if (total > config_.instance_bytes) {
    omit(what, "it can reach " + bytes_text(total) + " of memory" +
                   (biggest ? ", most of it " + bytes_text(largest) + " by " + biggest->reached_from : std::string()) +
                   ", more than the " + bytes_text(config_.instance_bytes) +
                   " that one instance may take; raise --mib");
    return false;
  }
  struct statvfs disk{};
  if (statvfs(folder_.c_str(), &disk) == 0 && uint64_t(disk.f_bavail) * disk.f_frsize < kDiskReserve) {
    stop("the disk that holds " + folder_ + " has less than " + bytes_text(kDiskReserve) + " left");
    return false;
  }

  pending_.emplace();
  CapturedInstance& instance = *pending_;
  char id[64];
  std::snprintf(id, sizeof id, "%.4s-%04llu", hash_text(kernel.key + "\n" + kernel.unit).hex().c_str(),
                static_cast<unsigned long long>(kernel.chooser.seen() - 1));
  instance.id = id;
  instance.kernel = kernel.key;
  instance.mangled = kernel.mangled;
  instance.unit = kernel.unit;
  instance.launch_index = kernel.chooser.seen() - 1;
  instance.geometry = geometry_of(launch);
  instance.arguments.assign(arguments_of(launch).begin(), arguments_of(launch).end());
  for (auto& parameter : parameters) instance.parameters.push_back({parameter.offset, parameter.size});
  auto store = [&](uint64_t address, uint64_t size, Image& into) {
    auto image = writer_->store(memory_at(address, size));
    if (image.ok()) into = std::move(*image);
    else stop(image.error().message);
    return image.ok();
  };
  for (auto& region : regions) {
    CapturedRegion captured;
    captured.address = region.address, captured.kind = region.kind, captured.reached_from = region.reached_from;
    if (!store(region.address, region.size, captured.before)) return false;
    instance.regions.push_back(std::move(captured));
  }
  for (auto& variable : variables) {
    CapturedVariable captured;
    captured.name = variable.name;
    captured.key = canonical_key(variable.name);
    captured.constant = variable.flags & KL_VARIABLE_CONSTANT;
    captured.address = reinterpret_cast<uint64_t>(variable.address);
    if (!store(captured.address, variable.size, captured.before)) return false;
    instance.variables.push_back(std::move(captured));
  }
  return true;
}

bool Recorder::capture_after(double seconds) {
  OwnTime timer(own_seconds_);
  CapturedInstance& instance = *pending_;
  instance.microseconds = seconds * 1e6;
  auto store = [&](uint64_t address, uint64_t size, Image& into) {
    auto image = writer_->store(memory_at(address, size));
    if (image.ok()) into = std::move(*image);
    else stop(image.error().message);
    return image.ok();
  };
  for (auto& region : instance.regions)
    if (!store(region.address, region.before.size, region.after)) return false;
  for (auto& variable : instance.variables)
    if (!store(variable.address, variable.before.size, variable.after)) return false;
  if (auto status = writer_->finish_instance(instance); !status.ok()) {
    stop(status.error().message);
    return false;
  }
  return true;
}

void Recorder::launch_end(const kl_record_launch& launch, double seconds) {
  Kernel& kernel = kernel_of(launch);
  if (seconds < 0) {  // It failed: not a launch to learn from.
    pending_.reset();
    return;
  }
  double microseconds = seconds * 1e6;
  kernel.profile.add(geometry_of(launch), microseconds);
  ++launches_;
  bool captured = false;
  if (pending_) {
    NoFileSizeSignal guard;
    captured = capture_after(seconds);
    if (captured) kernel.chooser.captured(*kernel.traits, pending_->id);
    pending_.reset();
  }
  if (kernel.traits) kernel.chooser.note(*kernel.traits, microseconds, captured);
  if (launches_ % kCheckEvery && !captured && launches_ > 1) return;
  auto now = std::chrono::steady_clock::now();
  if (!captured && launches_ > 1 && now - written_ < kManifestEvery) return;
  written_ = now;
  NoFileSizeSignal guard;
  write_manifest(false);
}

void Recorder::write_manifest(bool complete) {
  if (!open_archive() && !writer_) return;
  CaptureInfo info;
  info.device = "cpu";
  info.command = own_command();
  std::error_code code;
  info.folder = fs::current_path(code).string();
  info.run_seconds = std::max(0.0, seconds_since_process_start() - own_seconds_);
  info.recorder_seconds = own_seconds_;
  info.complete = complete;
  std::vector<KernelProfile> profiles;
  for (auto& [_, kernel] : kernels_) {
    KernelProfile profile = kernel->profile.summary();
    profile.key = kernel->key, profile.mangled = kernel->mangled;
    profiles.push_back(std::move(profile));
    if (!kernel->wanted) continue;
    info.shares.merge(kernel->chooser.shares());
    auto& gone = kernel->chooser.superseded();
    info.superseded.insert(info.superseded.end(), gone.begin(), gone.end());
  }
  info.profile = merge_profiles(std::move(profiles));
  info.omissions = omissions_;
  if (auto status = writer_->finish(info); !status.ok() && !stopped_) stop(status.error().message);
}

void Recorder::finish() {
  pending_.reset();
  if (launches_ == 0) return;
  NoFileSizeSignal guard;
  write_manifest(true);
}

}  // namespace kernelift
