// See parsed_text.h.
#include "tuner/source/rules/parsed_text.h"

#include <clang/Frontend/ASTUnit.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <llvm/Support/VirtualFileSystem.h>

#include <filesystem>
#include <mutex>

#include "core/compiler/clang_job.h"
#include "core/compiler/precompiled.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kDiagnostics = 2000;  ///< Characters of diagnostics kept.

/// clang's job for all texts with the same arguments.
struct Job {
  std::vector<std::string> words;
  Precompiled headers;  ///< Those that the job includes implicitly; no bytes: they are read with every text.
};

/// clang finds the text at this path, which is relative to the working folder, as are the arguments' folders.
std::string text_path() { return (std::filesystem::current_path() / "kernel.cu").string(); }

/// `leading`: with which the text begins, precompiled too.
Result<std::shared_ptr<const Job>> job_of(const std::vector<std::string>& arguments,
                                          const std::vector<std::string>& leading) {
  static std::mutex mutex;
  static KeptByFlags<Job> kept;
  std::vector<std::string> words{"-fsyntax-only"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.push_back(text_path());
  std::string key;
  for (auto& word : words) key += word + '\0';
  key += including(leading);
  std::lock_guard lock(mutex);
  if (auto known = kept.find(key)) return known;
  KERNELIFT_ASSIGN(auto jobs, clang_jobs(words));
  const Job job{std::move(jobs.front()), {}};
  // At the first use already: a source that is parsed is followed by its variants.
  return kept.make(key, [&] {
    std::vector<std::string> headers;
    for (size_t i = 0; i + 1 < job.words.size(); ++i)
      if (job.words[i] == "-include") headers.push_back(job.words[i + 1]);
    Job made{job.words, precompile(job.words, headers, {}, including(leading))};
    if (made.headers.bytes.empty()) return made;
    made.words = with_precompiled(made.words, headers);
    return made;
  });
}

/// nullptr if clang does not understand the job.
std::unique_ptr<clang::ASTUnit> read(const Job& job, const std::string& text, clang::DiagnosticConsumer& consumer) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::createPhysicalFileSystem());
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (auto& file : job.headers.files())
    memory->addFile(file.path, 0, llvm::MemoryBuffer::getMemBuffer(file.text, file.path, false));
  memory->addFile(text_path(), 0, llvm::MemoryBuffer::getMemBufferCopy(text, text_path()));
  files->pushOverlay(memory);
  auto options = std::make_shared<clang::DiagnosticOptions>();
  auto diagnostics = clang::CompilerInstance::createDiagnostics(*files, *options, &consumer, /*ShouldOwnClient=*/false);
  std::vector<const char*> words;
  for (auto& word : job.words) words.push_back(word.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, words, *diagnostics)) return nullptr;
  invocation->getFrontendOpts().DisableFree = invocation->getCodeGenOpts().DisableFree = false;
  return clang::ASTUnit::LoadFromCompilerInvocation(
      invocation, std::make_shared<clang::PCHContainerOperations>(), options, diagnostics,
      llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions(), files));
}

class Collector : public clang::DiagnosticConsumer {
 public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& diagnostic) override {
    DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
    if (level < clang::DiagnosticsEngine::Error || text.size() > kDiagnostics) return;
    llvm::SmallString<128> message;
    diagnostic.FormatDiagnostic(message);
    unsigned line = diagnostic.hasSourceManager()
                        ? diagnostic.getSourceManager().getSpellingLineNumber(diagnostic.getLocation())
                        : 0;
    text += (text.empty() ? "" : "\n") + std::string("line ") + std::to_string(line) + ": " + message.str().str();
  }
  std::string text;
};

}  // namespace

ParsedText::ParsedText() = default;
ParsedText::ParsedText(ParsedText&&) noexcept = default;
ParsedText& ParsedText::operator=(ParsedText&& other) noexcept {
  unit = std::move(other.unit);  // Before its headers.
  headers = std::move(other.headers);
  return *this;
}
ParsedText::~ParsedText() = default;

Result<ParsedText> parse_text(const std::string& text, const std::vector<std::string>& arguments) {
  Collector diagnostics;
  ParsedText parsed;
  std::vector<std::string> leading = leading_headers(text);
  KERNELIFT_ASSIGN(auto job, job_of(arguments, leading));
  if (!leading.empty() && job->headers.bytes.empty()) {
    KERNELIFT_ASSIGN(job, job_of(arguments, {}));
  }
  parsed.unit = read(*job, text, diagnostics);
  parsed.headers = std::move(job);
  if (!parsed.unit || diagnostics.getNumErrors() || parsed.unit->getDiagnostics().hasErrorOccurred())
    return environment_error("the kernel's text does not parse: " +
                             (diagnostics.text.empty() ? "no diagnostics" : diagnostics.text));
  // The unit outlives the collector.
  parsed.unit->getDiagnostics().setClient(new clang::IgnoringDiagConsumer);
  return parsed;
}

}  // namespace kernelift::tuner
