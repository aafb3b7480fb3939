// See recorder.h. A launch that is not captured costs one look-up and a few additions; only launches of wanted kernels
// look at the list of allocations. Images go from the application's memory through one compression buffer to the disk:
// the recorder never holds a copy of a buffer.
#include "extractor/record/cpu/recorder.h"

#include <cstring>

#include "core/model/kernel_key.h"
#include "core/toolchain/fat_blob.h"
#include "extractor/record/nvtx_ranges.h"
#include "extractor/record/process_rank.h"
#include "extractor/record/shared_mapping.h"

namespace kernelift::record {
namespace {

constexpr uint64_t kCheckEvery = 1024;                    ///< Launches between two looks at the clock.
constexpr auto kManifestEvery = std::chrono::seconds(5);  ///< So a killed run keeps its profile to within this,
constexpr auto kManifestAfterImages = std::chrono::milliseconds(500);  ///< and what its instances stand for.

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

/// The source file that the module's code was compiled from, as the compiler wrapper noted it; empty if it did not.
std::string unit_of(const kl_record_launch& launch) {
  uint64_t size = launch.fat_blob ? fat_blob_size(launch.fat_blob) : 0;
  if (size == 0) return "";
  auto entries = read_fat_blob({static_cast<const char*>(launch.fat_blob), size});
  return entries.ok() && !entries->empty() ? entries->front().name : "";
}

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Recorder::Recorder(RecordConfig config, const kl_runtime_view& view)
    : config_(for_this_process(std::move(config))), view_(view), pattern_(config_), archive_(config_.folder) {
  if (!config_.region.empty()) NvtxRanges::watch(config_.region);
  if (pattern_.broken()) archive_.omit("all kernels", "'" + config_.kernel + "' is not a regular expression");
}

void Recorder::stop(const std::string& why) {
  archive_.stop("everything after " + std::to_string(launches_) + " launches", why);
  pending_.reset();
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
    slot->wanted = pattern_.wants(slot->key, slot->mangled);
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
    if (fits) break;
  }
  std::vector<LiveMemory> list;
  list.reserve(live.size());
  auto kind_of = [](uint32_t kind) {
    switch (kind) {
      case KL_MEMORY_MANAGED: return MemoryKind::Managed;
      case KL_MEMORY_HOST_MAPPED: return MemoryKind::HostMapped;
      case KL_MEMORY_ARRAY: return MemoryKind::Array;
      case KL_MEMORY_TEXTURE: return MemoryKind::Texture;
      default: return MemoryKind::Device;
    }
  };
  for (auto& one : live) list.push_back({one.address, one.size, kind_of(one.kind)});
  return AllocationMap(std::move(list));
}

void Recorder::launch_begin(const kl_record_launch& launch) {
  pending_.reset();
  if (NvtxRanges::watching()) occurrence_ = NvtxRanges::occurrence();
  if (occurrence_ == 0) return;
  launch_began_ = steady_seconds() - own_seconds_;
  Kernel& kernel = kernel_of(launch);
  kernel.traits.reset();
  if (launch.kernel->mode == KL_MODE_REFUSED) return archive_.omit(kernel.key, launch.kernel->mode_reason);
  if (!kernel.wanted || archive_.stopped()) return;
  std::optional<OwnTime> looking(std::in_place, own_seconds_);
  AllocationMap live = allocations();
  kernel.traits = {geometry_of(launch), scalar_hash(arguments_of(launch), live)};
  if (!kernel.chooser.wants(*kernel.traits) || !archive_.open()) return;
  looking.reset();  // What the application still has to do is its own.
  NoFileSizeSignal guard;
  view_.synchronize();
  if (!capture_before(kernel, launch, live)) pending_.reset();
}

bool Recorder::capture_before(Kernel& kernel, const kl_record_launch& launch, const AllocationMap& live) {
  OwnTime timer(own_seconds_);
  std::span<const kl_variable> variables;
  if (launch.image) variables = {launch.image->variables, launch.image->variable_count};  // Else it is unloaded.
  std::vector<Parameter> parameters;
  for (auto& parameter : std::span(launch.kernel->parameters, launch.kernel->parameter_count))
    parameters.push_back({parameter.offset, parameter.size});
  std::vector<ReachRoot> roots;
  uint64_t variable_bytes = 0;
  for (auto& variable : variables) {
    roots.push_back({reinterpret_cast<uint64_t>(variable.address), variable.size, variable.name});
    variable_bytes += variable.size;
  }
  OwnMemory memory;
  auto regions = reachable(arguments_of(launch), parameters, roots, live, memory, ~uint64_t(0), config_.all_memory);
  uint64_t index = kernel.chooser.seen() - 1;
  std::string what = launch_text(kernel.key, index);
  if (!regions.ok() || !archive_.has_room(what, *regions, variable_bytes, config_.instance_bytes)) return false;

  pending_.emplace();
  CapturedInstance& instance = *pending_;
  if (kernel.mark.empty()) kernel.mark = archive_.mark_of_kernel(kernel.mangled + "\n" + kernel.unit);
  instance.id = instance_id(kernel.mark, index);
  instance.kernel = kernel.key;
  instance.mangled = kernel.mangled;
  instance.unit = kernel.unit;
  instance.launch_index = index;
  instance.geometry = geometry_of(launch);
  instance.arguments.assign(arguments_of(launch).begin(), arguments_of(launch).end());
  instance.parameters = parameters;
  instance.unreached = unreached(live, *regions);
  auto store = [&](uint64_t address, uint64_t size, Image& into) {
    auto image = archive_.writer().store(memory_at(address, size));
    if (image.ok()) into = std::move(*image);
    else stop(image.error().message);
    return image.ok();
  };
  for (auto& region : *regions) {
    CapturedRegion captured;
    captured.address = region.address, captured.kind = region.kind, captured.reached_from = region.reached_from;
    captured.shared = region.kind == MemoryKind::HostMapped && is_shared_mapping(region.address, region.size);
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
  auto store = [&](uint64_t address, const Image& before, Image& into) {
    auto image = archive_.writer().store(memory_at(address, before.size), &before);
    if (image.ok()) into = std::move(*image);
    else stop(image.error().message);
    return image.ok();
  };
  for (auto& region : instance.regions)
    if (!store(region.address, region.before, region.after)) return false;
  for (auto& variable : instance.variables)
    if (!store(variable.address, variable.before, variable.after)) return false;
  if (auto status = archive_.writer().finish_instance(instance); !status.ok()) {
    stop(status.error().message);
    return false;
  }
  return true;
}

void Recorder::launch_end(const kl_record_launch& launch, double seconds) {
  if (occurrence_ == 0) return;
  Kernel& kernel = kernel_of(launch);
  if (seconds < 0) {  // It failed: not a launch to learn from.
    pending_.reset();
    if (launch.kernel->mode != KL_MODE_REFUSED)
      archive_.omit(kernel.key, "launches of it failed: the application's stderr says why");
    return;
  }
  double microseconds = seconds * 1e6;
  span_.add(occurrence_, launch_began_, steady_seconds() - own_seconds_);
  kernel.profile.add(geometry_of(launch), microseconds);
  ++launches_;
  bool captured = false;
  std::string captured_id;
  if (pending_) {
    NoFileSizeSignal guard;
    captured = capture_after(seconds);
    if (captured)
      captured_id = pending_->id,
      kernel.chooser.captured(*kernel.traits, captured_id, changes_memory(*pending_), instance_bytes(*pending_));
    pending_.reset();
  }
  if (kernel.traits) kernel.chooser.note(*kernel.traits, microseconds, captured_id);
  // A worker process may end without a word (Python's do, by _exit): of few launches at least half are noted.
  bool early = launches_ <= kCheckEvery && (launches_ & (launches_ - 1)) == 0;
  if (launches_ % kCheckEvery && !captured && !early) return;
  if (std::chrono::steady_clock::now() - written_ < (captured ? kManifestAfterImages : kManifestEvery) && !early)
    return;
  NoFileSizeSignal guard;
  write_manifest(false);
}

void Recorder::write_manifest(bool complete) {
  OwnTime timer(own_seconds_);
  written_ = std::chrono::steady_clock::now();
  CaptureInfo info;
  info.device = "cpu";
  info.span_seconds = span_.seconds();
  std::vector<KernelProfile> profiles;
  for (auto& [_, kernel] : kernels_) {
    KernelProfile profile = kernel->profile.summary();
    profile.key = kernel->key, profile.mangled = kernel->mangled;
    profiles.push_back(std::move(profile));
    if (kernel->wanted) kernel->chooser.report(info);
  }
  info.profile = merge_profiles(std::move(profiles));
  archive_.write_manifest(std::move(info), own_seconds_, complete);
}

void Recorder::finish() {
  pending_.reset();
  if (launches_ == 0 && occurrence_ == 0) archive_.omit(NvtxRanges::title(), NvtxRanges::missed());
  if (launches_ == 0 && !archive_.omits_anything()) return;
  NoFileSizeSignal guard;
  write_manifest(true);
}

}  // namespace kernelift::record
