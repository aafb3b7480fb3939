// The NVTX range that restricted a recording (`record --region`), in a file beside the capture's manifest: its profile
// and its instances are of launches in ranges of that name alone.
#pragma once
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift {

/// `region`: "NAME" or "NAME@DOMAIN"; empty: nothing is written.
Status write_capture_region(const std::filesystem::path& folder, const std::string& region);
/// Empty: the whole run was recorded.
std::string capture_region(const std::filesystem::path& folder);
/// "Only launches in the NVTX range 'step'."; empty for the whole run.
std::string capture_region_text(const std::string& region);

}  // namespace kernelift
