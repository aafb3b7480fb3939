// lower() is this list of passes, in this order. Each is a function of its own on the DeviceModule. Check mode looks at
// the code between prepare() and choose_modes(), where all accesses are plain loads and stores, and barriers are those
// of the source; it instruments behind choose_modes(), so that a kernel's mode is the one that it has unchecked. So
// does the field mode, for which mathematics of the device library are still calls then.
#include "sandbox/device/cpu/cpu_device.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/Verifier.h>

#include "core/toolchain/image_abi.h"
#include "sandbox/device/cpu/lower/check/access_checks.h"
#include "sandbox/device/cpu/lower/check/coverage.h"
#include "sandbox/device/cpu/lower/device_library.h"
#include "sandbox/device/cpu/lower/field/field_code.h"
#include "sandbox/device/cpu/lower/field/field_functions.h"
#include "sandbox/device/cpu/lower/host/emit.h"
#include "sandbox/device/cpu/lower/host/image_tables.h"
#include "sandbox/device/cpu/lower/host/prepare.h"
#include "sandbox/device/cpu/lower/host/variable_room.h"
#include "sandbox/device/cpu/lower/intrinsics.h"
#include "sandbox/device/cpu/lower/module/device_module.h"
#include "sandbox/device/cpu/lower/module/retarget.h"
#include "sandbox/device/cpu/lower/ptx/ptx_assembly.h"
#include "sandbox/device/cpu/lower/services.h"
#include "sandbox/device/cpu/schedule/modes.h"
#include "sandbox/device/cpu/schedule/thread_loops.h"

namespace kernelift::cpu {

using namespace llvm;

namespace {

void give_host_attributes(Module& module, TargetMachine& machine) {
  for (Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("frame-pointer", "none");
    function.addFnAttr(Attribute::NoUnwind);
    function.setUWTableKind(UWTableKind::None);
  }
}

void schedule_kernels(DeviceModule& device) {
  for (Kernel& kernel : device.kernels) {
    if (kernel.mode == KL_MODE_FIBER) build_fiber_entry(kernel);
    else if (kernel.in_warps) build_warp_loops(kernel, cut_kernel(kernel));
    else build_thread_loops(kernel, cut_kernel(kernel));
  }
  for (Kernel& kernel : device.kernels)
    if (kernel.body->use_empty()) kernel.body->eraseFromParent(), kernel.body = nullptr;
}

/// A GPU's loads and stores past its caches. The host's are slow, and ordered with nothing.
void forget_cache_hints(Module& module) {
  for (Function& function : module)
    for (Instruction& instruction : instructions(function))
      instruction.setMetadata(LLVMContext::MD_nontemporal, nullptr);
}

/// What fast-math flags permit rounds constants: x / 3 becomes x * 0.333….
void forbid_fast_math(Module& module) {
  for (Function& function : module)
    for (Instruction& instruction : instructions(function))
      if (isa<FPMathOperator>(instruction)) instruction.setFastMathFlags(FastMathFlags());
}

const char* mode_name(uint32_t mode) { return mode == KL_MODE_LOOP ? "loop" : mode == KL_MODE_CUT ? "cut" : "fiber"; }

}  // namespace

Result<LoweredImage> lower(std::unique_ptr<Module> device_ir, const LowerOptions& options) {
  KERNELIFT_ASSIGN(auto machine, host_machine(options.cpu, options.host_level));
  KERNELIFT_ASSIGN(DeviceModule device, read_device_module(std::move(device_ir)));
  std::optional<Coverage> coverage;
  if (options.checked) coverage.emplace(device);
  KERNELIFT_TRY(place_managed_variables(device));
  KERNELIFT_TRY(place_shared_variables(device));
  KERNELIFT_TRY(retarget(device, machine->getTargetTriple().str(), machine->createDataLayout()));
  forget_cache_hints(*device.module);
  lower_assembly(device);
  define_arithmetic(device);
  lower_intrinsics(device);
  refuse_unknown_mathematics(device);
  KERNELIFT_TRY(settle_refusals(device, !options.leave_out_refused));
  KERNELIFT_TRY(link_device_library(
      *device.module, [&](const Function& function) { return !options.field || !is_field_function(function); }));
  give_host_attributes(*device.module, *machine);
  if (options.field) forbid_fast_math(*device.module);
  prepare(device, *machine, {.keep_threads = options.checked || options.field, .inline_all = options.field});
  std::optional<AccessChecks> checks;
  if (options.checked) checks.emplace(device);
  KERNELIFT_TRY(choose_modes(device, options.force_fibers, options.side_by_side));
  if (checks) {
    checks->insert();
    coverage->insert();
    KERNELIFT_TRY(link_device_library(*device.module));
  }
  if (options.field) {
    insert_field_code(device, options.numbers);
    KERNELIFT_TRY(link_device_library(*device.module));
  }
  lower_shared_addresses(device);
  schedule_kernels(device);
  bound_stacks(device);
  lower_services(*device.module);
  if (options.variables_apart) give_variables_room(device);
  add_image_tables(device);
  give_host_attributes(*device.module, *machine);
  optimize_for_host(*device.module, *machine, options.host_level, options.vectorize);
  define_bfloats(*device.module);

  LoweredImage image;
  std::map<std::string, uint64_t> sizes;
  KERNELIFT_ASSIGN(image.elf, emit_shared_object(*device.module, *machine, sizes));
  for (const Kernel& kernel : device.kernels)
    image.kernels.push_back({kernel.name, mode_name(kernel.mode), kernel.mode_reason, sizes["kl.run." + kernel.name]});
  for (const Kernel& kernel : device.left_out) image.kernels.push_back({kernel.name, "refused", kernel.mode_reason});
  return image;
}

}  // namespace kernelift::cpu
