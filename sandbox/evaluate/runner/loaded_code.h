// One side of a trial on a GPU: an image loaded afresh, and for every instance its launches, ready to go. What does not
// fit the device (threads, shared memory, parameters) is found here, before anything is launched.
#pragma once
#include "core/model/verdict.h"
#include "sandbox/evaluate/runner/inquiry.h"
#include "sandbox/evaluate/runner/replay_memory.h"

namespace kernelift {

/// The image's variable that is `name` (clang's spelling), else `recorded_name` (the application's image's), else the
/// only one whose canonical key is `key`: nvcc calls `static __constant__ int t` "t", clang "_ZL1t". nullptr: it has
/// none, or several of that key.
const DeviceVariable* find_variable(const std::vector<DeviceVariable>& variables, const std::string& name,
                                    const std::string& recorded_name, const std::string& key);

class LoadedCode {
 public:
  /// The failure, if there is one, is the image's: what does not load, link or fit. `first`: see Device::load.
  std::optional<TrialFailure> load(Device& device, const ReplayMemory& memory, const Mep& mep, const TrialCode& code,
                                   bool first = false);

  /// Steps before a launch that is judged: module variables as recorded, addresses of variables where they belong.
  void set_up(Steps& steps, const ReplayInstance& instance, size_t index, bool changed_only) const;
  /// The launches themselves; clearing scratch that asks for it is part of them.
  void launch(Steps& steps, size_t index) const;
  /// Steps after it: recorded addresses back where set_up() put the image's own, so that they compare equal.
  void take_down(Steps& steps, size_t index) const;
  /// Steps that look at the canaries around what was lent to it, which are whole unless a launch since load() broke
  /// them.
  void check_scratch(Steps& steps, size_t index) const;
  /// "4 bytes after the end of its scratch memory 1", where that is; else empty.
  std::string near_scratch(size_t index, uint64_t address) const;
  /// Where this image keeps the instance's n-th variable; 0: it has none of that name.
  uint64_t variable(size_t index, size_t number) const { return instances_[index].variables[number]; }
  /// As the image spells it; of the first launch.
  const std::string& kernel() const { return kernel_; }
  const KernelResources& resources() const { return resources_; }

 private:
  struct Scratch {
    DeviceMemory memory;  ///< With a canary on either side.
    uint64_t address = 0, size = 0;
    bool zeroed = false;
  };
  struct Prepared {
    std::vector<DeviceLaunch> launches;
    std::vector<Scratch> scratch;
    std::vector<uint64_t> variables;
    DeviceMemory
        patches;  ///< Addresses of variables, then DeviceRanges that put them in place, and that take them out.
    uint64_t patch_count = 0, to_image = 0, to_recorded = 0;
  };
  std::optional<TrialFailure> prepare(Device& device, const ReplayInstance& memory, const Mep& mep,
                                      const MepInstance& recorded, const TrialCode& code);
  const DeviceKernel* find_kernel(const std::string& wanted) const;
  std::optional<TrialFailure> place_symbols(Device& device, const ReplayInstance& memory, const MepInstance& recorded,
                                            Prepared& into) const;

  DeviceImage image_;
  std::vector<Prepared> instances_;
  std::string kernel_;
  KernelResources resources_;
};

}  // namespace kernelift
