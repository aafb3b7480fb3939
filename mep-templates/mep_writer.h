// Fills a MEP's folder with the program around its kernel: kernel.cu, main.cu, kernelift_replay.h, CMakeLists.txt,
// README.md and mep.json. The data files are there already (Mep::store). What is written builds with nvcc or hipcc
// alone, so it holds no reference to Kernelift, to its installation or to the application's tree.
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/model/mep.h"

namespace kernelift::templates {

struct MepProgram {
  Mep mep;
  std::string kernel_text;          ///< The slice.
  std::string origin;               ///< "src/smooth.cu:31", relative to the application's root.
  std::string closure;              ///< What was taken from where, one line each, for the README.
  std::vector<std::string> limits;  ///< What this MEP cannot promise, one sentence each, for the README.
  std::map<std::string, uint64_t>
      sums;  ///< replay_checksum() of data files, where known: those need not be read again.
};

/// kernelift_replay.h's checksum of a data file: FNV-1a over eight bytes at a time.
uint64_t replay_checksum(std::span<const std::byte> bytes);

/// `templates` is the installed mep-templates folder.
Status write_mep_program(const MepProgram& program, const std::filesystem::path& templates,
                         const std::filesystem::path& folder);

}  // namespace kernelift::templates
