// See snapshot.h.
#include "extractor/record/cuda/snapshot.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include "core/base/bytes.h"
#include "core/model/kernel_key.h"

namespace kernelift::record {
namespace {

constexpr uint64_t kLowestAddress = 1 << 16, kHighestAddress = uint64_t(1) << 56;

/// What is looked through for addresses: the arguments, and where the memory of textures begins.
std::vector<std::byte> with_memory_of(const std::vector<FoundTexture>& textures, std::vector<std::byte> arguments) {
  arguments.resize((arguments.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t));
  for (auto& texture : textures) {
    auto word = std::as_bytes(std::span(&texture.object.memory, 1));
    arguments.insert(arguments.end(), word.begin(), word.end());
  }
  return arguments;
}

/// Reads only what the driver says is memory, as large as it says: a list can be wrong, and a wrong read is an error in
/// the application's context.
class Verified : public MemoryReader {
 public:
  Verified(const CudaDriver& driver, const Allocations& allocations, MemoryReader& reader)
      : driver_(driver), allocations_(allocations), reader_(reader) {
    driver_.cuCtxGetDevice(&device_);
  }
  Result<std::vector<AddressFound>> look_through(uint64_t address, uint64_t size, MemoryKind kind,
                                                 const AllocationMap& allocations) override {
    if (kind != MemoryKind::Variable) {
      auto first = classify(driver_, address), last = classify(driver_, address + size - 1);
      if (first.known != Classified::Kind::Memory || last.known != Classified::Kind::Memory) {
        gone.insert(address);
        return std::vector<AddressFound>();
      }
      if (!may_be_read(address, size)) {
        gone.insert(address), barred.insert(address);
        return std::vector<AddressFound>();
      }
      if (first.device >= 0 && first.device != device_) elsewhere.insert(address);
    }
    return reader_.look_through(address, size, kind, allocations);
  }
  std::set<uint64_t> gone, barred, elsewhere;  ///< Barred ones are gone, too.

 private:
  /// Mapped memory has no rights until it is given them.
  bool may_be_read(uint64_t address, uint64_t size) const {
    if (!driver_.cuMemGetAccess) return true;
    CUmemLocation here{};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE, here.id = device_;
    for (uint64_t mapping : allocations_.mappings(address, size)) {
      unsigned long long rights = 0;
      if (driver_.cuMemGetAccess(&rights, &here, mapping) == CUDA_SUCCESS && rights == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return false;
    }
    return true;
  }

  const CudaDriver& driver_;
  const Allocations& allocations_;
  MemoryReader& reader_;
  CUdevice device_ = 0;
};

}  // namespace

Snapshots::PerContext& Snapshots::per_context(CUcontext context) {
  std::lock_guard lock(mutex_);
  auto& slot = contexts_[context];
  if (!slot) slot = std::make_shared<PerContext>(driver_, workers_);
  return *(current_ = slot);
}

void Snapshots::context_gone(CUcontext context) {
  std::lock_guard lock(mutex_);
  contexts_.erase(context);
}

void Snapshots::discover(const std::vector<std::byte>& arguments, CUcontext context) {
  auto known = allocations_.map(modules_);
  for (size_t at = 0; at + sizeof(uint64_t) <= arguments.size(); at += sizeof(uint32_t)) {
    uint64_t value = word_at(arguments, at);
    if (value < kLowestAddress || value >= kHighestAddress || known->find(value)) continue;
    auto answer = classify(driver_, value);
    if (answer.known == Classified::Kind::Memory)
      allocations_.added(answer.memory.address, answer.memory.size, answer.memory.kind, context);
  }
}

void Snapshots::ask_settings(const KernelCode& code, LaunchSettings& settings) const {
  auto attribute = [&](CUfunction_attribute which) {
    int value = 0;
    if (code.function) driver_.cuFuncGetAttribute(&value, which, code.function);
    return value;
  };
  settings.max_dynamic_shared = uint32_t(attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  settings.registers = uint32_t(attribute(CU_FUNC_ATTRIBUTE_NUM_REGS));
  settings.static_shared = uint32_t(attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  settings.local_bytes = uint32_t(attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  settings.binary_version = attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  settings.ptx_version = attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  if (settings.carveout < 0) settings.carveout = attribute(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  if (settings.cluster_policy == 0)
    settings.cluster_policy = attribute(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  auto limit = [&](CUlimit which) {
    size_t value = 0;
    driver_.cuCtxGetLimit(&value, which);
    return uint64_t(value);
  };
  settings.stack_limit = limit(CU_LIMIT_STACK_SIZE);
  settings.heap_limit = limit(CU_LIMIT_MALLOC_HEAP_SIZE);
  settings.printf_limit = limit(CU_LIMIT_PRINTF_FIFO_SIZE);
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  driver_.cuCtxGetCacheConfig(&cache);
  settings.cache_config = int(cache);
}

Result<Snapshots::Taken> Snapshots::before(Request request, Archive& archive, std::mutex& archive_turn) {
  Taken taken{std::move(request.instance), {}};
  CapturedInstance& instance = taken.instance;
  const KernelCode& code = request.code;
  discover(instance.arguments, request.context);
  auto live = allocations_.map(modules_);
  std::vector<ReachRoot> roots;
  uint64_t variable_bytes = 0;
  for (auto& variable : code.variables) {
    roots.push_back({variable.address, variable.size, variable.name});
    variable_bytes += variable.size;
  }
  uint64_t all_bytes = variable_bytes;
  for (size_t i = 0; i < live->size(); ++i) all_bytes += (*live)[i].size;

  PerContext& here = per_context(request.context);
  bool surely_fits = all_bytes <= request.most_bytes;
  {
    std::lock_guard lock(archive_turn);
    if (!archive.open()) return environment_error("recording has been switched off");
  }
  here.images.begin(archive.writer(), surely_fits);
  std::vector<FoundTexture> textures;
  if (code.textures) {
    KERNELIFT_ASSIGN(textures, here.textures.among(instance.arguments, instance.parameters));
  }
  const auto leads = with_memory_of(textures, instance.arguments);
  Verified memory(driver_, allocations_, here.images);
  KERNELIFT_ASSIGN(auto regions,
                   reachable(leads, instance.parameters, roots, *live, memory, request.most_bytes, request.all_memory));
  const uint64_t first_texture = leads.size() - textures.size() * sizeof(uint64_t);
  for (auto& region : regions)
    if (auto& from = region.reached_from; from.root == Origin::Root::ArgumentBytes && from.offset >= first_texture)
      from = Origin::of_memory(textures[(from.offset - first_texture) / sizeof(uint64_t)].handle,
                               offsetof(kl_texture, memory));
  instance.unreached = unreached(*live, regions);
  std::erase_if(regions, [&](auto& region) {
    if (memory.gone.contains(region.address))
      taken.notes.push_back(
          "memory at " + address_text(region.address) + " (" + region.reached_from.text() + ") is left out: " +
          (memory.barred.contains(region.address) ? "it is mapped without rights of access on this GPU"
                                                  : "the driver no longer knows it"));
    else if (memory.elsewhere.contains(region.address))
      taken.notes.push_back("memory at " + address_text(region.address) + " (" + region.reached_from.text() +
                            ") lies on another GPU; its content is captured, its place is not");
    if (!memory.gone.contains(region.address) && allocations_.borrowed_within(region.address, region.size))
      taken.notes.push_back(
          "memory at " + address_text(region.address) + " (" + region.reached_from.text() +
          ") belongs to another process, which may write it at any time: its content is captured as it was found");
    return memory.gone.contains(region.address);
  });
  for (auto& texture : textures) {
    const uint64_t place = texture.object.memory;
    const bool known = std::ranges::any_of(regions, [&](auto& region) { return region.address == place; });
    if (texture.object.resource == KL_RESOURCE_ARRAY && !known)
      regions.push_back({place, texture_span(texture.object), MemoryKind::Array,
                         Origin::of_memory(texture.handle, offsetof(kl_texture, memory))});
  }
  {
    std::lock_guard lock(archive_turn);
    if (!archive.has_room(request.what, regions, variable_bytes, request.most_bytes))
      return refused("");  // Said already.
  }
  ask_settings(code, instance.settings);
  for (auto& region : regions) {
    bool own_variable = false;
    for (auto& variable : code.variables) own_variable |= variable.address == region.address;
    if (own_variable) continue;  // It is among the variables.
    CapturedRegion captured;
    captured.address = region.address, captured.kind = region.kind, captured.reached_from = region.reached_from;
    captured.shared = allocations_.borrowed_within(region.address, region.size);
    if (region.kind == MemoryKind::Variable) captured.reached_from.variable = modules_.variable_at(region.address);
    KERNELIFT_ASSIGN(captured.before, here.images.image(region.address, region.size, region.kind));
    instance.regions.push_back(std::move(captured));
  }
  for (auto& texture : textures) {
    CapturedRegion captured;
    captured.address = texture.handle, captured.kind = MemoryKind::Texture, captured.reached_from = texture.origin;
    KERNELIFT_ASSIGN(captured.before, archive.writer().store(std::as_bytes(std::span(&texture.object, 1))));
    instance.regions.push_back(std::move(captured));
  }
  for (auto& variable : code.variables) {
    CapturedVariable captured;
    captured.name = variable.name, captured.key = canonical_key(variable.name);
    captured.constant = variable.constant, captured.address = variable.address;
    KERNELIFT_ASSIGN(captured.before, here.images.image(variable.address, variable.size, MemoryKind::Variable));
    instance.variables.push_back(std::move(captured));
  }
  if (code.image && !code.image->bytes.empty()) {
    auto& stored = codes_[code.image->hash.hex()];
    if (stored.size == 0) {
      KERNELIFT_ASSIGN(stored, archive.writer().store(code.image->bytes));
    }
    instance.code = stored;
  }
  for (auto& name : code.unplaced)
    taken.notes.push_back("variable " + name +
                          " of its module is left out: the driver does not find it, or not its memory");
  if (!code.image) taken.notes.push_back("its module's variables are left out: CUPTI did not show the module's image");
  return taken;
}

Status Snapshots::after(CUcontext context, CapturedInstance& instance) {
  PerContext& here = per_context(context);
  here.images.changed();
  for (auto& region : instance.regions) {
    if (region.kind == MemoryKind::Texture) {
      region.after = region.before;  // Objects do not change.
      continue;
    }
    KERNELIFT_ASSIGN(region.after, here.images.image(region.address, region.before.size, region.kind, &region.before));
  }
  for (auto& variable : instance.variables) {
    KERNELIFT_ASSIGN(variable.after,
                     here.images.image(variable.address, variable.before.size, MemoryKind::Variable, &variable.before));
  }
  return done();
}

}  // namespace kernelift::record
