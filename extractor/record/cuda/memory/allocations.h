// The memory that the application has, as its calls to the driver tell: cudaMalloc and its asynchronous, pooled,
// pitched, managed and pinned kin, and ranges mapped by hand, of which neighbours in one reservation are one. The list
// makes it cheap to say what is an address; the driver itself is asked about everything that is then really read, and
// about arguments that look like addresses and are not in the list (memory that came by a way not known here).
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "core/toolchain/cuda_driver.h"
#include "extractor/record/cuda/memory/modules.h"
#include "extractor/record/reach.h"

namespace kernelift::record {

/// What the driver says of an address.
struct Classified {
  enum class Kind { Unknown, Memory, Array };
  Kind known = Kind::Unknown;
  LiveMemory memory;  ///< Of Memory: the whole range as far as the driver tells.
  uint64_t host = 0;  ///< Where the host sees it (pinned and registered memory).
  int device = -1;    ///< Ordinal.
};
Classified classify(const CudaDriver& driver, uint64_t address);

class Allocations {
 public:
  void added(uint64_t address, uint64_t size, MemoryKind kind, CUcontext context);
  void removed(uint64_t address);
  void mapped(uint64_t address, uint64_t size);  ///< By cuMemMap: belongs to no context.
  /// Where mappings begin inside that memory.
  std::vector<uint64_t> mappings(uint64_t address, uint64_t size) const;
  void unmapped(uint64_t address, uint64_t size);
  void reserved(uint64_t address, uint64_t size);
  void unreserved(uint64_t address);
  /// Another process's memory, or memory shared with it, begins there, as far as it can be seen here.
  void borrowed(uint64_t address);
  /// A handle that came from outside of this process: what is mapped by it is borrowed.
  void imported(uint64_t handle);
  bool is_imported(uint64_t handle) const;
  bool borrowed_within(uint64_t address, uint64_t size) const;
  /// What was allocated in it went with it.
  void context_gone(CUcontext context);

  /// All of it and the variables placed in `modules`, ordered; made anew only after a change.
  std::shared_ptr<const AllocationMap> map(const Modules& modules);

 private:
  mutable std::mutex mutex_;
  struct Owned {
    LiveMemory memory;
    CUcontext context;
  };
  std::map<uint64_t, Owned> live_;                  ///< By address.
  std::map<uint64_t, uint64_t> mapped_, reserved_;  ///< Address to size.
  std::set<uint64_t> borrowed_, imported_;
  uint64_t version_ = 1, made_version_ = 0, made_variables_ = 0;
  std::shared_ptr<const AllocationMap> made_;
};

/// The driver's calls that allocate, free or map, by CUPTI's number.
bool is_memory_call(uint32_t cbid);
/// Notes what such a call is about to free (before) or has given (after, when it succeeded).
void note_memory_call(uint32_t cbid, const void* parameters, CUcontext context, bool before, bool succeeded,
                      Allocations& into);

}  // namespace kernelift::record
