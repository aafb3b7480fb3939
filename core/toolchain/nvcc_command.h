// An nvcc, hipcc or clang++ (CUDA, HIP) command line, understood: which files, as which language, to which output, with
// which preprocessor, language and code-generation flags. Shared by the compiler wrappers (which then run clang), by
// scan (which then parses) and by whoever runs the application's own compiler again on a changed file. Response files
// (@file, --options-file) are read; `.cpp` may be CUDA by `-x cu`; quoting of -D values survives.
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
  Action action = Action::Link;  ///< -c, -E, -dlink, none, -ptx, -cubin, -fatbin, --version and the like.
  std::vector<SourceInput> inputs;
  std::string output;                      ///< As given by -o; empty if none.
  std::string standard;                    ///< "c++17", empty for the default.
  std::vector<std::string> preprocessor;   ///< -D -U -I -isystem -include … in order, clang's spelling.
  std::vector<std::string> architectures;  ///< "sm_90", from -arch, -gencode, --offload-arch, in order.
  std::vector<std::string> host_flags;     ///< Host compiler's: -Xcompiler words, -O, -g, -fPIC, -W….
  std::vector<std::string> link_flags;     ///< -L -l -Wl,… and the like, in order.
  std::string optimization = "-O2";        ///< Host -O level.
  bool relocatable = false;                ///< -rdc=true, -dc
  bool host_only = false;                  ///< --cuda-host-only: no device code.
  bool use_fast_math = false, ftz = false, prec_div = true, prec_sqrt = true, fmad = true;
  bool extended_lambda = false, relaxed_constexpr = false, debug = false, line_info = false;
  std::vector<std::string> dependency_flags;  ///< -MD -MF … as given, clang's spelling.
  std::string host_compiler;                  ///< -ccbin; empty for the default.
  std::string output_folder;                  ///< -odir; empty for the working folder.
  std::string query;                          ///< The flag that made it Action::Query: "--version", "--help"….
  bool verbose = false, dry_run = false;      ///< -v, --dryrun
  std::vector<std::string> dropped;           ///< Known flags without meaning here.
  std::vector<std::string> unknown;           ///< Flags not understood: reported, never silently dropped.

  /// Flags that decide what the device front end sees, in clang's spelling (no inputs, no output, no -x).
  std::vector<std::string> frontend_flags() const;
};

/// `argv[0]` decides the dialect unless `dialect_hint` does; a leading ccache or the like is passed over. `folder`
/// resolves relative response files.
Result<CompilerCommand> parse_compiler_command(const std::vector<std::string>& argv,
                                               const std::filesystem::path& folder,
                                               std::optional<Dialect> dialect_hint = std::nullopt);

/// Does nvcc's option of this name, long or short, without dashes, take the next word as its value when none stands
/// behind
/// '='? False for names that are not nvcc's.
bool nvcc_option_takes_value(std::string_view name);

/// Expands @file and --options-file in place, recursively; a missing file is an Error that names it.
Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& argv,
                                                       const std::filesystem::path& folder);

}  // namespace kernelift
