// Lazy loading matters: an application built of a hundred units may launch three kernels. A name is looked up in the
// blob of the unit that registered it and nowhere else: two units may have a static kernel or variable of the same
// name.
#include "sandbox/device/cpu/runtime/launch/registry.h"

#include <algorithm>
#include <cstring>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {
namespace {

constexpr uint32_t kNvidiaFatbin = 0xba55ed50;

}  // namespace

Binary* Registry::add_binary(const void* blob) {
  binaries_.push_back(std::make_unique<Binary>());
  binaries_.back()->blob = blob;
  return binaries_.back().get();
}

void Registry::remove_binary(Binary* binary) {
  for (auto& [host, variable] : variables_)
    if (variable.binary == binary && variable.host_is_managed) state().arena.release(reinterpret_cast<uint64_t>(host));
  std::erase_if(functions_, [&](const auto& entry) { return entry.second.binary == binary; });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second.binary == binary; });
  std::erase_if(binaries_, [&](const auto& owned) { return owned.get() == binary; });
}

void Registry::add_function(Binary* binary, const void* host, const char* name) {
  Function& function = functions_[host];
  function = Function();
  function.name = name;
  function.binary = binary;
}

Variable& Registry::add_variable(Binary* binary, const void* host, const char* name, size_t size) {
  Variable& variable = variables_[host];
  variable = Variable();
  variable.name = name;
  variable.binary = binary;
  variable.size = size;
  return variable;
}

void Registry::finish_binary(Binary* binary) {
  for (auto& [host, variable] : variables_)
    if (variable.binary == binary) return open(*binary);
}

/// The image holds a pointer to a managed variable. It leads to memory that was made for it (__cudaRegisterManagedVar),
/// or to the host's own variable, which is then made known as managed memory.
void Registry::bind_managed(const cpu::LoadedImage& image, const void* host, Variable& variable) {
  const kl_variable* slot = image.find_variable(variable.name);
  if (!slot || slot->size < sizeof(void*) || !(slot->flags & KL_VARIABLE_MANAGED)) return;
  if (!variable.managed_pointer && !variable.host_is_managed) {
    const kl_variable* initial = image.find_variable(variable.name + ".initial");
    if (!initial || initial->size > variable.size) return;
    variable.address = const_cast<void*>(host);
    variable.host_is_managed = true;
    std::memcpy(variable.address, initial->address, initial->size);
    state().arena.adopt(reinterpret_cast<uint64_t>(host), variable.size, 0, KL_MEMORY_MANAGED);
  }
  const void* memory = variable.managed_pointer ? *variable.managed_pointer : host;
  std::memcpy(slot->address, &memory, sizeof memory);
}

void Registry::open(Binary& binary) {
  if (binary.opened) return;
  binary.opened = true;
  uint64_t size = fat_blob_size(binary.blob);
  if (size == 0) {
    uint32_t magic = 0;
    if (binary.blob) std::memcpy(&magic, binary.blob, sizeof magic);
    binary.problem =
        magic == kNvidiaFatbin
            ? "it was compiled for NVIDIA GPUs; build the application with `kernelift build --device cpu -- ...`"
            : "its device code is of an unknown format";
    return;
  }
  Result<std::vector<FatEntry>> entries = read_fat_blob({static_cast<const char*>(binary.blob), size});
  if (!entries.ok()) {
    binary.problem = "its embedded device code is damaged: " + entries.error().message;
    return;
  }
  for (const FatEntry& entry : *entries) {
    if (entry.kind != FatEntry::Kind::CpuImage) continue;
    Result<std::shared_ptr<cpu::LoadedImage>> image = cpu::LoadedImage::load(entry.bytes, entry.name);
    if (!image.ok()) {
      binary.problem = "its CPU image does not load: " + image.error().message;
      continue;
    }
    for (auto& [host, variable] : variables_)
      if (variable.binary == &binary) bind_managed(**image, host, variable);
    binary.images.push_back(std::move(*image));
  }
  if (binary.images.empty() && binary.problem.empty())
    binary.problem = "its object file holds no image for the CPU device";
}

Function* Registry::function(const void* host) {
  auto it = functions_.find(host);
  if (it == functions_.end()) return nullptr;
  Function& function = it->second;
  if (function.kernel || !function.problem.empty()) return &function;
  open(*function.binary);
  for (const auto& image : function.binary->images) {
    function.kernel = image->find_kernel(function.name);
    function.image = &image->image();
    if (function.kernel) return &function;
  }
  function.problem = function.binary->problem.empty() ? "its unit's image does not hold it" : function.binary->problem;
  return &function;
}

Variable* Registry::variable(const void* host) {
  auto it = variables_.find(host);
  if (it == variables_.end()) return nullptr;
  Variable& variable = it->second;
  if (variable.address) return &variable;
  open(*variable.binary);
  for (const auto& image : variable.binary->images)
    if (const kl_variable* in_image = image->find_variable(variable.name)) {
      variable.address = in_image->address;
      if (in_image->size) variable.size = in_image->size;
      return &variable;
    }
  return nullptr;
}

const kl_variable* Registry::variable_at(uint64_t address) const {
  for (const auto& binary : binaries_)
    for (const auto& loaded : binary->images) {
      const kl_image& image = loaded->image();
      for (uint32_t i = 0; i < image.variable_count; ++i) {
        const kl_variable& variable = image.variables[i];
        uint64_t begin = reinterpret_cast<uint64_t>(variable.address);
        if (address >= begin && address < begin + variable.size) return &variable;
      }
    }
  return nullptr;
}

void Registry::unload() {
  for (auto& [host, function] : functions_) {
    function.kernel = nullptr;
    function.image = nullptr;
    function.max_dynamic_shared = 0;
    function.problem.clear();
  }
  for (auto& [host, variable] : variables_)
    if (!variable.managed_pointer && !variable.host_is_managed) variable.address = nullptr;
  for (auto& binary : binaries_) {
    binary->images.clear();
    binary->opened = false;
    binary->problem.clear();
  }
}

}  // namespace kernelift::cudart
