// The recorder inside the user's process: counts and times every launch, and keeps before- and after-images of a chosen
// few. It owns no thread and no signal handler. Whatever goes wrong is noted in the capture, recording stops, and the
// application goes on as if nobody had looked: nothing here prints, exits or lets an exception out.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/model/capture.h"
#include "core/toolchain/record_hooks.h"
#include "extractor/record/archive.h"
#include "extractor/record/config.h"
#include "extractor/record/instance_chooser.h"
#include "extractor/record/profile.h"
#include "extractor/record/reach.h"

namespace kernelift::record {

class Recorder {
 public:
  /// `view` outlives the recorder. Files are made at the first launch, in config.folder/process-<pid>.
  Recorder(RecordConfig config, const kl_runtime_view& view);
  /// EXPECTS: calls are serialised, and a launch's end follows its begin with no other launch between.
  void launch_begin(const kl_record_launch& launch);
  void launch_end(const kl_record_launch& launch, double seconds);
  /// Writes the manifest of a run that ended by itself.
  void finish();

 private:
  struct Kernel {
    std::string key, mangled, unit;
    bool wanted = false;
    LaunchProfile profile;
    InstanceChooser chooser;
    std::optional<LaunchTraits> traits = {};  ///< Of the launch in flight.
    std::string mark = {};                    ///< In its instances' ids; empty before the first.
  };

  Kernel& kernel_of(const kl_record_launch& launch);
  AllocationMap allocations() const;
  bool capture_before(Kernel& kernel, const kl_record_launch& launch, const AllocationMap& allocations);
  bool capture_after(double seconds);
  void write_manifest(bool complete);
  void stop(const std::string& why);

  RecordConfig config_;
  const kl_runtime_view& view_;
  KernelPattern pattern_;
  Archive archive_;  ///< When it has stopped, launches are still counted.
  std::unordered_map<const kl_kernel*, std::unique_ptr<Kernel>> kernels_;
  const kl_kernel* last_ = nullptr;
  Kernel* last_kernel_ = nullptr;
  std::optional<CapturedInstance> pending_;
  std::chrono::steady_clock::time_point written_ = std::chrono::steady_clock::now();
  uint64_t launches_ = 0;
  KernelSpans span_;
  uint64_t occurrence_ = 1;  ///< Of the range in which the launch in flight is; 0: in none, and it is not recorded.
  double launch_began_ = 0;  ///< By the steady clock, less own_seconds_ then.
  double own_seconds_ = 0;   ///< Spent on looking, images and files: not the application's time.
};

}  // namespace kernelift::record
