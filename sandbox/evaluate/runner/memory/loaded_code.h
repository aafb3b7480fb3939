// Code that is ready to run on a device: a loaded image, and its launches for every instance. Code that does not fit
// the device (threads, shared memory, parameters) is refused here, before anything is launched.
#pragma once
#include <variant>

#include "core/model/verdict/verdict.h"
#include "sandbox/evaluate/runner/inquiry.h"
#include "sandbox/evaluate/runner/memory/replay_memory.h"

namespace kernelift::sandbox {

/// The image's variable named `name` (clang's spelling), else `recorded_name` (in the application's image), else the
/// only one with the canonical key `key`: nvcc names `static __constant__ int t` "t", clang "_ZL1t". nullptr: there is
/// none, or several have that key.
const DeviceVariable* find_variable(const std::vector<DeviceVariable>& variables, const std::string& name,
                                    const std::string& recorded_name, const std::string& key);

class LoadedCode {
 public:
  /// The failure, if any: the image does not load, link or fit the device. `first`: see Device::load.
  std::optional<RunFailure> load(Device& device, const ReplayMemory& memory, const Mep& mep, const RunnableCode& code,
                                 bool first = false);

  /// Prepares a launch that was not recorded: as `recorded` says, with the arguments of `memory`. Its index, for what
  /// follows, until drop_added().
  std::variant<size_t, RunFailure> add(Device& device, const ReplayInstance& memory, const Mep& mep,
                                       const MepInstance& recorded, const RunnableCode& code);
  /// Drops the launch that was added last.
  void drop_added() { instances_.pop_back(); }

  enum class Reset {
    All,       ///< As if no launch had been before: all variables, and scratch memory holds rubbish again.
    Recorded,  ///< Recorded variables; the code's own variables and scratch memory keep what an earlier launch left.
  };
  /// Steps before launch(): sets module variables to recorded values (those that were not recorded to what the image
  /// holds), and writes the image's own variable addresses to memory that recorded such addresses.
  void set_up(Steps& steps, const ReplayInstance& instance, size_t index, Reset reset = Reset::All) const;
  /// The same for a timed launch of trusted code: only recorded variables that the original changes.
  void set_up_changed(Steps& steps, const ReplayInstance& instance, size_t index) const;
  /// Steps that leave the code's own variables and scratch memory as they are, and caches as a reset leaves them.
  void touch_own_memory(Steps& steps, size_t index) const;
  /// It has variables of its own, or scratch memory, in which a launch could leave something for the next.
  bool has_own_memory() const;
  /// The launches, each preceded by clearing scratch that is declared as zeroed.
  void launch(Steps& steps, size_t index) const;
  /// Steps after launch(): restores the recorded addresses that set_up() replaced, so that memory compares equal.
  void take_down(Steps& steps, size_t index) const;
  /// Steps that check the canaries around module variables and scratch, which are intact unless a launch since load()
  /// wrote there.
  void check_canaries(Steps& steps, size_t index) const;
  /// "4 bytes after the end of its scratch memory 1", "… of its variable weights"; empty if none is near `address`.
  std::string near_own_memory(size_t index, uint64_t address) const;
  /// Adds the instance's scratch memory, and what is forbidden around it.
  void add_extents(CheckedExtents& extents, size_t index) const;
  /// Address of the instance's n-th variable in this image; 0: the image does not have it.
  uint64_t variable(size_t index, size_t number) const { return instances_[index].variables[number]; }
  /// The instance's n-th variable's name in this image; empty: the image does not have it.
  std::string variable_name(size_t index, size_t number) const;
  /// Name of the first launch's kernel, as the image spells it.
  const std::string& kernel() const { return kernel_; }
  const KernelResources& resources() const { return resources_; }

 private:
  /// A variable that is not the MEP's.
  struct OwnVariable {
    uint64_t address = 0, size = 0;
    DeviceMemory initial;
  };
  Status keep_own_variables(Device& device, const Mep& mep);
  void patch_symbols(Steps& steps, size_t index) const;
  struct Scratch {
    DeviceMemory memory;  ///< With a canary on either side.
    uint64_t address = 0, size = 0;
    bool zeroed = false;
  };
  struct Prepared {
    std::vector<DeviceLaunch> launches;
    std::vector<Scratch> scratch;
    std::vector<uint64_t> variables;
    /// Addresses of variables, then the DeviceRanges of set_up(), then those of take_down().
    DeviceMemory patches;
    uint64_t patch_count = 0, to_image = 0, to_recorded = 0;
  };
  std::optional<RunFailure> prepare(Device& device, const ReplayInstance& memory, const Mep& mep,
                                    const MepInstance& recorded, const RunnableCode& code);
  const DeviceKernel* find_kernel(const std::string& wanted) const;
  /// Puts the addresses of the image's variables where the recorded memory and arguments had theirs.
  std::optional<RunFailure> place_symbols(Device& device, const ReplayInstance& memory, const MepInstance& recorded,
                                          Prepared& into, std::vector<std::byte>& arguments) const;

  DeviceImage image_;
  std::vector<OwnVariable> own_;
  std::vector<Prepared> instances_;
  std::string kernel_;
  KernelResources resources_;
};

}  // namespace kernelift::sandbox
