// Kernels that the application compiled by NVRTC while it ran: their text, which the recording has, becomes a small
// application of its own in the state folder, which is scanned like any other.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "core/model/capture.h"
#include "core/model/runtime_program.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::extractor {

/// Mangled names of its kernels.
std::vector<std::string> kernels_of(const RuntimeProgram& program);

/// The program that `instance` is a launch of: the one whose code ran, or else the one that defines a kernel of its
/// name. nullopt if the recording has none; a refusal where several differ and nothing tells which it was.
Result<std::optional<RuntimeProgram>> program_of(const Capture& capture, const std::vector<RuntimeProgram>& programs,
                                                 const CapturedInstance& instance);

/// Writes `state`/programs/<name>-<key>/ (docs/formats.md) and scans it.
Result<ScanIndex> scan_program(const RuntimeProgram& program, const std::filesystem::path& state);

/// nvcc's command line for the program's text, of NVRTC's options: those that nvcc does not have are left out.
std::vector<std::string> nvcc_options_of(const RuntimeProgram& program);

/// If `root` is the folder of such a program: a sentence that says where its text came from.
std::optional<std::string> origin_of_program(const std::filesystem::path& root);

}  // namespace kernelift::extractor
