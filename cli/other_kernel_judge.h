// What becomes of other kernels when a knob is turned that they share (reintegrate/patch/shared_knobs.h): each is
// extracted, and `kernelift evaluate` judges its original with the new values. In processes of their own: a MEP's
// memory wants room where the application had it (mep_addresses.h), and this process holds that of the kernel that is
// applied.
#pragma once
#include "cli/verb.h"
#include "core/base/file.h"
#include "reintegrate/apply_request.h"

namespace kernelift::cli {

class OtherKernelJudge {
 public:
  /// Nothing is started yet. `knobs` are those of the kernel that is applied.
  OtherKernelJudge(const Context& context, std::string device, std::vector<Knob> knobs, std::vector<KernelShare> shares)
      : context_(context), device_(std::move(device)), knobs_(std::move(knobs)), shares_(std::move(shares)) {}

  /// As JudgeOthers wants it.
  std::vector<std::vector<OtherKernel>> operator()(const std::vector<SharedKnobs>& changes);

 private:
  /// What becomes of the kernel's original, one answer per change of its knobs; an Error says why there are none.
  Result<std::vector<OtherKernel>> judge(const ScannedKernel& kernel, const std::vector<Bindings>& changes);
  /// The knobs of `change` that feed the kernel.
  Bindings fed(const ScannedKernel& kernel, const SharedKnobs& change) const;
  Result<Json> run(std::vector<std::string> words) const;

  const Context& context_;
  std::string device_;
  std::vector<Knob> knobs_;
  std::vector<KernelShare> shares_;
  std::optional<TemporaryFolder> folder_;  ///< Of the extracted kernels.
};

}  // namespace kernelift::cli
