// Judges the effect of a knob's new value on other kernels that use it (reintegrate/patch/constants/shared_knobs.h):
// each is extracted, and `kernelift evaluate` judges its original with the new values. This happens in other processes,
// because a MEP's memory must be mapped at its recorded addresses (mep_addresses.h), and in this process the kernel
// being applied may occupy them.
#pragma once
#include "cli/verb.h"
#include "core/base/file.h"
#include "reintegrate/apply_request.h"

namespace kernelift::cli {

class OtherKernelJudge {
 public:
  /// Starts no process yet. `knobs` are those of the kernel being applied.
  OtherKernelJudge(const Context& context, std::string device, std::vector<Knob> knobs,
                   std::vector<reintegrate::KernelShare> shares)
      : context_(context), device_(std::move(device)), knobs_(std::move(knobs)), shares_(std::move(shares)) {}

  /// A JudgeOthers function.
  std::vector<std::vector<reintegrate::OtherKernel>> operator()(const std::vector<reintegrate::SharedKnobs>& changes);

 private:
  /// Judges the kernel's original under each change of its knobs; an Error says why that is impossible.
  Result<std::vector<reintegrate::OtherKernel>> judge(const ScannedKernel& kernel,
                                                      const std::vector<Bindings>& changes);
  /// The knobs of `change` that the kernel uses.
  Bindings used_knobs(const ScannedKernel& kernel, const reintegrate::SharedKnobs& change) const;
  Result<Json> run(std::vector<std::string> words) const;

  const Context& context_;
  std::string device_;
  std::vector<Knob> knobs_;
  std::vector<reintegrate::KernelShare> shares_;
  std::optional<TemporaryFolder> folder_;  ///< Folder for the extracted kernels.
};

}  // namespace kernelift::cli
