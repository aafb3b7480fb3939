// Why a kernel that was recorded has no source among those that were scanned.
#pragma once
#include <string>

#include "core/model/capture.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::extractor {

/// A sentence without a full stop that says which of these it is, as far as the recording knows: its unit was read in
/// part; its code was made or loaded while the application ran; it is a library's; a header outside the application
/// defines it; its file was not among the compile commands. Else that none of the sources defines it, and what that may
/// mean.
std::string why_without_source(const ScanIndex& index, const CapturedInstance& instance);

}  // namespace kernelift::extractor
