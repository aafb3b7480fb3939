// The file system that clang reads is the disk's with the given texts in place of their files. FileManager and #include
// see a file by its inode; so does the replacement, because `src/../inc/a.h`, a symbolic link and a hard link name the
// same file.
//
// Numbers of lines are restored in clang's line table, as #line would, and not by text that is added to the file: added
// text would end a line that the patch left open (a backslash at its end, a comment), and the compared text must be the
// text that the application's compiler will read.
#include "core/compiler/host_half.h"

#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <algorithm>
#include <optional>

#include "core/compiler/clang_job.h"
#include "core/compiler/paths.h"
#include "core/compiler/precompiled.h"
#include "core/toolchain/architecture.h"

namespace kernelift {
namespace fs = std::filesystem;

namespace {

using Language = SourceInput::Language;

class GivenText : public llvm::vfs::File {
 public:
  GivenText(llvm::vfs::Status status, const std::string& text) : status_(std::move(status)), text_(text) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return status_; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t, bool, bool) override {
    return llvm::MemoryBuffer::getMemBufferCopy(text_, name);
  }
  std::error_code close() override { return {}; }

 private:
  llvm::vfs::Status status_;
  const std::string& text_;
};

/// The disk's files, with the given versions in place of theirs.
class GivenFiles : public llvm::vfs::ProxyFileSystem {
 public:
  GivenFiles(llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> disk, const std::vector<FileVersion>& files)
      : ProxyFileSystem(std::move(disk)), files_(files) {
    uint64_t fresh = 0;
    for (auto& file : files_) {
      auto there = getUnderlyingFS().status(file.path.string());
      // A file that does not exist yet gets an identity that no device has.
      identities_.push_back(there ? there->getUniqueID() : llvm::sys::fs::UniqueID(~uint64_t(0), ++fresh));
      exists_.push_back(bool(there));
    }
  }

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine& path) override {
    auto there = ProxyFileSystem::status(path);
    auto index = find(path, there);
    return index ? status_of(*index, path) : there;
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> openFileForRead(const llvm::Twine& path) override {
    auto index = find(path, ProxyFileSystem::status(path));
    if (!index) return ProxyFileSystem::openFileForRead(path);
    return std::make_unique<GivenText>(status_of(*index, path), files_[*index].text);
  }
  /// The given file with this identity.
  const FileVersion* find(llvm::sys::fs::UniqueID identity) const {
    auto found = std::ranges::find(identities_, identity);
    return found == identities_.end() ? nullptr : &files_[static_cast<size_t>(found - identities_.begin())];
  }

 private:
  std::optional<size_t> find(const llvm::Twine& path, const llvm::ErrorOr<llvm::vfs::Status>& there) {
    if (there) {
      auto found = std::ranges::find(identities_, there->getUniqueID());
      if (found == identities_.end()) return std::nullopt;
      return static_cast<size_t>(found - identities_.begin());
    }
    llvm::SmallString<256> absolute;
    path.toVector(absolute);
    (void)makeAbsolute(absolute);
    std::error_code ignored;
    fs::path real = fs::weakly_canonical(absolute.str().str(), ignored);
    for (size_t i = 0; i < files_.size(); ++i)
      if (!exists_[i] && files_[i].path == real) return i;
    return std::nullopt;
  }
  llvm::vfs::Status status_of(size_t index, const llvm::Twine& path) const {
    // One time for all versions, because __TIMESTAMP__ shows it.
    return {path,
            identities_[index],
            llvm::sys::TimePoint<>(),
            0,
            0,
            files_[index].text.size(),
            llvm::sys::fs::file_type::regular_file,
            llvm::sys::fs::perms::all_read};
  }

  const std::vector<FileVersion>& files_;
  std::vector<llvm::sys::fs::UniqueID> identities_;
  std::vector<bool> exists_;
};

/// Notes which of the given files are entered, and gives their lines the original's numbers.
class Entered : public clang::PPCallbacks {
 public:
  Entered(clang::SourceManager& sources, const GivenFiles& files, std::set<fs::path>& read)
      : sources_(sources), files_(files), read_(read) {}
  void FileChanged(clang::SourceLocation at, FileChangeReason reason, clang::SrcMgr::CharacteristicKind kind,
                   clang::FileID) override {
    if (reason != EnterFile) return;
    clang::FileID file = sources_.getFileID(at);
    auto entry = sources_.getFileEntryRefForID(file);
    const FileVersion* version = entry ? files_.find(entry->getUniqueID()) : nullptr;
    if (!version) return;
    read_.insert(version->path);
    for (auto& note : version->lines)
      sources_.AddLineNote(sources_.getLocForStartOfFile(file).getLocWithOffset(static_cast<int>(note.offset)),
                           note.next, -1, false, false, kind);
  }

 private:
  clang::SourceManager& sources_;
  const GivenFiles& files_;
  std::set<fs::path>& read_;
};

/// An action that looks at the preprocessor before it reads the main file.
template <class Action>
class Watched : public Action {
 public:
  template <class... Arguments>
  explicit Watched(const GivenFiles& files, std::set<fs::path>& read, Arguments&&... arguments)
      : Action(std::forward<Arguments>(arguments)...), files_(files), read_(read) {}

 protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessor().addPPCallbacks(std::make_unique<Entered>(compiler.getSourceManager(), files_, read_));
    return Action::BeginSourceFileAction(compiler);
  }

 private:
  const GivenFiles& files_;
  std::set<fs::path>& read_;
};

/// True for a host flag that clang knows and that may change what the host's source means.
bool matters(const std::string& flag) {
  static const std::set<std::string> kFlags = {"-ansi",
                                               "-fno-threadsafe-statics",
                                               "-fno-builtin",
                                               "-ffast-math",
                                               "-fwrapv",
                                               "-ftrapv",
                                               "-fshort-enums",
                                               "-fpack-struct",
                                               "-fno-access-control",
                                               "-ftrigraphs",
                                               "-trigraphs",
                                               "-fno-operator-names",
                                               "-fcoroutines",
                                               "-fno-strict-aliasing",
                                               "-ffreestanding",
                                               "-fvisibility=hidden",
                                               "-fvisibility-inlines-hidden"};
  return kFlags.contains(flag) || flag.starts_with("-march=") || flag.starts_with("-mavx") ||
         flag.starts_with("-msse") || flag.starts_with("-mfma");
}

bool is_gpu(const HostUnit& unit) { return unit.language == Language::Cuda || unit.language == Language::Hip; }

FrontendOptions frontend_of(const HostUnit& unit, HeaderSet headers) {
  FrontendOptions options;
  options.file_name = unit.file, options.folder = unit.folder, options.headers = headers;
  options.language = unit.language == Language::Hip ? "hip" : "cuda";
  if (unit.language == Language::Cuda) options.arch = newest_architecture(unit.command);
  options.flags = unit.command.frontend_flags();
  // Relocatable code would only append the unit's identifier to the names of its static variables and functions.
  std::erase(options.flags, "-fgpu-rdc");
  return options;
}

/// Warnings are not wanted, and a warning that the command makes an error must not stop the compile.
std::vector<std::string> arguments_of(const HostUnit& unit, HeaderSet headers) {
  const CompilerCommand& command = unit.command;
  std::vector<std::string> arguments;
  if (is_gpu(unit)) {
    arguments = frontend_arguments(frontend_of(unit, headers));
    std::ranges::replace(arguments, std::string("--cuda-device-only"), std::string("--cuda-host-only"));
  } else {
    bool c = unit.language == Language::C;
    arguments = {"-x", c ? "c" : "c++"};
    if (!command.standard.empty() && (!c || command.standard.find("++") == std::string::npos))
      arguments.push_back("-std=" + command.standard);
    if (command.dialect == Dialect::Nvcc)
      arguments.insert(arguments.end(), {"-D__NVCC__", "-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0"});
    arguments.insert(arguments.end(), command.preprocessor.begin(), command.preprocessor.end());
    if (auto toolkit = cuda_toolkit(); toolkit && headers == HeaderSet::Toolkit)
      arguments.insert(arguments.end(), {"-idirafter", (*toolkit / "include").string()});
    else arguments.insert(arguments.end(), {"-idirafter", lean_headers().string()});
  }
  // In C, the C library's headers would then use types that GCC has and clang has not.
  if (!unit.gcc.empty() && unit.language != Language::C) arguments.push_back("-fgnuc-version=" + unit.gcc);
  for (auto& flag : command.host_flags) {
    if (flag.starts_with("-fopenmp")) arguments.push_back("-fopenmp=libgomp");
    else if (matters(flag)) arguments.push_back(flag);
  }
  if (command.optimization == "-O0") arguments.insert(arguments.end(), {"-O0", "-Xclang", "-disable-O0-optnone"});
  else arguments.push_back("-O2");
  arguments.insert(arguments.end(), {"-Xclang", "-disable-llvm-passes", "-Xclang", "-disable-lifetime-markers", "-w",
                                     "-Wno-error", "-g0", "-S", "-emit-llvm", "-o", "-"});
  if (!unit.folder.empty()) arguments.push_back("-working-directory=" + unit.folder);
  arguments.push_back(unit.file);
  return arguments;
}

/// The headers that are included before every source take most of a compile, and a unit is compiled twice or more: they
/// are precompiled at once. None of them is a file of the application's.
std::shared_ptr<const Precompiled> headers_of(const HostUnit& unit, HeaderSet set, const std::vector<std::string>& job,
                                              const std::vector<std::string>& headers) {
  static KeptByFlags<Precompiled> kept;
  auto made = kept.make(flags_of(job, unit.file), [&] { return precompile(job, headers); });
  return made->bytes.empty() ? nullptr : made;
}

/// Runs an action on the unit; `act` gets the compiler and the files. `as_text`: no header is precompiled.
template <class Act>
Status run(const HostUnit& unit, HeaderSet set, const std::vector<FileVersion>& files, bool as_text, Act&& act) {
  KERNELIFT_ASSIGN(auto jobs, clang_jobs(arguments_of(unit, set)));
  std::vector<std::string> job = jobs.front();
  std::shared_ptr<const Precompiled> ready;
  if (!as_text && is_gpu(unit)) {
    const std::vector<std::string> headers = forced_headers(frontend_of(unit, set));
    ready = headers_of(unit, set, job, headers);
    if (ready) job = with_precompiled(job, headers);
  }
  auto ran = run_clang_job(job, {}, [&](clang::CompilerInstance& compiler) {
    llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> disk = llvm::vfs::createPhysicalFileSystem();
    if (ready) {
      auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
      for (auto& file : ready->files())
        memory->addFile(file.path, 0, llvm::MemoryBuffer::getMemBuffer(file.text, file.path, false));
      auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(disk);
      overlay->pushOverlay(memory);
      disk = overlay;
    }
    auto given = llvm::makeIntrusiveRefCnt<GivenFiles>(std::move(disk), files);
    compiler.setVirtualFileSystem(given);
    // __DATE__ and __TIME__ are those of the same second in every compile.
    compiler.getPreprocessorOpts().SourceDateEpoch = 0;
    return act(compiler, *given);
  });
  if (!ran.ok()) return std::move(ran).error();
  return done();
}

GivenPath paths_in(clang::CompilerInstance& compiler, const GivenFiles& given) {
  return [&sources = compiler.getSourceManager(), &given](clang::FileID id) -> const fs::path* {
    auto entry = sources.getFileEntryRefForID(id);
    auto* version = entry ? given.find(entry->getUniqueID()) : nullptr;
    return version ? &version->path : nullptr;
  };
}

/// Compiles, and notes the functions of the given files.
class Compiling : public Watched<clang::EmitLLVMOnlyAction> {
 public:
  Compiling(const GivenFiles& given, HostHalf& half, llvm::LLVMContext& context)
      : Watched(given, half.read, &context), given_(given), half_(half) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    std::vector<std::unique_ptr<clang::ASTConsumer>> both;
    both.push_back(note_device_functions(paths_in(compiler, given_), half_.device_functions));
    both.push_back(note_written_functions(paths_in(compiler, given_), half_.written));
    both.push_back(Watched::CreateASTConsumer(compiler, file));
    return std::make_unique<clang::MultiplexConsumer>(std::move(both));
  }

 private:
  const GivenFiles& given_;
  HostHalf& half_;
};

Result<HostHalf> compile(llvm::LLVMContext& context, const HostUnit& unit, HeaderSet headers,
                         const std::vector<FileVersion>& files) {
  HostHalf half;
  half.headers = headers;
  KERNELIFT_TRY(run(unit, headers, files, false, [&](clang::CompilerInstance& compiler, const GivenFiles& given) {
    Compiling action(given, half, context);
    if (!compiler.ExecuteAction(action)) return false;
    half.module = action.takeModule();
    return half.module != nullptr;
  }));
  return half;
}

void add_identifiers(llvm::StringRef text, const clang::LangOptions& language, std::set<std::string>& names) {
  // A raw lexer needs a text that ends in a null byte: SourceManager's buffers do.
  clang::Lexer lexer(clang::SourceLocation(), language, text.begin(), text.begin(), text.end());
  clang::Token token;
  do {
    lexer.LexFromRawLexer(token);
    if (!token.is(clang::tok::raw_identifier)) continue;
    if (!token.needsCleaning()) {
      names.insert(token.getRawIdentifier().str());
      continue;
    }
    std::string plain;
    for (char c : token.getRawIdentifier())
      if (c != '\\' && c != '\n' && c != '\r') plain += c;
    names.insert(plain);
  } while (token.isNot(clang::tok::eof));
}

/// Notes the headers that are not found.
class Missing : public clang::PPCallbacks {
 public:
  explicit Missing(std::set<std::string>& names) : names_(names) {}
  bool FileNotFound(llvm::StringRef name) override {
    names_.insert(name.str());
    return true;  // A header that is missing ends the reading of nothing else: what can be read is.
  }

 private:
  std::set<std::string>& names_;
};

class Reading : public Watched<clang::PreprocessOnlyAction> {
 public:
  Reading(const GivenFiles& given, HostText& text, bool identifiers)
      : Watched(given, text.read), text_(text), identifiers_(identifiers) {}

 protected:
  void ExecuteAction() override {
    auto& compiler = getCompilerInstance();
    compiler.getPreprocessor().addPPCallbacks(std::make_unique<Missing>(text_.missing));
    Watched::ExecuteAction();
    auto& sources = compiler.getSourceManager();
    for (unsigned i = 0; identifiers_ && i < sources.local_sloc_entry_size(); ++i) {
      auto& entry = sources.getLocalSLocEntry(i);
      if (!entry.isFile()) continue;
      auto buffer = entry.getFile().getContentCache().getBufferIfLoaded();
      if (!buffer) continue;
      std::set<std::string> names;
      add_identifiers(buffer->getBuffer(), compiler.getLangOpts(), names);
      // "<built-in>" is the compiler's.
      const bool own = entry.getFile().getFileCharacteristic() == clang::SrcMgr::C_User &&
                       !buffer->getBufferIdentifier().starts_with("<");
      if (own) text_.own_identifiers.insert(names.begin(), names.end());
      text_.identifiers.merge(names);
    }
    for (auto& macro : compiler.getPreprocessor().macros()) {
      const std::string name = macro.first->getName().str();
      text_.identifiers.insert(name);
      if (compiler.getPreprocessor().isMacroDefined(macro.first)) text_.macros.insert(name);
    }
  }

 private:
  HostText& text_;
  bool identifiers_;
};

HeaderSet other(HeaderSet set) { return set == HeaderSet::Lean ? HeaderSet::Toolkit : HeaderSet::Lean; }

}  // namespace

Result<HostHalf> compile_host_half(llvm::LLVMContext& context, const HostUnit& unit,
                                   const std::vector<FileVersion>& files, bool only) {
  auto half = compile(context, unit, unit.headers, files);
  if (half.ok() || only || !cuda_toolkit()) return half;
  auto again = compile(context, unit, other(unit.headers), files);
  return again.ok() ? std::move(again) : std::move(half);
}

namespace {

class Using : public Watched<clang::SyntaxOnlyAction> {
 public:
  Using(const GivenFiles& given, std::set<fs::path>& read, const std::set<WrittenFunction>& known,
        const std::string& added, std::vector<HostUse>& uses)
      : Watched(given, read), given_(given), known_(known), added_(added), uses_(uses) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    return note_host_uses(paths_in(compiler, given_), known_, added_, uses_);
  }

 private:
  const GivenFiles& given_;
  const std::set<WrittenFunction>& known_;
  const std::string& added_;
  std::vector<HostUse>& uses_;
};

}  // namespace

Result<std::vector<HostUse>> host_uses(const HostUnit& unit, const std::vector<FileVersion>& files,
                                       const std::set<WrittenFunction>& known, const std::string& added) {
  std::vector<HostUse> uses;
  std::set<fs::path> read;
  KERNELIFT_TRY(run(unit, unit.headers, files, false, [&](clang::CompilerInstance& compiler, const GivenFiles& given) {
    compiler.getDiagnostics().setErrorLimit(0);
    Using action(given, read, known, added, uses);
    compiler.ExecuteAction(action);
    return true;
  }));
  return uses;
}

HostText readable_host_text(const HostUnit& unit, const std::vector<FileVersion>& files, bool identifiers) {
  HostText text;
  auto ran =
      run(unit, unit.headers, files, identifiers, [&](clang::CompilerInstance& compiler, const GivenFiles& given) {
        Reading action(given, text, identifiers);
        return compiler.ExecuteAction(action);
      });
  if (!ran.ok()) text.failure = std::move(ran).error();
  return text;
}

Result<HostText> read_host_text(const HostUnit& unit, const std::vector<FileVersion>& files, bool identifiers) {
  HostText text = readable_host_text(unit, files, identifiers);
  if (text.failure) return std::move(*text.failure);
  return text;
}

}  // namespace kernelift
