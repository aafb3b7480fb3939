// Parser for nvcc, hipcc and clang++ (CUDA, HIP) command lines: the input files and their languages, the output, and
// the preprocessor, language and code-generation flags. Used by the compiler wrappers (which then run clang), by scan
// (which then parses the sources) and by code that runs the application's own compiler again on a changed file.
// Response files (@file; nvcc's --options-file) are read; `-x cu` makes a `.cpp` file CUDA; nvcc's lists and escapes
// are resolved (nvcc_words.h), so that `preprocessor` has the words that the host compiler is given.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

enum class Dialect { Nvcc, Hipcc, Clang };
enum class Action { Compile, Preprocess, DeviceLink, Link, Library, Ptx, Cubin, Fatbin, Query };

struct SourceInput {
  std::string file;
  enum class Language { Cuda, Hip, Cxx, C, Object } language = Language::Cxx;
};

struct CompilerCommand {
  Dialect dialect = Dialect::Nvcc;
  Action action = Action::Link;  ///< From -c, -E, -dlink, -ptx, -cubin, -fatbin, --version…; Link if there is none.
  std::vector<SourceInput> inputs;
  std::string output;                      ///< From -o; empty if there is none.
  std::string standard;                    ///< "c++17"; empty for the default.
  std::vector<std::string> preprocessor;   ///< -D -U -I -isystem -include … in order, clang's spelling.
  std::vector<std::string> architectures;  ///< "sm_90", from -arch, -gencode, --offload-arch, in order.
  std::vector<std::string> host_flags;     ///< Flags for the host compiler: -Xcompiler words, -O, -g, -fPIC, -W….
  std::vector<std::string> link_flags;     ///< -L -l -Wl,… and the like, in order.
  std::string optimization = "-O2";        ///< The host's -O level.
  bool relocatable = false;                ///< -rdc=true, -dc
  bool host_only = false;                  ///< --cuda-host-only: no device code.
  bool use_fast_math = false, ftz = false, prec_div = true, prec_sqrt = true, fmad = true;
  bool extended_lambda = false, relaxed_constexpr = false, debug = false, line_info = false;
  std::vector<std::string> dependency_flags;  ///< -MD -MF …, clang's spelling.
  std::string host_compiler;                  ///< -ccbin; empty for the default.
  std::string output_folder;                  ///< -odir; empty for the working folder.
  std::string query;                          ///< The flag for Action::Query: "--version", "--help"….
  bool verbose = false, dry_run = false;      ///< -v, --dryrun
  std::vector<std::string> dropped;           ///< Known flags that mean nothing here.
  std::vector<std::string> unknown;           ///< Flags that are not known: reported, never silently dropped.

  /// The flags that change what the device front end sees, in clang's spelling (no inputs, no output, no -x).
  std::vector<std::string> frontend_flags() const;
};

/// The dialect comes from `dialect_hint`, else from `argv[0]`; a leading ccache or the like is skipped. Relative
/// response files are looked for in `folder`. A Usage error: an option without its value, or a response file that is
/// missing.
Result<CompilerCommand> parse_compiler_command(const std::vector<std::string>& argv,
                                               const std::filesystem::path& folder,
                                               std::optional<Dialect> dialect_hint = std::nullopt);

/// Expands @file (nvcc: --options-file) in place, recursively; a missing file is a Usage error that names it.
Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& argv,
                                                       const std::filesystem::path& folder);

}  // namespace kernelift
