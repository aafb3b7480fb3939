// See loaded_code.h.
#include "sandbox/evaluate/runner/memory/loaded_code.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "core/model/kernel_key.h"
#include "core/model/launch_values.h"

namespace kernelift::sandbox {
namespace {

constexpr uint64_t kLargestScratch = 16ull << 30;
constexpr std::byte kRubbish{0xc5};
constexpr uint64_t kGuard = 64 << 10;

RunFailure over(const std::string& what, uint64_t used, uint64_t limit) {
  return {Outcome::OverResources, what + ": " + std::to_string(used) + ", limit " + std::to_string(limit)};
}

bool has_clusters(const DeviceFacts& facts) {
  constexpr int kFirst = 90;
  return !facts.arch.starts_with("sm_") || std::atoi(facts.arch.c_str() + 3) >= kFirst;
}

std::optional<RunFailure> over_limits(const DeviceFacts& facts, const DeviceKernel& kernel, const Geometry& geometry) {
  uint64_t threads = geometry.block.count();
  if (threads > facts.max_threads_per_block) return over("threads per block", threads, facts.max_threads_per_block);
  if (threads > kernel.max_threads)
    return over(kernel.registers > 0 ? "threads per block, with " + std::to_string(kernel.registers) + " registers each"
                                     : "threads per block under __launch_bounds__",
                threads, kernel.max_threads);
  uint64_t shared = uint64_t(geometry.shared_bytes) + kernel.shared_bytes;
  if (shared > facts.shared_per_block_optin)
    return over("bytes of shared memory per block", shared, facts.shared_per_block_optin);
  const std::pair<const char*, std::pair<uint32_t, uint32_t>> dimensions[] = {
      {"block size in x", {geometry.block.x, facts.max_block.x}},
      {"block size in y", {geometry.block.y, facts.max_block.y}},
      {"block size in z", {geometry.block.z, facts.max_block.z}},
      {"blocks in x", {geometry.grid.x, facts.max_grid.x}},
      {"blocks in y", {geometry.grid.y, facts.max_grid.y}},
      {"blocks in z", {geometry.grid.z, facts.max_grid.z}}};
  for (auto& [what, pair] : dimensions)
    if (pair.first > pair.second) return over(what, pair.first, pair.second);
  if (threads == 0 || geometry.grid.count() == 0)
    return RunFailure{Outcome::LaunchFailed, "an empty grid or block: " + geometry.text()};
  return std::nullopt;
}

/// nvcc lets a lambda for host and device end with one member more than clang does: a pointer to the host's own copy,
/// which no code of the device reads.
bool lacks_host_pointer(const ScannedParameter& parameter, uint32_t taken, uint32_t recorded) {
  const uint32_t word = sizeof(uint64_t);
  return taken > 0 && parameter.lambda_bytes == taken && recorded == (taken + word - 1) / word * word + word;
}

/// `launch.arguments`, as recorded, are laid out as `kernel` takes them. Parameters beyond the recorded ones receive
/// the scratch buffers' addresses, in order.
std::optional<RunFailure> pass_arguments(const DeviceKernel& kernel, const Mep& mep, const MepInstance& recorded,
                                         const std::vector<uint64_t>& scratch, DeviceLaunch& launch) {
  if (!kernel.knows_parameters) {
    if (scratch.empty()) return std::nullopt;
    return RunFailure{Outcome::LaunchFailed, "the driver is too old to say how scratch memory is passed"};
  }
  uint64_t bytes = 0;
  for (auto& parameter : kernel.parameters) bytes = std::max<uint64_t>(bytes, parameter.offset + parameter.size);
  auto mismatch = [&] {
    return RunFailure{Outcome::LaunchFailed,
                      "the kernel takes " + std::to_string(kernel.parameters.size()) + " parameters of " +
                          std::to_string(bytes) + " bytes; the recorded launch passes " +
                          std::to_string(recorded.parameters.size()) + " of " +
                          std::to_string(recorded.arguments.size()) +
                          (scratch.empty() ? "" : " and " + std::to_string(scratch.size()) + " scratch pointers")};
  };
  size_t passed = recorded.parameters.size();
  if (kernel.parameters.size() < passed || kernel.parameters.size() - passed > scratch.size()) return mismatch();
  std::vector<std::byte> taken(bytes);
  bool shorter = false;  // What follows a parameter that is shorter than the recorded one may lie elsewhere.
  for (size_t i = 0; i < passed; ++i) {
    const Parameter &to = kernel.parameters[i], &from = recorded.parameters[i];
    if (to.size != from.size) {
      if (i >= mep.parameters.size() || !lacks_host_pointer(mep.parameters[i], to.size, from.size)) return mismatch();
      shorter = true;
    } else if (to.offset != from.offset && !shorter) {
      return mismatch();
    }
    if (uint64_t(from.offset) + to.size > launch.arguments.size()) return mismatch();
    std::memcpy(&taken[to.offset], &launch.arguments[from.offset], to.size);
  }
  for (size_t i = passed; i < kernel.parameters.size(); ++i) {
    const Parameter& slot = kernel.parameters[i];
    if (slot.size != sizeof(uint64_t)) return mismatch();
    std::memcpy(&taken[slot.offset], &scratch[i - passed], sizeof(uint64_t));
  }
  launch.arguments = std::move(taken);
  return std::nullopt;
}

}  // namespace

const DeviceVariable* find_variable(const std::vector<DeviceVariable>& variables, const std::string& name,
                                    const std::string& recorded_name, const std::string& key) {
  for (auto* wanted : {&name, &recorded_name})
    for (auto& variable : variables)
      if (!wanted->empty() && variable.name == *wanted) return &variable;
  const DeviceVariable* found = nullptr;
  for (auto& variable : variables) {
    if (canonical_key(variable.name) != key) continue;
    if (found) return nullptr;
    found = &variable;
  }
  return found;
}

const DeviceKernel* LoadedCode::find_kernel(const std::string& wanted) const {
  const DeviceKernel* found = nullptr;
  for (auto& kernel : image_.kernels)
    if (kernel.name == wanted) return &kernel;
  for (auto& kernel : image_.kernels) {
    std::string key = canonical_key(kernel.name);
    if (key != wanted && !key_matches(key, wanted)) continue;
    if (found) return nullptr;  // Ambiguous.
    found = &kernel;
  }
  return found;
}

std::optional<RunFailure> LoadedCode::load(Device& device, const ReplayMemory& memory, const Mep& mep,
                                           const RunnableCode& code, bool first) {
  auto image = device.load(code.image, first);
  if (!image.ok()) return RunFailure{Outcome::LaunchFailed, image.error().message};
  image_ = std::move(*image);
  instances_.clear(), own_.clear();
  if (auto kept = code.whole_unit ? done() : keep_own_variables(device, mep); !kept.ok())
    return RunFailure{Outcome::OverResources, kept.error().message};
  for (size_t i = 0; i < mep.instances.size(); ++i)
    if (auto failure = prepare(device, memory.instances()[i], mep, mep.instances[i], code)) {
      failure->detail = "instance " + mep.instances[i].id + ": " + failure->detail;
      return failure;
    }
  return std::nullopt;
}

std::variant<size_t, RunFailure> LoadedCode::add(Device& device, const ReplayInstance& memory, const Mep& mep,
                                                 const MepInstance& recorded, const RunnableCode& code) {
  if (auto failure = prepare(device, memory, mep, recorded, code)) {
    instances_.pop_back();
    return *std::move(failure);
  }
  return instances_.size() - 1;
}

Status LoadedCode::keep_own_variables(Device& device, const Mep& mep) {
  std::set<const DeviceVariable*> recorded;
  for (auto& instance : mep.instances)
    for (auto& variable : instance.variables)
      recorded.insert(find_variable(image_.variables, variable.name, variable.recorded_name, variable.key));
  DeviceProgram keep;
  for (auto& variable : image_.variables) {
    if (recorded.contains(&variable) || variable.size == 0) continue;
    OwnVariable& own = own_.emplace_back(variable.address, variable.size, DeviceMemory{});
    KERNELIFT_ASSIGN(own.initial, device.place(0, variable.size, Reach::Hidden));
    keep.copy(own.initial.address, variable.address, variable.size);
  }
  if (own_.empty()) return done();
  DeviceOutcome outcome = device.run(keep, std::chrono::seconds(10));
  return outcome.ok() ? done() : environment_error("copying module variables: " + outcome.detail);
}

std::optional<RunFailure> LoadedCode::prepare(Device& device, const ReplayInstance& memory, const Mep& mep,
                                              const MepInstance& recorded, const RunnableCode& code) {
  Prepared& prepared = instances_.emplace_back();
  std::vector<uint64_t> scratch_addresses;
  // At another size than the recorded one the arguments have other values, too.
  MepInstance launched = recorded;
  launched.arguments = memory.arguments;
  const Bindings values = with_arguments(mep, launched, code.values);
  for (auto& wanted : code.scratch) {
    auto bytes = wanted.bytes.evaluate(with_geometry(recorded.geometry, values));
    if (!bytes.ok()) return RunFailure{Outcome::LaunchFailed, bytes.error().message};
    if (*bytes < 0 || static_cast<uint64_t>(*bytes) > kLargestScratch)
      return RunFailure{Outcome::OverResources, "scratch memory of " + std::to_string(*bytes) + " bytes, limit " +
                                                    std::to_string(kLargestScratch)};
    const auto size = static_cast<uint64_t>(*bytes);
    auto placed = device.place(0, kGuard + size + kGuard);
    if (!placed.ok()) return RunFailure{Outcome::OverResources, placed.error().message};
    Scratch& scratch = prepared.scratch.emplace_back(std::move(*placed), 0, size, wanted.zeroed);
    scratch.address = scratch.memory.address + kGuard;
    DeviceProgram fresh;
    fresh.fill(scratch.address - kGuard, kCanary, kGuard), fresh.fill(scratch.address + size, kCanary, kGuard);
    // Fresh memory may happen to be zero; only scratch declared as zeroed may be relied on to be.
    fresh.fill(scratch.address, kRubbish, size);
    if (auto filled = device.run(fresh, std::chrono::seconds(10)); !filled.ok())
      return RunFailure{Outcome::LaunchFailed, filled.detail};
    scratch_addresses.push_back(scratch.address);
  }
  for (auto& variable : recorded.variables) {
    const DeviceVariable* found = find_variable(image_.variables, variable.name, variable.recorded_name, variable.key);
    // A variable of another size is a different one, for which no bytes were recorded.
    if (found && found->size != variable.size)
      return RunFailure{Outcome::LaunchFailed, "its variable " + variable.key + " has " + std::to_string(found->size) +
                                                   " bytes, the recorded one " + std::to_string(variable.size)};
    prepared.variables.push_back(found ? found->address : 0);
  }
  std::vector<std::byte> arguments = memory.arguments;
  if (auto failure = place_symbols(device, memory, recorded, prepared, arguments)) return failure;
  std::vector<CandidateLaunch> launches = code.launches;
  if (launches.empty()) launches.push_back(CandidateLaunch::as_recorded(mep.kernel_mangled));
  for (auto& wanted : launches) {
    const DeviceKernel* kernel = find_kernel(wanted.kernel);
    // The source or another compiler may spell template arguments differently: of a lambda's type the image says where
    // the lambda stands.
    if (!kernel && (wanted.kernel == mep.kernel_mangled || wanted.kernel == mep.kernel_name)) {
      kernel = find_kernel(mep.kernel_mangled);
      if (!kernel) kernel = find_kernel(mep.kernel_key);
    }
    if (!kernel)
      return RunFailure{Outcome::LaunchFailed,
                        "the image has no kernel '" + wanted.kernel + "', or several of that name"};
    auto geometry = wanted.evaluate(recorded.geometry, values);
    if (!geometry.ok()) return RunFailure{Outcome::LaunchFailed, geometry.error().message};
    DeviceLaunch launch;
    launch.kernel = kernel->handle, launch.geometry = *geometry, launch.arguments = arguments;
    launch.textures = memory.textures;
    launch.cluster = recorded.settings.cluster, launch.cluster_policy = recorded.settings.cluster_policy;
    launch.carveout = recorded.settings.carveout, launch.cache_config = recorded.settings.cache_config;
    launch.priority = recorded.settings.priority;
    if (launch.cluster.x > 0 && !has_clusters(device.facts()))
      return RunFailure{Outcome::LaunchFailed, "its launch needs clusters of blocks, which " + device.facts().arch +
                                                   " does not have (sm_90 and later do)"};
    if (kernel_.empty()) kernel_ = kernel->name;
    if (auto failure = over_limits(device.facts(), *kernel, *geometry)) return failure;
    if (auto failure = pass_arguments(*kernel, mep, recorded, scratch_addresses, launch)) return failure;
    if (!resources_.threads && kernel->registers > 0) {
      auto threads = static_cast<uint32_t>(geometry->block.count());
      resources_ = {kernel->registers, kernel->local_bytes, kernel->shared_bytes + geometry->shared_bytes, threads, {}};
      if (kernel->resident_blocks && device.facts().threads_per_multiprocessor > 0)
        resources_.occupancy = static_cast<double>(kernel->resident_blocks(threads, geometry->shared_bytes)) * threads /
                               device.facts().threads_per_multiprocessor;
    }
    prepared.launches.push_back(std::move(launch));
  }
  return std::nullopt;
}

std::optional<RunFailure> LoadedCode::place_symbols(Device& device, const ReplayInstance& memory,
                                                    const MepInstance& recorded, Prepared& into,
                                                    std::vector<std::byte>& arguments) const {
  if (memory.slots.empty()) return std::nullopt;
  std::vector<uint64_t> values;
  std::vector<const ReplayInstance::Slot*> placed;
  for (auto& slot : memory.slots) {
    const MepSymbolSlot& symbol = recorded.symbols[slot.symbol];
    std::string recorded_name;
    for (auto& variable : recorded.variables)
      if (variable.key == symbol.key) recorded_name = variable.recorded_name;
    const DeviceVariable* found = find_variable(image_.variables, symbol.name, recorded_name, symbol.key);
    uint64_t address = found ? found->address : 0;
    if (address == 0)
      return RunFailure{Outcome::LaunchFailed,
                        "the image has no variable '" + symbol.spelling + "', which recorded memory points to"};
    address += symbol.addend;
    if (slot.in_arguments) {
      if (slot.offset + sizeof address <= arguments.size())
        std::memcpy(&arguments[slot.offset], &address, sizeof address);
    } else {
      values.push_back(address), placed.push_back(&slot);
    }
  }
  into.patch_count = placed.size();
  if (placed.empty()) return std::nullopt;
  uint64_t value_bytes = values.size() * sizeof(uint64_t), range_bytes = values.size() * sizeof(DeviceRange);
  auto patches = device.place(0, value_bytes + 2 * range_bytes);
  if (!patches.ok()) return RunFailure{Outcome::OverResources, patches.error().message};
  into.patches = std::move(*patches);
  into.to_image = into.patches.address + value_bytes, into.to_recorded = into.to_image + range_bytes;
  std::vector<DeviceRange> in, out;
  for (size_t i = 0; i < placed.size(); ++i) {
    in.push_back({placed[i]->address, into.patches.address + i * sizeof(uint64_t), sizeof(uint64_t)});
    out.push_back({placed[i]->address, placed[i]->given, sizeof(uint64_t)});
  }
  bool written = device.write(into.patches.address, std::as_bytes(std::span(values))).ok() &&
                 device.write(into.to_image, std::as_bytes(std::span(in))).ok() &&
                 device.write(into.to_recorded, std::as_bytes(std::span(out))).ok();
  if (!written) return RunFailure{Outcome::LaunchFailed, "writing the addresses of module variables to the GPU failed"};
  return std::nullopt;
}

void LoadedCode::patch_symbols(Steps& steps, size_t index) const {
  const Prepared& prepared = instances_[index];
  if (prepared.patch_count > 0) steps.copy_ranges(prepared.to_image, prepared.patch_count);
}

void LoadedCode::set_up(Steps& steps, const ReplayInstance& instance, size_t index, Reset reset) const {
  const Prepared& prepared = instances_[index];
  for (size_t i = 0; i < instance.variables.size(); ++i)
    if (prepared.variables[i] != 0)
      steps.copy(prepared.variables[i], instance.variables[i].given, instance.variables[i].size);
  for (auto& own : own_)
    if (reset == Reset::All) steps.copy(own.address, own.initial.address, own.size);
  for (auto& scratch : prepared.scratch)
    if (reset == Reset::All) steps.fill(scratch.address, kRubbish, scratch.size);
  patch_symbols(steps, index);
}

void LoadedCode::set_up_changed(Steps& steps, const ReplayInstance& instance, size_t index) const {
  const Prepared& prepared = instances_[index];
  for (size_t i = 0; i < instance.variables.size(); ++i)
    if (prepared.variables[i] != 0 && instance.variables[i].changed())
      steps.copy(prepared.variables[i], instance.variables[i].given, instance.variables[i].size);
  patch_symbols(steps, index);
}

void LoadedCode::touch_own_memory(Steps& steps, size_t index) const {
  for (auto& own : own_) steps.put(own.address, own.address, own.size);
  for (auto& scratch : instances_[index].scratch) steps.put(scratch.address, scratch.address, scratch.size);
}

bool LoadedCode::has_own_memory() const {
  return !own_.empty() || std::ranges::any_of(instances_, [](auto& prepared) { return !prepared.scratch.empty(); });
}

void LoadedCode::launch(Steps& steps, size_t index) const {
  for (auto& scratch : instances_[index].scratch)
    if (scratch.zeroed) steps.fill(scratch.address, std::byte{0}, scratch.size);
  for (auto& launch : instances_[index].launches) steps.launch(launch);
}

void LoadedCode::check_canaries(Steps& steps, size_t index) const {
  auto check_around = [&](uint64_t address, uint64_t size, uint64_t room) {
    for (uint64_t begin : {address - room, address + size}) steps.check_canary(begin, room, kCanary, 0);
  };
  for (auto& scratch : instances_[index].scratch) check_around(scratch.address, scratch.size, kGuard);
  for (auto& variable : image_.variables)
    if (variable.room > 0) check_around(variable.address, variable.size, variable.room);
}

std::string LoadedCode::near_own_memory(size_t index, uint64_t address) const {
  auto near = [&](uint64_t begin, uint64_t size, uint64_t room, const std::string& what) -> std::string {
    const uint64_t end = begin + size;
    const bool before = address >= begin - room && address < begin;
    if (!before && (address < end || address >= end + room)) return "";
    return std::to_string(before ? begin - address : address - end) +
           (before ? " bytes before the start of its " : " bytes after the end of its ") + what;
  };
  auto& all = instances_[index].scratch;
  for (size_t i = 0; i < all.size(); ++i)
    if (auto text = near(all[i].address, all[i].size, kGuard, "scratch memory " + std::to_string(i + 1)); !text.empty())
      return text;
  for (auto& variable : image_.variables)
    if (auto text = near(variable.address, variable.size, variable.room, "variable " + canonical_key(variable.name));
        !text.empty())
      return text;
  return "";
}

void LoadedCode::add_extents(CheckedExtents& extents, size_t index) const {
  for (auto& scratch : instances_[index].scratch) {
    extents.objects.push_back({"scratch", scratch.address, scratch.size, !scratch.zeroed});
    for (uint64_t guard : {scratch.address - kGuard, scratch.address + scratch.size})
      extents.forbidden.push_back({guard, guard + kGuard});
  }
}

std::string LoadedCode::variable_name(size_t index, size_t number) const {
  const auto found = std::ranges::find(image_.variables, variable(index, number), &DeviceVariable::address);
  return found == image_.variables.end() ? "" : found->name;
}

void LoadedCode::take_down(Steps& steps, size_t index) const {
  if (instances_[index].patch_count > 0)
    steps.copy_ranges(instances_[index].to_recorded, instances_[index].patch_count);
}

}  // namespace kernelift::sandbox
