// This machine's processor as a Device: the CPU device (sandbox/device/cpu) behind the runner's seam. Images run in a
// forked child that is confined before it loads one; copying, filling and judging happen in this process, which never
// runs an image's code, unless a program asks that its launches' process does all of it (DeviceProgram::together).
//   memory    at recorded addresses, between pages that fault; shared with children, unless it is Hidden
//   images    a child loads each when it first launches from it; load() starts a new child, so that a candidate meets
//             nothing that an earlier one left in its process
//   variables of an image live in the child; DeviceVariable::address is a copy in shared memory, which the child takes
//             over before a launch and leaves behind after it
// A child that crashes, hangs or sends nonsense is an outcome; the next launch has another one.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "sandbox/device/device.h"

namespace kernelift::sandbox {

struct ConfinedCpuOptions {
  unsigned threads = 0;                ///< Cores that a kernel may use; 0: all.
  uint64_t memory_bytes = 2ull << 30;  ///< Address space of a child beyond what it inherits and its workers need.
};

/// "cpu: Intel(R) Xeon(R) Processor, 2 cores": every CPU timing is labelled with it.
std::string cpu_device_label(unsigned threads = 0);

/// EXPECTS: the calling process has one thread whenever the device is used, since it forks.
Result<std::unique_ptr<Device>> open_confined_cpu(const ConfinedCpuOptions& options);

/// Opens what images need beyond this process, before any child is confined.
void prepare_for_confined_cpu();

}  // namespace kernelift::sandbox
