// See nvcc_command.h. The tables of nvcc_options.h say what each option means; apply() below has a case for each
// meaning. An option that is in no table goes to the host compiler if nvcc was told so
// (-forward-unknown-to-host-compiler), else into `unknown`.
#include "core/toolchain/nvcc_command.h"

#include <algorithm>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/toolchain/nvcc_options.h"
#include "core/toolchain/nvcc_words.h"

namespace kernelift {
namespace fs = std::filesystem;

namespace {

using Meaning = OptionMeaning;
using enum OptionMeaning;

bool is_true(std::string_view value) { return value != "false" && value != "0"; }

SourceInput::Language language_of(const std::string& file, const std::string& forced, Dialect dialect) {
  using enum SourceInput::Language;
  if (forced == "cu" || forced == "cuda") return Cuda;
  if (forced == "hip") return Hip;
  if (forced == "c++" || forced == "cpp") return Cxx;
  if (forced == "c") return C;
  std::string extension = fs::path(file).extension().string();
  if (extension == ".cu" || extension == ".cuh") return dialect == Dialect::Hipcc ? Hip : Cuda;
  if (extension == ".hip") return Hip;
  if (extension == ".c") return C;
  for (const char* cxx : {".cpp", ".cc", ".cxx", ".c++", ".C", ".CPP", ".ii", ".hpp"})
    if (extension == cxx) return dialect == Dialect::Hipcc ? Hip : Cxx;
  return Object;
}

class CommandParser {
 public:
  /// Response files that the host compiler is given (-Xcompiler @file) are looked for in `folder`.
  CommandParser(Dialect dialect, fs::path folder) : folder_(std::move(folder)) { command_.dialect = dialect; }

  Result<CompilerCommand> parse(const std::vector<std::string>& words) {
    forwards_ = std::any_of(words.begin(), words.end(), [](const std::string& word) {
      return word.find("-forward-unknown-to-host-compiler") != std::string::npos || word == "-forward-unknown-opts" ||
             word == "--forward-unknown-opts";
    });
    for (at_ = 1; at_ < words.size(); ++at_) {
      const std::string& word = words[at_];
      if (word.empty()) continue;
      if (word[0] != '-' || word == "-") {
        command_.inputs.push_back({word, language_of(word, language_, command_.dialect)});
        continue;
      }
      Status status = command_.dialect == Dialect::Nvcc ? nvcc_word(words) : clang_word(words);
      if (!status.ok()) return std::move(status).error();
    }
    finish();
    return std::move(command_);
  }

 private:
  Result<std::string> value_of(const std::vector<std::string>& words, const std::string& option) {
    if (at_ + 1 >= words.size())
      return usage_error("the compiler option " + option + " needs a value and the command ends there");
    return words[++at_];
  }

  Status nvcc_word(const std::vector<std::string>& words) {
    const std::string& word = words[at_];
    std::string_view name = std::string_view(word).substr(word[1] == '-' ? 2 : 1);
    size_t equals = name.find('=');
    if (const NvccOption* option = find_nvcc_option(name.substr(0, equals))) {
      if (!option->takes_value) {
        if (equals != std::string_view::npos && !is_true(name.substr(equals + 1))) return done();
        return apply(option->meaning, word, "");
      }
      // -DX=1 is not handled here (its name is DX); -D=X does not exist.
      if (equals != std::string_view::npos) return apply(option->meaning, word, std::string(name.substr(equals + 1)));
      KERNELIFT_ASSIGN(std::string value, value_of(words, word));
      return apply(option->meaning, word, value);
    }
    // The value of a one-letter option may be joined to it; with two dashes it would be a long name.
    if (word[1] != '-') {
      static constexpr std::pair<char, Meaning> joined[] = {{'D', Define},        {'U', Undefine}, {'I', Include},
                                                            {'L', LibraryFolder}, {'l', Library},  {'O', Optimize}};
      for (auto [letter, meaning] : joined)
        if (word[1] == letter) return apply(meaning, word, word.substr(2));
      if (word.starts_with("-x") && word.size() > 2 && word != "-xc") return apply(Language, word, word.substr(2));
      if (word.starts_with("-t") && word.find_first_not_of("0123456789", 2) == std::string::npos)
        return apply(Drop, word, "");
      if (word.starts_with("-isystem")) return apply(SystemInclude, word, word.substr(8));
    }
    return unknown_word(word);
  }

  Status clang_word(const std::vector<std::string>& words) {
    const std::string& word = words[at_];
    for (const char* prefix : {"--offload-arch=", "--cuda-gpu-arch=", "--amdgpu-target=", "--gpu-architecture="})
      if (word.starts_with(prefix)) return apply(Architecture, word, word.substr(std::string(prefix).size()));
    for (const char* dropped : clang_dropped_options())
      if (word.starts_with(dropped)) return apply(Drop, word, "");
    if (word == "-fgpu-rdc" || word == "-fcuda-rdc") return apply(RelocatableSwitch, word, "");
    if (word == "-fno-gpu-rdc" || word == "-fno-cuda-rdc") {
      command_.relocatable = false;
      return done();
    }
    if (word == "-ffast-math" || word == "-Ofast" || word == "-fgpu-approx-transcendentals" ||
        word == "-fcuda-approx-transcendentals") {
      command_.use_fast_math = true;
      command_.host_flags.push_back(word);
      return done();
    }
    if (word == "-fgpu-flush-denormals-to-zero" || word == "-fcuda-flush-denormals-to-zero") {
      command_.ftz = true;
      return done();
    }
    if (word == "-ffp-contract=off") {
      command_.fmad = false;
      command_.host_flags.push_back(word);
      return done();
    }
    if (word == "--cuda-host-only" || word == "--offload-host-only") {
      command_.host_only = true;
      return done();
    }
    if (word == "-c") return apply(Compile, word, "");
    if (word == "-S") {
      command_.unknown.push_back(word);
      return done();
    }
    if (word == "-E") return apply(PreprocessAction, word, "");
    if (word == "-M" || word == "-MM") return apply(DependencyOnly, word, "");
    if (word == "-MD" || word == "-MMD" || word == "-MP" || word == "-MG") return apply(DependencySwitch, word, "");
    if (word == "--version" || word == "-version" || word == "--help" || word == "-dumpversion" ||
        word == "-dumpmachine" || word.starts_with("-print-") || word.starts_with("--print-"))
      return apply(QueryAction, word, "");
    if (word == "-v" || word == "--verbose") return apply(Verbose, word, "");
    if (word == "-###") return apply(DryRun, word, "");
    if (word == "--genco") {
      command_.unknown.push_back(word);
      return done();
    }
    if (word.starts_with("-std=") || word.starts_with("--std="))
      return apply(Standard, word, word.substr(word.find('=') + 1));
    if (word.starts_with("-O")) return apply(Optimize, word, word.substr(2));
    if (word.starts_with("-Wl,") || word == "-shared" || word == "-static" || word == "-rdynamic" ||
        word.starts_with("-static-lib") || word == "-pie" || word == "-no-pie" || word.starts_with("-fuse-ld=") ||
        word == "-nostdlib" || word == "-s")
      return apply(LinkFlag, word, "");
    if (word.starts_with("-g")) return apply(HostDebug, word, "");
    for (const ClangOption& option : clang_options()) {
      std::string_view name = option.name;
      if (word == name) {
        KERNELIFT_ASSIGN(std::string value, value_of(words, word));
        if (option.meaning == LinkFlag) command_.link_flags.push_back(word);
        return apply(option.meaning, word, value);
      }
      if (option.joined && word.starts_with(name)) return apply(option.meaning, word, word.substr(name.size()));
    }
    if (word.starts_with("-f") || word.starts_with("-m") || word.starts_with("-W") || word == "-w" ||
        word.starts_with("-pedantic") || word == "-pthread" || word == "-pg" || word == "-pipe" || word == "-ansi" ||
        word.starts_with("--sysroot") || word == "-nostdinc")
      return apply(HostFlag, word, "");
    command_.unknown.push_back(word);
    return done();
  }

  Status unknown_word(const std::string& word) {
    if (word.starts_with("-Wl,")) command_.link_flags.push_back(word);
    else if (word.starts_with("-D")) command_.preprocessor.push_back(word);
    else if (word == "-fopenmp" || word == "-pthread" || forwards_) return host_words({word});
    else command_.unknown.push_back(word);
    return done();
  }

  bool is_nvcc() const { return command_.dialect == Dialect::Nvcc; }

  /// The entries of an option's value that names files or libraries: nvcc takes lists.
  std::vector<std::string> listed_files(const std::string& value) const {
    return is_nvcc() ? split_nvcc_paths(value) : std::vector{value};
  }

  void files(const char* option, const std::string& value) {
    for (const std::string& file : listed_files(value)) preprocessor(option, file);
  }

  void macros(const char* option, const std::string& value) {
    if (!is_nvcc()) return preprocessor(option, value);
    for (const std::string& macro : split_nvcc_list(value)) preprocessor(option, host_compiler_macro(macro));
  }

  Status host_words(const std::vector<std::string>& entries) {
    std::vector<std::string> words{"g++"};
    for (std::string& word : host_compiler_words(entries)) words.push_back(std::move(word));
    KERNELIFT_ASSIGN(words, expand_response_files(words, folder_));
    for (size_t i = 1; i < words.size(); ++i) host_word(words[i]);
    return done();
  }

  /// A word for the host compiler; its preprocessor options apply to the device pass too.
  void host_word(const std::string& word) {
    if (take_preprocessor_) {
      host_preprocessor_.push_back(word);
      take_preprocessor_ = false;
    } else if (word == "-include" || word == "-isystem" || word == "-I" || word == "-D" || word == "-U" ||
               word == "-idirafter" || word == "-iquote") {
      host_preprocessor_.push_back(word);
      take_preprocessor_ = true;
    } else if (word.starts_with("-D") || word.starts_with("-U") || word.starts_with("-I") ||
               word.starts_with("-isystem")) {
      host_preprocessor_.push_back(word);
    } else if (word.starts_with("-Wl,") || word.starts_with("-L") || word == "-rdynamic" ||
               word == "-static-libstdc++" || word == "-static-libgcc") {
      command_.link_flags.push_back(word);
    } else {
      if (word.starts_with("-std=")) command_.standard = word.substr(5);
      if (word.starts_with("-O")) command_.optimization = word;
      command_.host_flags.push_back(word);
    }
  }

  void preprocessor(const char* option, const std::string& value) {
    // One-letter options are joined with their values, so that a macro is one word; the others stay two words.
    if (option[2] == '\0') {
      command_.preprocessor.push_back(option + value);
    } else {
      command_.preprocessor.push_back(option);
      command_.preprocessor.push_back(value);
    }
  }

  void architecture(std::string name) {
    if (name.starts_with("compute_")) name = "sm_" + name.substr(8);
    if (name.starts_with("lto_")) name = "sm_" + name.substr(4);
    if (size_t colon = name.find(':'); colon != std::string::npos) name.resize(colon);  // gfx90a:xnack+
    if (std::find(command_.architectures.begin(), command_.architectures.end(), name) == command_.architectures.end())
      command_.architectures.push_back(name);
  }

  /// arch=compute_90,code=[compute_90,sm_90]: the architectures are those of `code`, or `arch` if there is no `code`.
  void generate_code(const std::string& spec) {
    std::string text;
    for (char c : spec)
      if (c != '"' && c != '\'' && c != ' ' && c != '\\') text += c;
    size_t code = text.find("code=");
    if (code == std::string::npos) {
      size_t arch = text.find("arch=");
      if (arch != std::string::npos) architecture(text.substr(arch + 5, text.find(',', arch) - arch - 5));
      return;
    }
    std::string list = text.substr(code + 5);
    if (size_t arch = list.find(",arch="); arch != std::string::npos) list.resize(arch);
    std::erase_if(list, [](char c) { return c == '[' || c == ']'; });
    for (const std::string& name : split_nvcc_list(list)) architecture(name);
  }

  Status apply(Meaning meaning, const std::string& word, const std::string& value) {
    CompilerCommand& c = command_;
    switch (meaning) {
      case Define: macros("-D", value); break;
      case Undefine: macros("-U", value); break;
      case Include: files("-I", value); break;
      case SystemInclude: files("-isystem", value); break;
      case AfterInclude: preprocessor("-idirafter", value); break;
      case QuoteInclude: preprocessor("-iquote", value); break;
      case ForcedInclude: files("-include", value); break;
      case MacroInclude: preprocessor("-imacros", value); break;
      case Standard: c.standard = value; break;
      case Language:
        language_ = value == "none" ? "" : value;
        // nvcc's -x applies to every input, also to those before it.
        if (c.dialect == Dialect::Nvcc)
          for (SourceInput& input : c.inputs) input.language = language_of(input.file, language_, c.dialect);
        break;
      case Output: c.output = value; break;
      case OutputFolder: c.output_folder = value; break;
      case Architecture:
        for (const std::string& name : split_nvcc_list(value)) architecture(name);
        break;
      case Code:
        for (const std::string& name : split_nvcc_list(value)) codes_.push_back(name);
        break;
      case GenerateCode: generate_code(value); break;
      case HostWords: return host_words(split_nvcc_list(value));
      case LinkWords:
        for (const std::string& linker : is_nvcc() ? host_compiler_words(split_nvcc_list(value)) : std::vector{value}) {
          c.link_flags.push_back("-Xlinker");
          c.link_flags.push_back(linker);
        }
        break;
      case LibraryFolder:
        for (const std::string& folder : listed_files(value)) c.link_flags.push_back("-L" + folder);
        break;
      case Meaning::Library:
        for (const std::string& library : listed_files(value)) c.link_flags.push_back("-l" + library);
        break;
      case HostCompiler: c.host_compiler = value; break;
      case DependencyFile: c.dependency_flags.insert(c.dependency_flags.end(), {"-MF", value}); break;
      case DependencyTarget: c.dependency_flags.insert(c.dependency_flags.end(), {"-MT", value}); break;
      case DependencyQuotedTarget: c.dependency_flags.insert(c.dependency_flags.end(), {"-MQ", value}); break;
      case DependencySwitch:
        c.dependency_flags.push_back(word == "--generate-dependencies-with-compile"             ? "-MD"
                                     : word == "--generate-nonsystem-dependencies-with-compile" ? "-MMD"
                                     : word == "--generate-dependency-targets"                  ? "-MP"
                                                                                                : word);
        break;
      case DependencyOnly:
        c.dependency_flags.push_back(word == "--generate-dependencies"             ? "-M"
                                     : word == "--generate-nonsystem-dependencies" ? "-MM"
                                                                                   : word);
        c.action = Action::Preprocess;
        break;
      case Optimize: c.optimization = "-O" + value; break;
      case Relocatable: c.relocatable = is_true(value); break;
      case RelocatableSwitch: c.relocatable = true; break;
      case Ftz: c.ftz = is_true(value); break;
      case PrecDiv: c.prec_div = is_true(value); break;
      case PrecSqrt: c.prec_sqrt = is_true(value); break;
      case Fmad: c.fmad = is_true(value); break;
      case FastMath:
        c.use_fast_math = c.ftz = true;
        c.prec_div = c.prec_sqrt = false;
        break;
      case Lambda: c.extended_lambda = true; break;
      case Constexpr: c.relaxed_constexpr = true; break;
      case Debug: c.debug = true; break;
      case HostDebug: c.host_flags.push_back(word == "--debug" ? "-g" : word); break;
      case LineInfo: c.line_info = true; break;
      case Compile: c.action = Action::Compile; break;
      case DeviceCompile:
        c.action = Action::Compile;
        c.relocatable = true;
        break;
      case WholeCompile:
        c.action = Action::Compile;
        c.relocatable = false;
        break;
      case DeviceLinkAction: c.action = Action::DeviceLink; break;
      case LibraryAction: c.action = Action::Library; break;
      case PtxAction: c.action = Action::Ptx; break;
      case CubinAction: c.action = Action::Cubin; break;
      case FatbinAction: c.action = Action::Fatbin; break;
      case PreprocessAction: c.action = Action::Preprocess; break;
      case QueryAction:
        c.action = Action::Query;
        c.query = word;
        break;
      case Verbose: c.verbose = true; break;
      case DryRun: c.dry_run = c.verbose = true; break;
      case ForwardUnknown: break;
      case HostFlag:
        c.host_flags.push_back(word == "--disable-warnings" ? "-w" : word == "--profile" ? "-pg" : word);
        break;
      case LinkFlag: c.link_flags.push_back(value.empty() ? (word == "--shared" ? "-shared" : word) : value); break;
      case Drop: c.dropped.push_back(word); break;
      case DropWithValue: c.dropped.insert(c.dropped.end(), {word, value}); break;
      case ClangWord: c.host_flags.insert(c.host_flags.end(), {word, value}); break;
    }
    return done();
  }

  void finish() {
    // nvcc puts the host compiler's words before its own.
    command_.preprocessor.insert(command_.preprocessor.begin(), host_preprocessor_.begin(), host_preprocessor_.end());
    if (command_.architectures.empty())
      for (const std::string& code : codes_) architecture(code);
    // -M overrides -c; with -MD the file is compiled as well.
    bool only = std::any_of(command_.dependency_flags.begin(), command_.dependency_flags.end(),
                            [](const std::string& flag) { return flag == "-M" || flag == "-MM"; });
    if (only) command_.action = Action::Preprocess;
  }

  CompilerCommand command_;
  std::string language_;
  std::vector<std::string> codes_, host_preprocessor_;
  fs::path folder_;
  size_t at_ = 1;
  bool forwards_ = false, take_preprocessor_ = false;
};

Dialect dialect_of(const std::string& program) {
  std::string name = fs::path(program).filename().string();
  if (name.starts_with("nvcc")) return Dialect::Nvcc;
  if (name.starts_with("hipcc") || name.starts_with("amdclang")) return Dialect::Hipcc;
  return Dialect::Clang;
}

bool is_launcher(const std::string& program) {
  std::string name = fs::path(program).filename().string();
  return name == "ccache" || name == "sccache" || name == "distcc" || name == "icecc" || name == "buildcache";
}

/// The compiler behind launchers such as ccache.
std::string compiler_of(const std::vector<std::string>& argv) {
  auto compiler = std::find_if_not(argv.begin(), argv.end(), is_launcher);
  return compiler == argv.end() ? "" : *compiler;
}

Status expand(const std::vector<std::string>& argv, const fs::path& folder, Dialect dialect, int depth,
              std::vector<std::string>& out) {
  constexpr int kDeepest = 16;  // Response files that name each other would be read for ever.
  if (depth > kDeepest) return usage_error("response files are nested more than " + std::to_string(kDeepest) + " deep");
  for (size_t i = 0; i < argv.size(); ++i) {
    std::vector<std::string> files;
    const std::string& word = argv[i];
    if (word.size() > 1 && word[0] == '@' && dialect != Dialect::Nvcc) {
      files = {word.substr(1)};
    } else if (word.starts_with("--options-file=") || word.starts_with("-optf=")) {
      files = split_nvcc_paths(word.substr(word.find('=') + 1));
    } else if (word == "--options-file" || word == "-optf") {
      if (i + 1 >= argv.size()) return usage_error("the compiler option " + word + " needs a file");
      files = split_nvcc_paths(argv[++i]);
    } else {
      out.push_back(word);
    }
    for (const std::string& file : files) {
      fs::path path = folder / file;
      if (std::error_code ignored; !fs::exists(path, ignored))
        return usage_error("the response file " + path.string() +
                           " does not exist; run the build first, which writes it");
      auto text = read_text(path);
      if (!text.ok())
        return usage_error("cannot read the response file " + path.string() + ": " + text.error().message);
      std::vector<std::string> words =
          dialect == Dialect::Nvcc ? split_nvcc_options_file(*text) : split_response_file(*text);
      KERNELIFT_TRY(expand(words, folder, dialect, depth + 1, out));
    }
  }
  return done();
}

}  // namespace

std::vector<std::string> CompilerCommand::frontend_flags() const {
  std::vector<std::string> flags;
  if (!standard.empty()) flags.push_back("-std=" + standard);
  flags.insert(flags.end(), preprocessor.begin(), preprocessor.end());
  if (use_fast_math) flags.insert(flags.end(), {"-fgpu-approx-transcendentals", "-D__USE_FAST_MATH__=1"});
  // The host's code stays as it is.
  if (!prec_div) flags.insert(flags.end(), {"-Xarch_device", "-freciprocal-math"});
  if (ftz) flags.push_back("-fgpu-flush-denormals-to-zero");
  if (!fmad) flags.push_back("-ffp-contract=off");
  if (relocatable) flags.push_back("-fgpu-rdc");
  // The host's flags that change what the source means.
  for (const std::string& flag : host_flags)
    for (const char* language : {"-fno-exceptions", "-fno-rtti", "-funsigned-char", "-fsigned-char", "-fno-char8_t",
                                 "-fpermissive", "-fms-extensions", "-fchar8_t", "-pthread"})
      if (flag == language) flags.push_back(flag);
  return flags;
}

Result<std::vector<std::string>> expand_response_files(const std::vector<std::string>& argv, const fs::path& folder) {
  std::vector<std::string> out;
  KERNELIFT_TRY(expand(argv, folder, dialect_of(compiler_of(argv)), 0, out));
  return out;
}

Result<CompilerCommand> parse_compiler_command(const std::vector<std::string>& argv, const fs::path& folder,
                                               std::optional<Dialect> dialect_hint) {
  KERNELIFT_ASSIGN(std::vector<std::string> words, expand_response_files(argv, folder));
  while (words.size() > 1 && is_launcher(words[0])) words.erase(words.begin());
  if (words.empty()) return usage_error("an empty compiler command");
  return CommandParser(dialect_hint.value_or(dialect_of(words[0])), folder).parse(words);
}

}  // namespace kernelift
