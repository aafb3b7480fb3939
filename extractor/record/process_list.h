// What a run of several processes adds up to, and the table of them that `kernelift record` prints.
#pragma once
#include <string>
#include <vector>

#include "core/model/capture.h"

namespace kernelift::record {

/// The job as one: `chosen` (an index) is whose instances are kept, and device, command and notes are its; profile,
/// times and the list of processes are those of all. A process with less than 1 % of the kernels' time does not add to
/// run_seconds: it starts or waits for the others.
CaptureInfo sum_of(const std::vector<CaptureInfo>& processes, const std::vector<std::string>& names, size_t chosen);

/// "rank 3", or the name of the process's folder.
std::string title(const RecordedProcess& process);

/// One line per process, by rank: kernels' time, run time, launches, command; empty where there is one only.
std::string process_list(const std::vector<RecordedProcess>& processes, size_t most = 20);

}  // namespace kernelift::record
