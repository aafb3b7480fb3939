// One translation unit as clang's device pass sees it: the AST, and beside it what the preprocessor did (every macro
// defined, undefined and used; every include; every conditional; every pragma), which the AST forgets and source-level
// slicing lives on. All of it is alive only inside the callback of parse_unit(): nothing of clang's outlives a parse.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "clang/Basic/SourceManager.h"
#include "core/base/hash.h"
#include "core/base/result.h"
#include "core/compiler/frontend.h"
#include "core/model/scan/scan_index.h"
#include "extractor/source/compile_database.h"
#include "extractor/source/file_answers.h"

namespace clang {
class ASTContext;
class MacroInfo;
class Preprocessor;
}  // namespace clang

namespace kernelift::extractor {

/// A position in one entered file. A header that is entered twice has two FileIDs, because its text may mean something
/// else each time.
struct FileOffset {
  clang::FileID file;
  unsigned offset = 0;
};

struct MacroDefinitionRecord {
  std::string name;
  const clang::MacroInfo* macro = nullptr;
  clang::SourceLocation location;  ///< The name's own location, in its file.
};
struct MacroUseRecord {
  std::string name;
  const clang::MacroInfo* macro = nullptr;  ///< nullptr if undefined there (#ifdef) or the compiler's own.
  FileOffset at;                            ///< Position of the outermost expansion.
  clang::SourceLocation location;           ///< The use itself: inside another macro's body for a nested one.
  unsigned end = 0;                         ///< Past the whole outermost expansion, arguments included.
  bool nested = false;
};
struct UndefRecord {
  std::string name;
  clang::SourceLocation location;
};
struct IncludeRecord {
  FileOffset hash;        ///< Position of the '#'.
  std::string spelling;   ///< With its quotes or angle brackets.
  std::string path;       ///< The file found; empty if none was.
  clang::FileID entered;  ///< Invalid when an include guard or #pragma once skipped it.
  clang::SourceLocation hash_location;
};
struct ConditionalRecord {
  enum class Kind { If, Else, Endif } kind = Kind::If;  ///< Else also covers #elif, #elifdef and #elifndef.
  FileOffset hash;
};
struct SkippedRecord {
  FileOffset begin;
  unsigned end = 0;
};
struct PragmaRecord {
  clang::SourceLocation location;
  FileOffset hash;
};

/// What the preprocessor did, in the order it did it.
struct PreprocessorRecord {
  std::vector<MacroDefinitionRecord> definitions;
  std::vector<MacroUseRecord> uses;
  std::vector<UndefRecord> undefs;
  std::vector<IncludeRecord> includes;
  std::vector<ConditionalRecord> conditionals;
  std::vector<SkippedRecord> skipped;
  std::vector<PragmaRecord> pragmas;
};

/// EXPECTS: lives inside parse_unit's callback.
class ParsedUnit {
 public:
  ParsedUnit(clang::ASTContext& context, clang::SourceManager& sources, clang::Preprocessor& preprocessor,
             const PreprocessorRecord& record, const std::string& root)
      : context(context), sources(sources), preprocessor(preprocessor), record(record), root_(root) {}

  clang::ASTContext& context;
  clang::SourceManager& sources;
  clang::Preprocessor& preprocessor;
  const PreprocessorRecord& record;

  /// The application's root folder.
  const std::string& root() const { return root_; }
  /// True for the application's own files: not a toolkit's, the system's, clang's or ours.
  bool is_user(clang::FileID file) const;
  bool is_user(clang::SourceLocation location) const;
  /// True for a macro's name that the application's compile command defines (-D), and not the compiler or ours.
  bool is_of_command(clang::SourceLocation definition) const;
  /// Absolute real path; empty for text without a file.
  const std::string& path(clang::FileID file) const;
  llvm::StringRef text(clang::FileID file) const;
  FileOffset place(clang::SourceLocation location) const;  ///< Outermost expansion, decomposed.
  /// Counted by line feeds, as editors and patches do; clang also counts a carriage return without a line feed.
  uint32_t line(clang::FileID file, unsigned offset) const;
  SourceRange range(clang::FileID file, unsigned begin, unsigned end) const;
  /// Bytes [begin, end) that `range` covers, outermost expansions; nothing if it spans two files.
  std::optional<std::pair<FileOffset, unsigned>> extent(clang::SourceRange range) const;

 private:
  std::string root_;
  mutable std::unordered_map<unsigned, bool> user_;
  mutable std::unordered_map<unsigned, std::string> paths_;
  mutable std::unordered_map<unsigned, std::vector<unsigned>> newlines_;  ///< Offsets of the line feeds, by file.
};

struct ParseOutcome {
  HeaderSet headers = HeaderSet::Lean;  ///< The set that was used.
  unsigned errors = 0;
  std::vector<std::string> problems;  ///< The first errors, "file:line: message".
  bool stopped = false;               ///< A missing header ended the parse; the text after it was not read.
};

/// The front end's options for a unit: shared by scan, slice and proof so that all three see one program.
FrontendOptions frontend_options(const UnitCommand& unit, HeaderSet headers);

/// Parses `unit` and calls `use` once, on the best parse there is: our lean headers if the unit parses clean with them,
/// else whichever of ours and the toolkit's gives fewer errors (a partial AST is still worth having). `only` forces one
/// set. The file system's answers during the parse are noted in `answers`.
Result<ParseOutcome> parse_unit(const UnitCommand& unit, const std::string& root,
                                const std::function<void(ParsedUnit&)>& use,
                                std::optional<HeaderSet> only = std::nullopt, FileAnswers* answers = nullptr);

/// The headers that are forced in before a unit's source are precompiled when a process parses its second unit with the
/// same flags. This function precompiles them now, so that processes forked later inherit them for every unit with the
/// same header_flags().
void read_headers_ahead(const UnitCommand& unit);
std::string header_flags(const UnitCommand& unit);

/// Hash of everything that determines parse_unit()'s result, except the contents of files.
Hash parse_identity(const UnitCommand& unit, const std::string& root, std::optional<HeaderSet> only);

}  // namespace kernelift::extractor
