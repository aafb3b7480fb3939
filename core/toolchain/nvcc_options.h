// The options of nvcc, and of clang and hipcc, with what each one means for a CompilerCommand (nvcc_command.h). nvcc
// accepts each option as -name value, -name=value, --long-name value and --long-name=value; clang and hipcc spell
// theirs as gcc does. Source: nvcc's own --help (CUDA 13) and clang's documentation;
// core/tests/device_arguments_test.cpp compares the table with `nvcc --help`.
#pragma once
#include <span>
#include <string_view>

namespace kernelift {

/// What the parser does with an option and its value; nvcc_command.cpp has a case for each.
enum class OptionMeaning {
  // Preprocessor.
  Define,
  Undefine,
  Include,
  SystemInclude,
  AfterInclude,
  QuoteInclude,
  ForcedInclude,
  MacroInclude,
  // Input, output and language.
  Standard,
  Language,
  Output,
  OutputFolder,
  // GPU architectures.
  Architecture,
  Code,
  GenerateCode,
  // The host compiler and the linker.
  HostWords,  ///< The value holds words for the host compiler, separated by commas.
  LinkWords,  ///< The value holds words for the linker, separated by commas.
  LibraryFolder,
  Library,
  HostCompiler,
  // Dependency files.
  DependencyFile,
  DependencyTarget,
  DependencyQuotedTarget,
  DependencySwitch,  ///< Writes dependencies besides compiling.
  DependencyOnly,    ///< Writes dependencies and compiles nothing.
  // Code generation.
  Optimize,
  Relocatable,        ///< The value says whether device code is relocatable.
  RelocatableSwitch,  ///< Device code is relocatable.
  Ftz,
  PrecDiv,
  PrecSqrt,
  Fmad,
  FastMath,
  Lambda,
  Constexpr,
  Debug,
  HostDebug,
  LineInfo,
  // What the command does: see Action in nvcc_command.h.
  Compile,
  DeviceCompile,  ///< Compiles to relocatable device code.
  WholeCompile,   ///< Compiles to device code that is not relocatable.
  DeviceLinkAction,
  LibraryAction,
  PtxAction,
  CubinAction,
  FatbinAction,
  PreprocessAction,
  QueryAction,
  Verbose,
  DryRun,
  ForwardUnknown,  ///< Unknown options go to the host compiler.
  // Options that are passed on or dropped.
  HostFlag,
  LinkFlag,
  Drop,
  DropWithValue,
  ClangWord  ///< Passed to clang with its value.
};

struct NvccOption {
  OptionMeaning meaning;
  bool takes_value;
};

/// nvcc's option of this name, long or short, without dashes; nullptr if nvcc has none.
const NvccOption* find_nvcc_option(std::string_view name);

/// True if nvcc's option of this name, long or short, without dashes, takes the next word of the command as its value
/// unless one follows it after '='. False for names that are not nvcc's.
bool nvcc_option_takes_value(std::string_view name);

/// An option of clang and hipcc whose value is the next word, or may be joined to the name.
struct ClangOption {
  const char* name;  ///< With its dash.
  OptionMeaning meaning;
  bool joined;  ///< The value may be joined: -Ifolder.
};
std::span<const ClangOption> clang_options();

/// Beginnings of options of clang and hipcc that mean nothing for a CompilerCommand.
std::span<const char* const> clang_dropped_options();

}  // namespace kernelift
