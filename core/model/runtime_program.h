// A program that an application compiled by NVRTC while it ran: the text that NVRTC was given, and what it made of it.
// Written inside the application's process, one folder each in the capture (docs/formats.md): nothing here throws,
// prints or exits.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/hash.h"
#include "core/base/result.h"

namespace kernelift {

struct RuntimeProgram {
  std::string name;  ///< As the application calls it: "smooth.cu", "default_program".
  std::string source;
  std::map<std::string, std::string> headers;  ///< Text by the name that #include gives.
  std::vector<std::string> options;            ///< "-std=c++17", "--gpu-architecture=sm_90", "-I/opt/…".
  std::map<std::string, std::string> names;    ///< Lowered name by expression: {"smooth<float>", "_Z6smoothIfEvPT_"}.
  std::string image;                           ///< What was made: a cubin, or PTX where no cubin was asked for.
  std::string caller;                          ///< The program or library that called NVRTC.
  std::vector<std::string> command;            ///< Of the process.

  /// Of text, headers, options and names: equal ones are one program.
  Hash key() const;
  /// The file name for its text: the last part of `name` that may be one, with the ending .cu.
  std::string file_name() const;

  /// Writes `parent`/<key>/, unless it is there.
  Status write(const std::filesystem::path& parent) const;
  static Result<RuntimeProgram> read(const std::filesystem::path& folder);
};

/// Of a capture folder, by their folders' names; what cannot be read is left out.
std::vector<RuntimeProgram> runtime_programs(const std::filesystem::path& capture);

inline constexpr const char* kProgramsFolder = "programs";  ///< In a capture.

}  // namespace kernelift
