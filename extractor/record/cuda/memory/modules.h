// The GPU images that are loaded, and the variables of the one that a kernel belongs to. CUPTI hands over each image as
// it is loaded; which of several equal ones a kernel came from is settled by asking the driver for the addresses of the
// variables that the image lists.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/hash.h"
#include "core/toolchain/cubin.h"
#include "core/toolchain/cuda_driver.h"
#include "extractor/record/reach.h"

namespace kernelift::record {

struct ModuleImage {
  uint32_t id = 0;  ///< CUPTI's.
  Hash hash;
  CubinSymbols symbols;  ///< Without the compiler's own variables.
  CubinTextureUse textures;
  std::vector<std::byte> bytes;  ///< Empty when too many are loaded to keep them all.
};

struct PlacedVariable {
  std::string name;
  uint64_t address = 0, size = 0;
  bool constant = false, managed = false;
};

/// The code a kernel runs.
struct KernelCode {
  CUfunction function = nullptr;  ///< Never a CUkernel.
  CUmodule module = nullptr;
  std::shared_ptr<const ModuleImage> image;  ///< Null if CUPTI did not show it.
  std::vector<PlacedVariable> variables;
  bool textures = false;    ///< It may fetch from textures or access surfaces.
  std::string source_stem;  ///< Of the file it was compiled from, where the host program's symbols still say it.
  std::string object;       ///< The program or library that holds it, as object_at() names it; empty if not known.
  std::vector<std::string> unplaced;  ///< Variables in the image that the driver does not find by name.
};

class Modules {
 public:
  void loaded(uint32_t id, std::span<const std::byte> image);
  void unloaded(uint32_t id);
  /// A library or module was made from `code`: part of the host program, or some memory that is gone by now.
  void code_given(const void* handle, const void* code);
  /// It is unloaded; the driver may use the handle again.
  void handle_gone(const void* handle);
  /// EXPECTS: no stream captures; may load the kernel's module.
  KernelCode code_of(const CudaDriver& driver, CUfunction handle, const std::string& name);
  /// Variables placed so far, of all modules, and a number that grows when they change.
  std::vector<LiveMemory> variables() const;
  uint64_t version() const { return version_.load(); }
  /// Variable names by address, for what points at one.
  std::string variable_at(uint64_t address) const;
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }  ///< Grows when one is unloaded.

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ModuleImage>> images_;  ///< In the order they were loaded.
  std::unordered_map<uint64_t, PlacedVariable> placed_;
  std::unordered_map<const void*, const void*> given_;  ///< Code by handle.
  uint64_t kept_bytes_ = 0;
  std::atomic<uint64_t> version_{1}, generation_{1};
};

}  // namespace kernelift::record
