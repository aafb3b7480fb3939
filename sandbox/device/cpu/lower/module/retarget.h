// Passes that turn NVPTX-shaped IR into host-shaped IR with the same meaning, before anything is optimised.
#pragma once
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Gives every shared variable a place in the block's arena and every kernel its static size. Two variables that no
/// kernel reaches together may share a place.
Status place_shared_variables(DeviceModule& device);

/// Reaches __managed__ variables through pointers that the runtime sets (managed_variables.cpp).
Status place_managed_variables(DeviceModule& device);

/// One flat address space, a hidden thread parameter on every defined function, calls to NVVM intrinsics turned into
/// calls of plain functions named nvvm.*, host triple and data layout.
Status retarget(DeviceModule& device, const std::string& triple, const llvm::DataLayout& layout);

/// Turns the address markers of shared variables, shared.at and shared.dynamic.at, into plain address arithmetic.
void lower_shared_addresses(DeviceModule& device);

}  // namespace kernelift::cpu
