// The host half of a translation unit as IR: what a patch of device code must not change. The unit is compiled by clang
// for the host alone, unoptimised and without debug information, on given versions of the application's files. A file
// is recognised by its identity, whatever path leads to it, so that no include reads another version. Lines keep the
// numbers that they have in the original, so that __LINE__ and std::source_location are no difference.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/compiler/frontend.h"
#include "core/compiler/lookup/device_functions.h"
#include "core/compiler/lookup/host_uses.h"
#include "core/toolchain/nvcc_command.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace kernelift {

/// One compile of the application, of a GPU source or a plain one.
struct HostUnit {
  std::string file, folder;  ///< The main file; the folder in which the command runs.
  CompilerCommand command;
  SourceInput::Language language = SourceInput::Language::Cuda;
  HeaderSet headers = HeaderSet::Lean;  ///< The headers to try first.
  std::vector<std::string> words = {};  ///< The command as it was given.
  std::string gcc = {};                 ///< The version of GCC that __GNUC__ shows; empty: clang's, 4.2.1.
};

/// A line after which the numbers of lines go on as in the original.
struct LineNote {
  size_t offset = 0;  ///< The first byte of that line.
  unsigned next = 0;  ///< The number of the line after it.
};

/// A file with the text that it has, or would have.
struct FileVersion {
  std::filesystem::path path;  ///< Links resolved.
  std::string text;
  std::vector<LineNote> lines;  ///< In ascending order; empty: the text's own numbers.
};

struct HostHalf {
  std::unique_ptr<llvm::Module> module;
  std::vector<DeviceFunction> device_functions;  ///< Of the given files.
  std::set<WrittenFunction> written;             ///< The same, of all functions.
  HeaderSet headers = HeaderSet::Lean;           ///< The headers with which it was compiled.
  std::set<std::filesystem::path> read;          ///< The given files that it read.
};

/// Compiles with unit.headers, and if that fails and `only` is false with the other set. An Error holds diagnostics.
Result<HostHalf> compile_host_half(llvm::LLVMContext& context, const HostUnit& unit,
                                   const std::vector<FileVersion>& files, bool only = false);

/// What host code reaches of functions in the given files that `known` does not have; `added`: see note_host_uses().
/// Errors in the text are passed over.
Result<std::vector<HostUse>> host_uses(const HostUnit& unit, const std::vector<FileVersion>& files,
                                       const std::set<WrittenFunction>& known, const std::string& added);

/// What the preprocessor reads for the unit's host half.
struct HostText {
  std::set<std::filesystem::path> read;   ///< The given files that it read.
  std::set<std::string> identifiers;      ///< Of the text of all files, in skipped code too; if asked for.
  std::set<std::string> own_identifiers;  ///< The same of files that are no system's headers.
  std::set<std::string> macros;           ///< That are defined in the end.
  std::set<std::string> missing;          ///< Headers that it did not find, as #include spells them.
  std::optional<Error> failure;           ///< Why there may be more that it would have read.
};
/// As much of it as can be read.
HostText readable_host_text(const HostUnit& unit, const std::vector<FileVersion>& files, bool identifiers);
/// All of it but headers that are missing.
Result<HostText> read_host_text(const HostUnit& unit, const std::vector<FileVersion>& files, bool identifiers);

}  // namespace kernelift
