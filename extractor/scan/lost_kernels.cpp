// Tokens are read without the preprocessor, because the parse that failed may not have come so far.
#include "extractor/scan/lost_kernels.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/Lex/Lexer.h"
#include "core/model/kernel_key.h"

namespace kernelift::extractor {
namespace {

constexpr const char* kBegins = "not understood, or not used: ";

/// The tokens of one file, comments left out.
class Tokens {
 public:
  Tokens(const ParsedUnit& unit, clang::FileID file)
      : lexer_(file, unit.sources.getBufferOrFake(file), unit.sources, unit.context.getLangOpts()) {
    next();
  }
  bool at_end() const { return token_.is(clang::tok::eof); }
  bool is(clang::tok::TokenKind kind) const { return token_.is(kind); }
  llvm::StringRef word() const {
    return token_.is(clang::tok::raw_identifier) ? token_.getRawIdentifier() : llvm::StringRef();
  }
  unsigned offset(const ParsedUnit& unit) const { return unit.sources.getFileOffset(token_.getLocation()); }
  void next() { lexer_.LexFromRawLexer(token_); }
  /// To the token behind the parenthesis that closes the current one.
  void skip_parentheses() {
    int depth = 0;
    do {
      depth += is(clang::tok::l_paren) ? 1 : is(clang::tok::r_paren) ? -1 : 0;
      next();
    } while (depth > 0 && !at_end());
  }

 private:
  clang::Lexer lexer_;
  clang::Token token_;
};

struct Definition {
  std::string name;
  unsigned offset = 0;
};

/// From behind `__global__` to the function's body; no name if it is only declared.
Definition read_definition(const ParsedUnit& unit, Tokens& tokens) {
  Definition definition;
  llvm::StringRef last;
  while (!tokens.at_end() && !tokens.is(clang::tok::semi) && !tokens.is(clang::tok::l_brace)) {
    if (!tokens.is(clang::tok::l_paren)) {
      last = tokens.word();
      if (!last.empty() && !last.starts_with("__")) definition = {last.str(), tokens.offset(unit)};
      tokens.next();
      continue;
    }
    tokens.skip_parentheses();
    if (last.starts_with("__")) continue;  // __launch_bounds__(256), __attribute__((…)).
    return tokens.is(clang::tok::l_brace) ? definition : Definition{};
  }
  return {};
}

bool skipped(const ParsedUnit& unit, clang::FileID file, unsigned offset) {
  return std::ranges::any_of(unit.record.skipped, [&](const SkippedRecord& range) {
    return range.begin.file == file && range.begin.offset <= offset && offset < range.end;
  });
}

}  // namespace

std::vector<std::string> lost_kernels(const ParsedUnit& unit, const std::vector<ScannedKernel>& found) {
  std::set<std::pair<std::string, std::string>> known;  // Files and names.
  for (const ScannedKernel& kernel : found)
    known.emplace(kernel.definition.file, unqualified_name(base_name(kernel.key)));
  std::vector<clang::FileID> files{unit.sources.getMainFileID()};
  for (const IncludeRecord& include : unit.record.includes)
    if (include.entered.isValid()) files.push_back(include.entered);
  std::vector<std::string> lost;
  for (clang::FileID file : files) {
    if (!unit.is_user(file)) continue;
    Tokens tokens(unit, file);
    while (!tokens.at_end()) {
      bool begins = tokens.word() == "__global__" && !skipped(unit, file, tokens.offset(unit));
      tokens.next();
      if (!begins) continue;
      Definition definition = read_definition(unit, tokens);
      if (definition.name.empty() || !known.emplace(unit.path(file), definition.name).second) continue;
      lost.push_back(definition.name + " (" + std::filesystem::path(unit.path(file)).filename().string() + ":" +
                     std::to_string(unit.line(file, definition.offset)) + ")");
    }
  }
  return lost;
}

bool names_lost_kernel(const std::string& problem, const std::string& kernel) {
  size_t begins = problem.find(kBegins);
  return begins != problem.npos && (problem.find(" " + kernel + " (", begins) != problem.npos);
}

std::string lost_kernels_text(const std::vector<std::string>& lost) {
  std::string names;
  for (const std::string& one : lost) names += (names.empty() ? "" : ", ") + one;
  return names.empty() ? "" : (lost.size() == 1 ? "a kernel was " : "kernels were ") + (kBegins + names);
}

}  // namespace kernelift::extractor
