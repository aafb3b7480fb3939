// Field runs' instrumentation: beside every floating-point operation the same one in numbers modulo p or of another
// NumberKind, beside every access to memory one to its states (executor/field). What a kernel computes and decides
// stays as it is, so that its indices and branches are those of the recorded inputs.
#pragma once
#include "core/model/launch/field_run.h"
#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// EXPECTS: behind choose_modes(), so that a kernel's mode is the one that it has without; functions that are
/// is_field_function() are still declarations.
void insert_field_code(DeviceModule& device, NumberKind numbers);

}  // namespace kernelift::cpu
