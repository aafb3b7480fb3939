// The kernels seen so far: by the handle that a launch names and its context, since a CUkernel is one handle for all
// GPUs (a look-up in a small table of the thread's own, no lock), and by what they are, a name and the code behind it,
// since handles come and go with modules and several modules may hold a kernel of one name.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "extractor/record/config.h"
#include "extractor/record/cuda/memory/modules.h"
#include "extractor/record/instance_chooser.h"

namespace kernelift::record {

struct CudaKernel {
  std::string key, mangled;
  bool wanted = false;
  std::atomic<uint64_t> launches{0};
  // Of wanted kernels. Set once, before the kernel is handed out:
  std::string identity;  ///< Name and code.
  std::map<CUcontext, KernelCode>
      codes;  ///< Where that lies. Changes only inside the gate, so those who closed it may look.
  std::vector<Parameter> layout;
  std::string refusal;  ///< Why no launch of it can be captured, or empty.
  std::atomic<bool> refusal_said{false};
  std::atomic<bool> given_up{false};  ///< Its images were tried for often enough.
  // Under the recorder's lock:
  std::optional<InstanceChooser> chooser;
  std::string mark;  ///< In its instances' ids; empty before the first.
  double longest_us = 0;
  int abandoned_in_a_row = 0;
};

class KernelTable {
 public:
  KernelTable(const RecordConfig& config, const KernelPattern& pattern, const CudaDriver& driver, Modules& modules)
      : config_(config), pattern_(pattern), driver_(driver), modules_(modules) {}
  /// `symbol` is the name CUPTI gives. Null when the kernel cannot be looked at now (`busy`: a stream is capturing, and
  /// it is one whose code has to be asked for).
  CudaKernel* find(CUfunction handle, CUcontext context, const char* symbol, bool busy);
  std::vector<CudaKernel*> all() const;
  /// A launch of it came while a stream was capturing, and could not be looked at.
  void pass_over(const char* symbol);
  std::set<std::string> passed_over() const;  ///< Mangled names.

 private:
  CudaKernel* look_up(CUfunction handle, CUcontext context, const char* symbol, bool busy);
  std::unique_ptr<CudaKernel> make(CUfunction handle, std::string mangled, std::string key, const KernelCode& code);

  const RecordConfig& config_;
  const KernelPattern& pattern_;
  const CudaDriver& driver_;
  Modules& modules_;
  mutable std::mutex turn_;
  uint64_t handles_generation_ = 0;
  std::map<std::pair<CUfunction, CUcontext>, CudaKernel*> by_handle_;
  std::unordered_map<std::string, std::unique_ptr<CudaKernel>> by_identity_;
  std::set<std::string> passed_over_;
};

}  // namespace kernelift::record
