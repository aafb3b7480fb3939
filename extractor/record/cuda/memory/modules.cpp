// See modules.h.
#include "extractor/record/cuda/memory/modules.h"

#include <algorithm>

#include "extractor/record/cuda/memory/symbol_file.h"

namespace kernelift::record {
namespace {

constexpr uint64_t kMostKeptBytes = uint64_t(512) << 20;  ///< Of images; libraries of kernels are large.

bool has_kernel(const ModuleImage& image, const std::string& name) {
  auto& kernels = image.symbols.kernels;
  return std::find(kernels.begin(), kernels.end(), name) != kernels.end();
}

/// Static constants of a second file in relocatable code have an address that drivers (580) do not know themselves: the
/// application cannot copy to them either.
bool can_be_read(const CudaDriver& driver, CUdeviceptr address) {
  unsigned type = 0;
  return !driver.cuPointerGetAttribute ||
         driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS;
}

}  // namespace

void Modules::loaded(uint32_t id, std::span<const std::byte> bytes) {
  auto image = std::make_shared<ModuleImage>();
  image->id = id;
  image->hash = hash_bytes(bytes);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  auto symbols = read_cubin(text);
  auto textures = read_texture_use(text);
  if (!symbols.ok() || !textures.ok()) return;
  image->symbols = std::move(*symbols), image->textures = std::move(*textures);
  std::erase_if(image->symbols.variables, [](auto& variable) { return variable.compiler_made; });
  std::lock_guard lock(mutex_);
  if (kept_bytes_ + bytes.size() <= kMostKeptBytes) {
    image->bytes.assign(bytes.begin(), bytes.end());
    kept_bytes_ += bytes.size();
  }
  images_.push_back(std::move(image));
}

void Modules::unloaded(uint32_t id) {
  std::lock_guard lock(mutex_);
  std::erase_if(images_, [&](auto& image) {
    if (image->id == id) kept_bytes_ -= image->bytes.size();
    return image->id == id;
  });
  // Whose variables these were is not known: all are placed anew when they are asked for.
  placed_.clear();
  ++version_, ++generation_;
}

void Modules::code_given(const void* handle, const void* code) {
  std::lock_guard lock(mutex_);
  given_[handle] = code;
}

void Modules::handle_gone(const void* handle) {
  std::lock_guard lock(mutex_);
  given_.erase(handle);
}

KernelCode Modules::code_of(const CudaDriver& driver, CUfunction handle, const std::string& name) {
  KernelCode code;
  CUmodule module = nullptr;
  if (driver.cuFuncGetModule(&module, handle) == CUDA_SUCCESS) {
    code.function = handle;
  } else if (!driver.cuKernelGetFunction ||
             driver.cuKernelGetFunction(&code.function, reinterpret_cast<CUkernel>(handle)) != CUDA_SUCCESS ||
             driver.cuFuncGetModule(&module, code.function) != CUDA_SUCCESS) {
    return code;
  }
  code.module = module;
  const void* handle_of_code = module;
  CUlibrary library = nullptr;
  if (code.function != handle && driver.cuKernelGetLibrary &&
      driver.cuKernelGetLibrary(&library, reinterpret_cast<CUkernel>(handle)) == CUDA_SUCCESS)
    handle_of_code = library;
  const void* given = nullptr;
  std::vector<std::shared_ptr<const ModuleImage>> candidates;
  {
    std::lock_guard lock(mutex_);
    for (auto image = images_.rbegin(); image != images_.rend(); ++image)
      if (has_kernel(**image, name)) candidates.push_back(*image);
    if (auto found = given_.find(handle_of_code); found != given_.end()) given = found->second;
  }
  if (given) code.source_stem = source_stem(symbol_file_of(given)), code.object = object_at(given);
  for (auto& image : candidates) {
    std::vector<PlacedVariable> variables;
    std::vector<std::string> unplaced;
    bool fits = true;
    for (auto& variable : image->symbols.variables) {
      CUdeviceptr address = 0;
      size_t size = 0;
      if (driver.cuModuleGetGlobal(&address, &size, module, variable.name.c_str()) != CUDA_SUCCESS ||
          (size == variable.size && !can_be_read(driver, address)))
        unplaced.push_back(variable.name);
      else if (size != variable.size) fits = false;
      else variables.push_back({variable.name, address, size, variable.constant, variable.managed});
    }
    if (!fits || (code.image && unplaced.size() >= code.unplaced.size())) continue;
    code.image = image, code.variables = std::move(variables), code.unplaced = std::move(unplaced);
    if (code.unplaced.empty()) break;
  }
  std::lock_guard lock(mutex_);
  for (auto& variable : code.variables) placed_[variable.address] = variable;
  ++version_;
  return code;
}

std::vector<LiveMemory> Modules::variables() const {
  std::lock_guard lock(mutex_);
  std::vector<LiveMemory> list;
  for (auto& [address, variable] : placed_) list.push_back({address, variable.size, MemoryKind::Variable});
  return list;
}

std::string Modules::variable_at(uint64_t address) const {
  std::lock_guard lock(mutex_);
  auto found = placed_.find(address);
  return found == placed_.end() ? "" : found->second.name;
}

}  // namespace kernelift::record
