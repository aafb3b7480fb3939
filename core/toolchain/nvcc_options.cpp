// The tables of nvcc_options.h.
#include "core/toolchain/nvcc_options.h"

#include <map>
#include <string>

namespace kernelift {
namespace {

using enum OptionMeaning;

/// nvcc's options, by every name that they have, without dashes.
const std::map<std::string, NvccOption, std::less<>>& nvcc_options() {
  static const std::map<std::string, NvccOption, std::less<>> table = [] {
    std::map<std::string, NvccOption, std::less<>> rows;
    auto add = [&](OptionMeaning meaning, bool value, std::initializer_list<const char*> names) {
      for (const char* name : names) rows[name] = {meaning, value};
    };
    add(Define, true, {"D", "define-macro"});
    add(Undefine, true, {"U", "undefine-macro"});
    add(Include, true, {"I", "include-path"});
    add(SystemInclude, true, {"isystem", "system-include"});
    add(ForcedInclude, true, {"include", "pre-include"});
    add(Standard, true, {"std"});
    add(Language, true, {"x"});
    add(Output, true, {"o", "output-file"});
    add(OutputFolder, true, {"odir", "output-directory"});
    add(Architecture, true, {"arch", "gpu-architecture"});
    add(Code, true, {"code", "gpu-code"});
    add(GenerateCode, true, {"gencode", "generate-code"});
    add(HostWords, true, {"Xcompiler", "compiler-options"});
    add(LinkWords, true, {"Xlinker", "linker-options"});
    add(LibraryFolder, true, {"L", "library-path"});
    add(Library, true, {"l", "library"});
    add(HostCompiler, true, {"ccbin", "compiler-bindir"});
    add(DependencyFile, true, {"MF", "dependency-output"});
    add(DependencyTarget, true, {"MT", "dependency-target-name"});
    add(DependencyQuotedTarget, true, {"MQ"});
    add(DependencySwitch, false,
        {"MD", "MMD", "MP", "generate-dependencies-with-compile", "generate-nonsystem-dependencies-with-compile",
         "generate-dependency-targets"});
    add(DependencyOnly, false, {"M", "MM", "generate-dependencies", "generate-nonsystem-dependencies"});
    add(Optimize, true, {"O", "optimize"});
    add(Relocatable, true, {"rdc", "relocatable-device-code"});
    add(Ftz, true, {"ftz"});
    add(PrecDiv, true, {"prec-div"});
    add(PrecSqrt, true, {"prec-sqrt"});
    add(Fmad, true, {"fmad"});
    add(FastMath, false, {"use_fast_math"});
    add(Lambda, false, {"extended-lambda", "expt-extended-lambda"});
    add(Constexpr, false, {"expt-relaxed-constexpr"});
    add(Debug, false, {"G", "device-debug"});
    add(HostDebug, false, {"g", "debug"});
    add(LineInfo, false, {"lineinfo", "generate-line-info"});
    add(Compile, false, {"c", "compile"});
    add(DeviceCompile, false, {"dc", "device-c"});
    add(WholeCompile, false, {"dw", "device-w"});
    add(DeviceLinkAction, false, {"dlink", "device-link"});
    add(LibraryAction, false, {"lib"});
    add(PtxAction, false, {"ptx"});
    add(CubinAction, false, {"cubin"});
    add(FatbinAction, false, {"fatbin"});
    add(PreprocessAction, false, {"E", "preprocess"});
    add(QueryAction, false, {"version", "V", "help", "h", "list-gpu-arch", "arch-ls", "list-gpu-code", "code-ls"});
    add(Verbose, false, {"v", "verbose"});
    add(DryRun, false, {"dryrun", "dry-run"});
    add(ForwardUnknown, false,
        {"forward-unknown-to-host-compiler", "forward-unknown-to-host-linker", "forward-unknown-opts"});
    add(LinkFlag, false, {"shared"});
    add(HostFlag, false, {"pg", "profile", "w", "disable-warnings", "pthread"});
    add(Drop, false,
        {"restrict",
         "keep",
         "save-temps",
         "res-usage",
         "resource-usage",
         "allow-unsupported-compiler",
         "clean",
         "clean-targets",
         "dlto",
         "dlink-time-opt",
         "lto",
         "link",
         "no-align-double",
         "nodlink",
         "no-device-link",
         "src-in-ptx",
         "source-in-ptx",
         "ewp",
         "extensible-whole-program",
         "extra-device-vectorization",
         "use-local-env",
         "objdir-as-tempdir",
         "objtemp",
         "no-compress",
         "Wno-deprecated-gpu-targets",
         "Wno-deprecated-declarations",
         "Wreorder",
         "Wdefault-stream-launch",
         "Wext-lambda-captures-this",
         "Wmissing-launch-bounds",
         "no-exceptions",
         "noeh",
         "no-host-device-initializer-list",
         "no-host-device-move-forward",
         "display-error-number",
         "no-display-error-number",
         "disable-optimizer-constants",
         "gen-opt-lto",
         "m64",
         "ftemplate-backtrace",
         "builtin-move-forward",
         "builtin-initializer-list",
         "prof"});
    add(DropWithValue, true,
        {"Xptxas",
         "ptxas-options",
         "Xnvlink",
         "nvlink-options",
         "Xfatbin",
         "fatbin-options",
         "Xcudafe",
         "Xarchive",
         "archive-options",
         "maxrregcount",
         "t",
         "threads",
         "keep-dir",
         "cudart",
         "cudadevrt",
         "default-stream",
         "diag-suppress",
         "diag-error",
         "diag-warn",
         "Werror",
         "m",
         "machine",
         "split-compile",
         "split-compile-extended",
         "time",
         "dopt",
         "compress-mode",
         "target-dir",
         "target-directory",
         "static-global-template-stub",
         "jump-table-density",
         "tls",
         "ldir",
         "libdevice-directory",
         "idp",
         "ddp",
         "dp",
         "drive-prefix",
         "input-drive-prefix",
         "dependency-drive-prefix",
         "qpp-config",
         "Xnvvm",
         "archiver-binary",
         "arbin",
         "run-args",
         "optimization-info",
         "opt-info",
         "Ofast-compile",
         "Ofc",
         "ftemplate-depth",
         "ftemplate-backtrace-limit",
         "device-entity-has-hidden-visibility",
         "fdevice-time-trace",
         "entries",
         "e",
         "host-linker-script",
         "hls",
         "brief-diagnostics",
         "brief-diag",
         "jtd",
         "device-stack-protector",
         "frandom-seed",
         "sanitize"});
    return rows;
  }();
  return table;
}

constexpr ClangOption kClangOptions[] = {{"-isystem", SystemInclude, true},
                                         {"-idirafter", AfterInclude, true},
                                         {"-iquote", QuoteInclude, true},
                                         {"-include", ForcedInclude, false},
                                         {"-imacros", MacroInclude, false},
                                         {"-Xclang", ClangWord, false},
                                         {"-Xarch_host", ClangWord, false},
                                         {"-Xarch_device", ClangWord, false},
                                         {"-Xcuda-ptxas", DropWithValue, false},
                                         {"-Xcuda-fatbinary", DropWithValue, false},
                                         {"-Xoffload-linker", DropWithValue, false},
                                         {"-Xlinker", LinkWords, false},
                                         {"-mllvm", DropWithValue, false},
                                         {"-MF", DependencyFile, true},
                                         {"-MT", DependencyTarget, true},
                                         {"-MQ", DependencyQuotedTarget, true},
                                         {"-MJ", DropWithValue, true},
                                         {"-arch", Architecture, false},
                                         {"-target", DropWithValue, false},
                                         {"-z", LinkFlag, false},
                                         {"-T", LinkFlag, false},
                                         {"-D", Define, true},
                                         {"-U", Undefine, true},
                                         {"-I", Include, true},
                                         {"-L", LibraryFolder, true},
                                         {"-l", Library, true},
                                         {"-x", Language, true},
                                         {"-o", Output, true}};
constexpr const char* kClangDropped[] = {"--cuda-path=",
                                         "--rocm-path=",
                                         "--rocm-device-lib-path=",
                                         "--hip-path=",
                                         "--hip-version=",
                                         "-fcuda-short-ptr",
                                         "-nogpulib",
                                         "-nocudalib",
                                         "-nogpuinc",
                                         "-nocudainc",
                                         "--hip-link",
                                         "-parallel-jobs=",
                                         "-cuid=",
                                         "-fuse-cuid=",
                                         "--cuda-noopt-device-debug",
                                         "-Wno-unknown-cuda-version",
                                         "--offload-compress",
                                         "-munsafe-fp-atomics",
                                         "-mcode-object-version=",
                                         "--no-cuda-version-check",
                                         "--offload-new-driver",
                                         "--no-offload-new-driver",
                                         "-amdgpu-target",
                                         "--gcc-toolchain=",
                                         "-fhip-new-launch-api",
                                         "--driver-mode=",
                                         "--cuda-include-ptx=",
                                         "--no-cuda-include-ptx=",
                                         "--gpu-max-threads-per-block=",
                                         "-save-temps",
                                         "--save-temps",
                                         "-Rpass",
                                         "-fsave-optimization-record",
                                         "-foptimization-record-file=",
                                         "-ftime-trace",
                                         "-fgpu-default-stream=",
                                         "-mcumode",
                                         "-mno-cumode"};

}  // namespace

const NvccOption* find_nvcc_option(std::string_view name) {
  auto row = nvcc_options().find(name);
  return row == nvcc_options().end() ? nullptr : &row->second;
}

bool nvcc_option_takes_value(std::string_view name) {
  const NvccOption* option = find_nvcc_option(name);
  return option && option->takes_value;
}

std::span<const ClangOption> clang_options() { return kClangOptions; }
std::span<const char* const> clang_dropped_options() { return kClangDropped; }

}  // namespace kernelift
