// See device_arguments.h. nvcc_options.h says which options take a value, so that a value is not taken for an input
// file.
#include "core/toolchain/device_arguments.h"

#include <cctype>
#include <set>
#include <string_view>

#include "core/toolchain/nvcc_options.h"

namespace kernelift {
namespace {

using Names = std::set<std::string_view>;

/// Options for files, linking, architectures, messages and intermediate files: left out, with their values.
const Names kDropped = {"o",
                        "output-file",
                        "odir",
                        "output-directory",
                        "arch",
                        "gpu-architecture",
                        "code",
                        "gpu-code",
                        "gencode",
                        "generate-code",
                        "Xlinker",
                        "linker-options",
                        "L",
                        "library-path",
                        "l",
                        "library",
                        "MF",
                        "dependency-output",
                        "MT",
                        "dependency-target-name",
                        "MQ",
                        "x",
                        "Xnvlink",
                        "nvlink-options",
                        "Xfatbin",
                        "fatbin-options",
                        "Xarchive",
                        "archive-options",
                        "archiver-binary",
                        "arbin",
                        "t",
                        "threads",
                        "keep-dir",
                        "cudart",
                        "cudadevrt",
                        "split-compile",
                        "split-compile-extended",
                        "time",
                        "fdevice-time-trace",
                        "compress-mode",
                        "qpp-config",
                        "run-args",
                        "host-linker-script",
                        "hls",
                        "c",
                        "compile",
                        "dw",
                        "device-w",
                        "dlink",
                        "device-link",
                        "lib",
                        "link",
                        "run",
                        "ptx",
                        "cubin",
                        "fatbin",
                        "E",
                        "preprocess",
                        "MD",
                        "MMD",
                        "MP",
                        "M",
                        "MM",
                        "generate-dependencies-with-compile",
                        "generate-nonsystem-dependencies-with-compile",
                        "generate-dependencies",
                        "generate-nonsystem-dependencies",
                        "generate-dependency-targets",
                        "v",
                        "verbose",
                        "dryrun",
                        "dry-run",
                        "keep",
                        "save-temps",
                        "res-usage",
                        "resource-usage",
                        "shared",
                        "clean",
                        "clean-targets",
                        "objdir-as-tempdir",
                        "objtemp",
                        "nodlink",
                        "no-device-link",
                        "no-compress"};
/// Left out although they change device code; the report says so.
const Names kCannotRepeat = {"dlto", "dlink-time-opt", "lto", "gen-opt-lto", "ewp", "extensible-whole-program"};

/// "-I/usr/include", "-lm", "-O3": a letter with its value joined on.
bool joined(std::string_view name, char letter) { return name.size() > 1 && name[0] == letter; }

}  // namespace

std::vector<std::string> device_arguments(const std::vector<std::string>& command, std::vector<std::string>& left_out) {
  std::vector<std::string> kept;
  bool after_program = false;
  for (size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word.empty()) continue;
    if (word[0] != '-' || word == "-") {
      // The first words are launchers such as ccache, and nvcc itself; later ones are input files.
      if (after_program) left_out.push_back(word);
      after_program = true;
      continue;
    }
    std::string_view name = std::string_view(word).substr(word.size() > 1 && word[1] == '-' ? 2 : 1);
    size_t equals = name.find('=');
    std::string_view plain = name.substr(0, equals);
    bool next = equals == name.npos && i + 1 < command.size() && nvcc_option_takes_value(plain);
    if (kDropped.contains(plain)) {
      left_out.push_back(next ? word + " " + command[i + 1] : word);
      i += next ? 1 : 0;
    } else if (plain == "dc" || plain == "device-c") {
      kept.push_back("-rdc=true");
    } else if (kCannotRepeat.contains(plain)) {
      left_out.push_back(word + " (changes device code, and is not repeated)");
    } else if (nvcc_option_takes_value(plain)) {
      kept.push_back(word);
      if (next) kept.push_back(command[++i]);
    } else if ((joined(name, 'l') || joined(name, 'L')) && word[1] != '-') {
      // A word with two dashes is a long option, and "-lineinfo" is not a library.
      if (name.starts_with("lineinfo")) kept.push_back(word);
      else left_out.push_back(word);
    } else if (joined(name, 't') && std::isdigit(static_cast<unsigned char>(name[1]))) {
      left_out.push_back(word);
    } else {
      kept.push_back(word);
    }
  }
  return kept;
}

}  // namespace kernelift
