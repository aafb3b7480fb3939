// clang is driven in-process on one -cc1 job (the device pass). The device pass alone is enough for scanning: clang
// checks host bodies in it too, so launch sites, the kernels they instantiate, and device code are all in one AST, at
// half the price of two passes. Text that is active only on the host side (#ifndef __CUDA_ARCH__) is not seen.
#include "extractor/source/parsed_unit.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "clang/Driver/CreateInvocationFromArgs.h"
#include "clang/Lex/MacroArgs.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "clang/Serialization/ASTReader.h"
#include "core/base/file.h"
#include "core/compiler/paths.h"
#include "core/compiler/precompiled.h"
#include "core/toolchain/architecture.h"
#include "llvm/Support/MemoryBuffer.h"

namespace kernelift::extractor {
namespace {

namespace fs = std::filesystem;

// Messages kept per unit; further ones do not help the user.
constexpr size_t kProblemsKept = 5;

// Environment variables that name further folders in which clang looks for headers.
constexpr const char* kHeaderVariables[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};

std::string real(const fs::path& path) {
  std::error_code ignored;
  auto found = fs::weakly_canonical(path, ignored);
  return ignored ? path.string() : found.string();
}

/// clang knows a file's real path once it has opened the file, which it need not do for a precompiled header.
std::string real(clang::FileEntryRef file, clang::FileManager& files, bool precompiled) {
  if (auto name = file.getFileEntry().tryGetRealPathName(); !precompiled && !name.empty()) return name.str();
  llvm::SmallString<256> path = file.getName();
  files.makeAbsolutePath(path);
  return real(fs::path(path.str().str()));
}

/// Keeps the first errors as text and counts them all.
class ErrorCollector : public clang::DiagnosticConsumer {
 public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override {
    if (level < clang::DiagnosticsEngine::Error) return;
    ++errors;
    stopped |= level == clang::DiagnosticsEngine::Fatal;
    if (problems.size() >= kProblemsKept) return;
    llvm::SmallString<128> message;
    info.FormatDiagnostic(message);
    std::string where;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      auto presumed =
          info.getSourceManager().getPresumedLoc(info.getSourceManager().getExpansionLoc(info.getLocation()));
      if (presumed.isValid())
        where = std::string(presumed.getFilename()) + ":" + std::to_string(presumed.getLine()) + ": ";
    }
    problems.push_back(where + message.str().str());
  }
  void not_found(const clang::PresumedLoc& place, llvm::StringRef header) {
    ++errors;
    if (problems.size() < kProblemsKept)
      problems.push_back(
          (place.isValid() ? std::string(place.getFilename()) + ":" + std::to_string(place.getLine()) + ": " : "") +
          "'" + header.str() + "' file not found");
  }
  unsigned errors = 0;
  bool stopped = false;
  std::vector<std::string> problems;
};

/// Writes PreprocessorRecord. Locations inside macro bodies are reduced to the outermost expansion's position.
class Recorder : public clang::PPCallbacks {
 public:
  /// `missing`: collects headers that do not exist; if null, clang reports them itself.
  /// `after_precompiled`: precompiled headers come before the text that is observed.
  Recorder(clang::SourceManager& sources, clang::Preprocessor& preprocessor, PreprocessorRecord& record,
           ErrorCollector* missing, bool after_precompiled)
      : sources_(sources),
        preprocessor_(preprocessor),
        record_(record),
        missing_(missing),
        after_precompiled_(after_precompiled) {}

  void MacroDefined(const clang::Token& name, const clang::MacroDirective* directive) override {
    record_.definitions.push_back(
        {name.getIdentifierInfo()->getName().str(), directive->getMacroInfo(), name.getLocation()});
  }
  void MacroUndefined(const clang::Token& name, const clang::MacroDefinition&, const clang::MacroDirective*) override {
    record_.undefs.push_back({name.getIdentifierInfo()->getName().str(), name.getLocation()});
  }
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition& macro, clang::SourceRange range,
                    const clang::MacroArgs*) override {
    use(name, macro.getMacroInfo(), range.getEnd());
  }
  void Defined(const clang::Token& name, const clang::MacroDefinition& macro, clang::SourceRange) override {
    use(name, macro.getMacroInfo(), name.getLocation());
  }
  void If(clang::SourceLocation at, clang::SourceRange, ConditionValueKind) override {
    conditional(ConditionalRecord::Kind::If, at);
  }
  void Ifdef(clang::SourceLocation at, const clang::Token& name, const clang::MacroDefinition& macro) override {
    conditional(ConditionalRecord::Kind::If, at), use(name, macro.getMacroInfo(), name.getLocation());
  }
  void Ifndef(clang::SourceLocation at, const clang::Token& name, const clang::MacroDefinition& macro) override {
    conditional(ConditionalRecord::Kind::If, at), use(name, macro.getMacroInfo(), name.getLocation());
  }
  void Elif(clang::SourceLocation at, clang::SourceRange, ConditionValueKind, clang::SourceLocation) override {
    conditional(ConditionalRecord::Kind::Else, at);
  }
  void Elifdef(clang::SourceLocation at, const clang::Token& name, const clang::MacroDefinition& macro) override {
    conditional(ConditionalRecord::Kind::Else, at), use(name, macro.getMacroInfo(), name.getLocation());
  }
  void Elifdef(clang::SourceLocation at, clang::SourceRange, clang::SourceLocation) override {
    conditional(ConditionalRecord::Kind::Else, at);
  }
  void Elifndef(clang::SourceLocation at, const clang::Token& name, const clang::MacroDefinition& macro) override {
    conditional(ConditionalRecord::Kind::Else, at), use(name, macro.getMacroInfo(), name.getLocation());
  }
  void Elifndef(clang::SourceLocation at, clang::SourceRange, clang::SourceLocation) override {
    conditional(ConditionalRecord::Kind::Else, at);
  }
  void Else(clang::SourceLocation at, clang::SourceLocation) override {
    conditional(ConditionalRecord::Kind::Else, at);
  }
  void Endif(clang::SourceLocation at, clang::SourceLocation) override {
    conditional(ConditionalRecord::Kind::Endif, at);
  }
  void SourceRangeSkipped(clang::SourceRange range, clang::SourceLocation) override {
    FileOffset begin = place(range.getBegin());
    record_.skipped.push_back({begin, place(range.getEnd()).offset});
  }
  void PragmaDirective(clang::SourceLocation at, clang::PragmaIntroducerKind introducer) override {
    if (introducer == clang::PIK_HashPragma) record_.pragmas.push_back({at, hash_before(at)});
  }
  void InclusionDirective(clang::SourceLocation hash, const clang::Token&, llvm::StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef, llvm::StringRef,
                          const clang::Module*, bool, clang::SrcMgr::CharacteristicKind) override {
    IncludeRecord include;
    include.hash = place(hash);
    include.hash_location = hash;
    include.spelling = angled ? "<" + name.str() + ">" : "\"" + name.str() + "\"";
    if (file) include.path = real(*file, sources_.getFileManager(), after_precompiled_);
    else if (missing_) missing_->not_found(sources_.getPresumedLoc(hash), name);
    record_.includes.push_back(std::move(include));
    awaiting_ = true;
  }
  void FileChanged(clang::SourceLocation at, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason == EnterFile && awaiting_ && !record_.includes.empty())
      record_.includes.back().entered = sources_.getFileID(at);
    awaiting_ = false;
  }
  void FileSkipped(const clang::FileEntryRef&, const clang::Token&, clang::SrcMgr::CharacteristicKind) override {
    awaiting_ = false;
  }

 private:
  FileOffset place(clang::SourceLocation at) const {
    auto [file, offset] = sources_.getDecomposedLoc(sources_.getExpansionLoc(at));
    return {file, offset};
  }
  /// Directive callbacks point at the keyword; its '#' is before it on the line.
  FileOffset hash_before(clang::SourceLocation at) const {
    FileOffset found = place(at);
    llvm::StringRef text = sources_.getBufferData(found.file);
    while (found.offset > 0 && text[found.offset] != '#') --found.offset;
    return found;
  }
  void conditional(ConditionalRecord::Kind kind, clang::SourceLocation at) {
    record_.conditionals.push_back({kind, hash_before(at)});
  }
  void use(const clang::Token& name, const clang::MacroInfo* macro, clang::SourceLocation end) {
    MacroUseRecord use;
    use.name = name.getIdentifierInfo()->getName().str();
    use.macro = macro;
    use.location = name.getLocation();
    use.at = place(use.location);
    use.nested = use.location.isMacroID();
    auto last = sources_.getExpansionRange(end);
    auto [file, offset] = sources_.getDecomposedLoc(last.getEnd());
    use.end = file == use.at.file
                  ? offset + clang::Lexer::MeasureTokenLength(last.getEnd(), sources_, preprocessor_.getLangOpts())
                  : use.at.offset;
    record_.uses.push_back(std::move(use));
  }

  clang::SourceManager& sources_;
  clang::Preprocessor& preprocessor_;
  PreprocessorRecord& record_;
  ErrorCollector* missing_;
  bool after_precompiled_, awaiting_ = false;
};

bool under(const std::string& path, const std::string& folder) {
  return !folder.empty() && path.size() > folder.size() && path.compare(0, folder.size(), folder) == 0 &&
         (folder.back() == '/' || path[folder.size()] == '/');
}

/// Folders whose files are never the application's, wherever its root is.
const std::vector<std::string>& foreign_folders() {
  static const std::vector<std::string> folders = [] {
    std::vector<std::string> all = {real(lean_headers()), real(clang_resource_folder())};
    if (auto toolkit = cuda_toolkit()) all.push_back(real(*toolkit));
    return all;
  }();
  return folders;
}

bool is_foreign(const std::string& path) {
  return std::any_of(foreign_folders().begin(), foreign_folders().end(),
                     [&](auto& folder) { return under(path, folder); });
}

/// Skips the bodies of plain functions in our headers, clang's and the toolkit's: no stage needs them, and they take a
/// quarter of a small unit's parse time. Bodies of templates are parsed, because their instances may call functions of
/// the application.
class BodySkipper : public clang::ASTConsumer {
 public:
  explicit BodySkipper(const clang::SourceManager& sources) : sources_(sources) {}
  bool shouldSkipFunctionBody(clang::Decl* declaration) override {
    auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (!function || function->isTemplated()) return false;
    clang::FileID file = sources_.getFileID(sources_.getExpansionLoc(function->getLocation()));
    auto [at, fresh] = skipped_.try_emplace(file, false);
    if (!fresh) return at->second;
    auto entry = sources_.getFileEntryRefForID(file);
    return at->second = entry && is_foreign(entry->getFileEntry().tryGetRealPathName().str());
  }

 private:
  const clang::SourceManager& sources_;
  std::map<clang::FileID, bool> skipped_;
};

/// The forced headers, precompiled, with the facts that are known only while they are read as text.
struct ReadHeaders : Precompiled {
  std::vector<IncludeRecord> includes;  ///< FileIDs and locations relative to the start of the precompiled header.
  FileAnswers answers;
};

/// The settings that every parse adds to its command's own.
void set_up(clang::CompilerInvocation& invocation) {
  invocation.getDiagnosticOpts().ErrorLimit = 0;
  invocation.getDiagnosticOpts().IgnoreWarnings = true;
  invocation.getFrontendOpts().DisableFree = false;
  invocation.getFrontendOpts().SkipFunctionBodies = true;  // BodySkipper decides which ones.
}

ReadHeaders read_headers(const std::vector<std::string>& job, const std::vector<std::string>& headers) {
  ReadHeaders read;
  PreprocessorRecord record;
  PrecompileWatch watch;
  watch.begin = [&](clang::CompilerInstance& compiler) {
    set_up(compiler.getInvocation());
    compiler.getDiagnostics().setIgnoreAllWarnings(true);
    compiler.setVirtualFileSystem(read.answers.noting(compiler.getVirtualFileSystemPtr()));
  };
  watch.observer = [&](clang::CompilerInstance& compiler) {
    auto& preprocessor = compiler.getPreprocessor();
    preprocessor.addPPCallbacks(
        std::make_unique<Recorder>(compiler.getSourceManager(), preprocessor, record, nullptr, false));
    return std::make_unique<BodySkipper>(compiler.getSourceManager());
  };
  static_cast<Precompiled&>(read) = precompile(job, headers, watch);
  for (auto& file : read.files())
    for (auto* answers : {&read.answers.kinds, &read.answers.contents}) answers->erase(file.path);
  read.includes = std::move(record.includes);
  return read;
}

/// Parses, and hands the finished AST to the callback.
class ParseAction : public clang::ASTFrontendAction {
 public:
  /// `headers`: the unit's precompiled headers, or null.
  ParseAction(ErrorCollector& errors, const std::string& root, bool use_despite_errors, const ReadHeaders* headers,
              const std::function<void(ParsedUnit&)>& use)
      : errors_(errors), root_(root), use_despite_errors_(use_despite_errors), headers_(headers), use_(use) {}

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, llvm::StringRef) override {
    auto& preprocessor = compiler.getPreprocessor();
    // clang stops at the first missing header, which saves time if another header set is tried next. In the last
    // attempt a missing header is counted as an error and the rest is parsed: kernels seldom need it (MPI's, a
    // library's).
    preprocessor.SetSuppressIncludeNotFoundError(use_despite_errors_);
    preprocessor.addPPCallbacks(std::make_unique<Recorder>(compiler.getSourceManager(), preprocessor, record_,
                                                           use_despite_errors_ ? &errors_ : nullptr,
                                                           headers_ != nullptr));
    return std::make_unique<BodySkipper>(compiler.getSourceManager());
  }
  void ExecuteAction() override {
    clang::ASTFrontendAction::ExecuteAction();
    auto& compiler = getCompilerInstance();
    if (!compiler.hasASTContext() || (errors_.errors && !use_despite_errors_)) return;
    if (headers_) recall_includes();
    ParsedUnit unit(compiler.getASTContext(), compiler.getSourceManager(), compiler.getPreprocessor(), record_, root_);
    use_(unit);
  }

 private:
  /// Adds the includes of the precompiled headers, as if their text had been read here.
  void recall_includes() {
    auto reader = getCompilerInstance().getASTReader();
    auto& module = reader->getModuleManager().getPrimaryModule();
    std::vector<IncludeRecord> all = headers_->includes;
    for (auto& include : all) {
      include.hash.file = reader->TranslateFileID(module, include.hash.file);
      include.entered = reader->TranslateFileID(module, include.entered);
      include.hash_location = reader->TranslateSourceLocation(module, include.hash_location);
    }
    record_.includes.insert(record_.includes.begin(), all.begin(), all.end());
  }

  ErrorCollector& errors_;
  std::string root_;
  bool use_despite_errors_;
  const ReadHeaders* headers_;
  const std::function<void(ParsedUnit&)>& use_;
  PreprocessorRecord record_;
};

}  // namespace

bool ParsedUnit::is_user(clang::FileID file) const {
  if (file.isInvalid()) return false;
  auto [at, fresh] = user_.try_emplace(file.getHashValue(), false);
  if (!fresh) return at->second;
  std::string where = path(file);
  if (where.empty()) return false;
  if (is_foreign(where)) return false;
  bool system = clang::SrcMgr::isSystem(sources.getFileCharacteristic(sources.getLocForStartOfFile(file)));
  return at->second = !system || under(where, root_);
}

bool ParsedUnit::is_user(clang::SourceLocation location) const {
  return location.isValid() && is_user(sources.getFileID(sources.getExpansionLoc(location)));
}

bool ParsedUnit::is_of_command(clang::SourceLocation definition) const {
  if (definition.isInvalid() || !path(place(definition).file).empty()) return false;
  auto presumed = sources.getPresumedLoc(definition);
  llvm::SmallString<32> space;
  return presumed.isValid() && llvm::StringRef(presumed.getFilename()) == "<command line>" &&
         !preprocessor.getSpelling(definition, space).starts_with("_");  // A reserved name.
}

const std::string& ParsedUnit::path(clang::FileID file) const {
  auto [at, fresh] = paths_.try_emplace(file.getHashValue());
  if (auto entry = fresh ? sources.getFileEntryRefForID(file) : std::nullopt)
    at->second = real(*entry, sources.getFileManager(), !preprocessor.getPreprocessorOpts().ImplicitPCHInclude.empty());
  return at->second;
}

llvm::StringRef ParsedUnit::text(clang::FileID file) const { return sources.getBufferData(file); }

FileOffset ParsedUnit::place(clang::SourceLocation location) const {
  auto [file, offset] = sources.getDecomposedLoc(sources.getExpansionLoc(location));
  return {file, offset};
}

uint32_t ParsedUnit::line(clang::FileID file, unsigned offset) const {
  auto [at, fresh] = newlines_.try_emplace(file.getHashValue());
  if (fresh) {
    llvm::StringRef all = text(file);
    for (size_t i = all.find('\n'); i != llvm::StringRef::npos; i = all.find('\n', i + 1))
      at->second.push_back(static_cast<unsigned>(i));
  }
  return 1 + static_cast<uint32_t>(std::lower_bound(at->second.begin(), at->second.end(), offset) - at->second.begin());
}

SourceRange ParsedUnit::range(clang::FileID file, unsigned begin, unsigned end) const {
  return {path(file), begin, end, line(file, begin), line(file, end > begin ? end - 1 : end)};
}

std::optional<std::pair<FileOffset, unsigned>> ParsedUnit::extent(clang::SourceRange range) const {
  if (range.isInvalid()) return std::nullopt;
  FileOffset begin = place(range.getBegin());
  auto last = sources.getExpansionRange(range.getEnd()).getEnd();
  auto [file, offset] = sources.getDecomposedLoc(last);
  if (file != begin.file || offset < begin.offset) return std::nullopt;
  return std::pair(begin, offset + clang::Lexer::MeasureTokenLength(last, sources, context.getLangOpts()));
}

FrontendOptions frontend_options(const UnitCommand& unit, HeaderSet headers) {
  FrontendOptions options;
  options.file_name = unit.file;
  options.language = unit.hip ? "hip" : "cuda";
  if (!unit.hip) options.arch = unit.arch.empty() ? newest_architecture(unit.parsed) : unit.arch;
  options.headers = headers;
  options.flags = unit.parsed.frontend_flags();
  // A unit is parsed alone, and its slice is a whole program: relocatable code would only append the unit's identifier
  // to the names of its static variables and functions.
  std::erase(options.flags, "-fgpu-rdc");
  options.folder = unit.folder;
  options.debug_lines = false;
  return options;
}

namespace {

/// The clang command of one unit with one set of headers.
std::vector<std::string> arguments_of(const UnitCommand& unit, HeaderSet headers) {
  std::vector<std::string> arguments = frontend_arguments(frontend_options(unit, headers));
  arguments.insert(arguments.begin(), "clang++");
  arguments.insert(arguments.end(), {"-fsyntax-only", "-working-directory=" + unit.folder, unit.file});
  return arguments;
}

KeptByFlags<ReadHeaders>& headers_read() {
  static KeptByFlags<ReadHeaders> all;
  return all;
}

/// Everything that determines how the forced headers are parsed, except the contents of files.
std::string header_flags(const UnitCommand& unit, const std::vector<std::string>& arguments) {
  std::string flags;
  for (auto& word : arguments)
    if (word != unit.file) flags += word + '\n';
  for (const char* variable : kHeaderVariables) {
    const char* value = std::getenv(variable);
    flags += value ? value + std::string("\n") : "\n";
  }
  return flags;
}

/// Makes the job start from the precompiled header instead of the text of `headers`.
void begin_with(const Precompiled& read, const std::vector<std::string>& headers, clang::CompilerInvocation& invocation,
                llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files) {
  auto& preprocessing = invocation.getPreprocessorOpts();
  std::erase_if(preprocessing.Includes, [&](auto& one) { return std::ranges::count(headers, one) > 0; });
  preprocessing.ImplicitPCHInclude = kPrecompiledPath;
  preprocessing.DisablePCHOrModuleValidation = clang::DisableValidationForModuleKind::All;
  invocation.getLangOpts().PCHInstantiateTemplates = true;
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (auto& file : read.files())
    memory->addFile(file.path, 0, llvm::MemoryBuffer::getMemBuffer(file.text, file.path, false));
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(files);
  overlay->pushOverlay(memory);
  files = overlay;
}

/// clang's job for a unit: the words of its command, and the invocation that clang made of them.
struct Job {
  std::vector<std::string> words;
  std::shared_ptr<clang::CompilerInvocation> invocation;
};

Result<Job> job_of(const UnitCommand& unit, const std::vector<std::string>& arguments, ErrorCollector& errors,
                   llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files, FileAnswers* answers) {
  std::vector<const char*> words;
  for (auto& word : arguments) words.push_back(word.c_str());
  auto file_system = llvm::vfs::createPhysicalFileSystem();
  if (!unit.folder.empty() && file_system->setCurrentWorkingDirectory(unit.folder))
    return environment_error("the folder " + unit.folder +
                             " of a compile command does not exist; is the compile database stale?");
  files = std::move(file_system);
  if (answers) files = answers->noting(std::move(files));

  clang::DiagnosticOptions diagnostic_options;
  Job job;
  clang::CreateInvocationOptions how;
  how.VFS = files;
  how.Diags =
      clang::CompilerInstance::createDiagnostics(*files, diagnostic_options, &errors, /*ShouldOwnClient=*/false);
  how.RecoverOnError = true;
  how.CC1Args = &job.words;
  job.invocation = clang::createInvocation(words, how);
  if (!job.invocation)
    return environment_error("clang does not understand the compile command: " +
                             (errors.problems.empty() ? std::string("no compile job") : errors.problems.front()));
  set_up(*job.invocation);
  job.words.erase(job.words.begin());  // "-cc1".
  return job;
}

/// `again`: the same parse was tried before with another `use_despite_errors`; it is not a further use of the headers.
Result<ParseOutcome> parse_with(const UnitCommand& unit, HeaderSet set, const std::string& root,
                                bool use_despite_errors, bool again, const std::function<void(ParsedUnit&)>& use,
                                FileAnswers* answers) {
  const std::vector<std::string> arguments = arguments_of(unit, set),
                                 headers = forced_headers(frontend_options(unit, set));
  const std::string flags = header_flags(unit, arguments);
  ErrorCollector errors;
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files;
  KERNELIFT_ASSIGN(Job job, job_of(unit, arguments, errors, files, answers));
  auto read =
      again ? headers_read().find(flags) : headers_read().use(flags, [&] { return read_headers(job.words, headers); });
  if (read && read->bytes.empty()) read = nullptr;
  if (read) begin_with(*read, headers, *job.invocation, files);
  if (read && answers) answers->add(read->answers);

  clang::CompilerInstance compiler(std::move(job.invocation));
  compiler.setVirtualFileSystem(files);
  compiler.createDiagnostics(&errors, /*ShouldOwnClient=*/false);
  ParseAction action(errors, real(root), use_despite_errors, read.get(), use);
  compiler.ExecuteAction(action);
  return ParseOutcome{set, errors.errors, errors.problems, errors.stopped};
}

}  // namespace

std::string header_flags(const UnitCommand& unit) { return header_flags(unit, arguments_of(unit, HeaderSet::Lean)); }

void read_headers_ahead(const UnitCommand& unit) {
  const std::vector<std::string> arguments = arguments_of(unit, HeaderSet::Lean);
  ErrorCollector errors;
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files;
  auto job = job_of(unit, arguments, errors, files, nullptr);
  if (!job.ok()) return;
  for (int time = 0; time < 2; ++time)
    headers_read().use(header_flags(unit, arguments), [&] {
      return read_headers(job->words, forced_headers(frontend_options(unit, HeaderSet::Lean)));
    });
}

Result<ParseOutcome> parse_unit(const UnitCommand& unit, const std::string& root,
                                const std::function<void(ParsedUnit&)>& use, std::optional<HeaderSet> only,
                                FileAnswers* answers) {
  auto attempt = [&](HeaderSet headers, bool use_despite_errors, bool again = false) {
    return parse_with(unit, headers, root, use_despite_errors, again, use, answers);
  };
  if (only) return attempt(*only, true);
  if (!cuda_toolkit()) return attempt(HeaderSet::Lean, true);
  KERNELIFT_ASSIGN(auto lean, attempt(HeaderSet::Lean, false));
  if (lean.errors == 0) return lean;
  KERNELIFT_ASSIGN(auto toolkit, attempt(HeaderSet::Toolkit, false));
  if (toolkit.errors == 0) return toolkit;
  // As many errors but other ones: the toolkit's headers had the header or declaration that ours lacked.
  bool further = toolkit.errors < lean.errors || (toolkit.errors == lean.errors && toolkit.problems != lean.problems);
  if (lean.stopped != toolkit.stopped) further = lean.stopped;
  return attempt(further ? HeaderSet::Toolkit : HeaderSet::Lean, true, true);
}

Hash parse_identity(const UnitCommand& unit, const std::string& root, std::optional<HeaderSet> only) {
  Hasher hasher;
  hasher.add(real(root)).add(unit.folder).add(only ? *only == HeaderSet::Lean ? "lean" : "toolkit" : "either");
  for (auto headers : {HeaderSet::Lean, HeaderSet::Toolkit})
    for (auto& word : arguments_of(unit, headers)) hasher.add(word);
  for (auto& folder : foreign_folders()) hasher.add(folder);
  for (const char* variable : kHeaderVariables) {
    const char* value = std::getenv(variable);
    hasher.add(value ? value : "");
  }
  return hasher.finish();
}

}  // namespace kernelift::extractor
