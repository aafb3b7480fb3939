// See kernel_table.h.
#include "extractor/record/cuda/kernel_table.h"

#include <algorithm>

#include "core/model/kernel_key.h"

namespace kernelift::record {
namespace {

/// Every parameter's place, by whichever of the two questions the handle answers.
std::optional<std::vector<Parameter>> ask_layout(const CudaDriver& driver, CUfunction handle) {
  constexpr size_t kMostParameters = 4096;
  std::vector<Parameter> layout;
  size_t offset = 0, size = 0;
  auto function = [&](size_t i) { return driver.cuFuncGetParamInfo(handle, i, &offset, &size); };
  auto kernel = [&](size_t i) {
    return driver.cuKernelGetParamInfo(reinterpret_cast<CUkernel>(handle), i, &offset, &size);
  };
  if (!driver.cuFuncGetParamInfo || !driver.cuKernelGetParamInfo) return std::nullopt;
  bool is_kernel = function(0) == CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < kMostParameters; ++i) {
    CUresult answer = is_kernel ? kernel(i) : function(i);
    if (answer == CUDA_ERROR_INVALID_VALUE) return layout;  // One past the last.
    if (answer != CUDA_SUCCESS) return std::nullopt;
    layout.push_back({uint32_t(offset), uint32_t(size)});
  }
  return std::nullopt;
}

bool uses_textures(const CudaDriver& driver, const std::string& mangled, const KernelCode& code) {
  constexpr int kFirstKnownEncoding = 70;
  const CubinTextureUse& textures = code.image->textures;
  int version = 0;
  driver.cuFuncGetAttribute(&version, CU_FUNC_ATTRIBUTE_BINARY_VERSION, code.function);
  return version >= kFirstKnownEncoding && (textures.functions || std::ranges::count(textures.kernels, mangled) > 0);
}

}  // namespace

CudaKernel* KernelTable::find(CUfunction handle, CUcontext context, const char* symbol, bool busy) {
  struct Entry {
    const KernelTable* table = nullptr;
    CUfunction handle = nullptr;
    CUcontext context = nullptr;
    uint64_t generation = 0;
    CudaKernel* kernel = nullptr;
  };
  constexpr size_t kEntries = 64, kHandleAlignment = 16;
  static thread_local Entry entries[kEntries];
  Entry& entry = entries[(reinterpret_cast<uintptr_t>(handle) / kHandleAlignment) % kEntries];
  uint64_t generation = modules_.generation();
  if (entry.handle == handle && entry.context == context && entry.generation == generation && entry.table == this)
      [[likely]]
    return entry.kernel;
  CudaKernel* kernel = look_up(handle, context, symbol, busy);
  if (kernel) entry = {this, handle, context, modules_.generation(), kernel};
  return kernel;
}

CudaKernel* KernelTable::look_up(CUfunction handle, CUcontext context, const char* symbol, bool busy) {
  {
    std::lock_guard lock(mutex_);
    if (handles_generation_ != modules_.generation()) by_handle_.clear(), handles_generation_ = modules_.generation();
    if (auto known = by_handle_.find({handle, context}); known != by_handle_.end()) return known->second;
  }
  std::string mangled = symbol ? symbol : "";
  std::string key = canonical_key(mangled), identity = mangled;
  KernelCode code;
  bool wanted = pattern_.wants(key, mangled);
  if (wanted) {
    if (busy) return nullptr;
    // Not under the lock: it may load a module, and that is told to us on this very thread.
    code = modules_.code_of(driver_, handle, mangled);
    if (code.image) identity += "\n" + code.image->hash.hex();
    code.textures = code.image && code.function && uses_textures(driver_, mangled, code);
  }
  std::lock_guard lock(mutex_);
  auto& slot = by_identity_[identity];
  if (!slot) {
    slot = make(handle, std::move(mangled), std::move(key), code);
    slot->wanted = wanted;
    slot->identity = std::move(identity);
    if (wanted) slot->chooser.emplace(config_.instances, config_.skip);
  }
  if (wanted) slot->codes[context] = std::move(code);  // If it was loaded again, its variables have moved.
  by_handle_[{handle, context}] = slot.get();
  return slot.get();
}

std::unique_ptr<CudaKernel> KernelTable::make(CUfunction handle, std::string mangled, std::string key,
                                              const KernelCode& code) {
  auto kernel = std::make_unique<CudaKernel>();
  kernel->mangled = std::move(mangled), kernel->key = std::move(key);
  if (!code.function) return kernel;
  if (auto layout = ask_layout(driver_, handle)) kernel->layout = std::move(*layout);
  else kernel->refusal = "the driver does not tell its parameters; NVIDIA's driver 550 or newer does";
  return kernel;
}

void KernelTable::pass_over(const char* symbol) {
  std::lock_guard lock(mutex_);
  passed_over_.emplace(symbol ? symbol : "");
}

std::set<std::string> KernelTable::passed_over() const {
  std::lock_guard lock(mutex_);
  return passed_over_;
}

std::vector<CudaKernel*> KernelTable::all() const {
  std::lock_guard lock(mutex_);
  std::vector<CudaKernel*> list;
  for (auto& [_, kernel] : by_identity_) list.push_back(kernel.get());
  return list;
}

}  // namespace kernelift::record
