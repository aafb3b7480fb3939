// clang's declaration ranges leave out parts that belong to a declaration: leading attributes, the ';', further
// declarators, comments. The ranges are extended by lexing the raw text, never by printing the AST, so that the cut
// text is the original text to the byte.
#include "extractor/source/source_items.h"

#include <algorithm>

#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"

namespace kernelift::extractor {
namespace {

bool is_blank(llvm::StringRef text) { return text.trim(" \t\r\f\v").empty(); }

unsigned line_start(llvm::StringRef text, unsigned at) {
  while (at > 0 && text[at - 1] != '\n') --at;
  return at;
}

/// The function that `declaration` spells, through templates and extern "C".
const clang::FunctionDecl* function_of(const clang::Decl* declaration) {
  if (auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(declaration))
    for (auto* inner : linkage->decls()) return function_of(inner);
  if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(declaration)) return pattern->getTemplatedDecl();
  return llvm::dyn_cast<clang::FunctionDecl>(declaration);
}

/// `int n(3)`: clang's range of such a variable ends before the ')'.
unsigned past_initialiser(const clang::Decl* declaration, llvm::StringRef text, unsigned end) {
  auto* pattern = llvm::dyn_cast<clang::VarTemplateDecl>(declaration);
  auto* variable = pattern ? pattern->getTemplatedDecl() : llvm::dyn_cast<clang::VarDecl>(declaration);
  if (!variable || !variable->hasInit() || variable->getInitStyle() != clang::VarDecl::CallInit) return end;
  size_t next = text.find_first_not_of(" \t\r\n", end);
  return next != llvm::StringRef::npos && text[next] == ')' ? static_cast<unsigned>(next) + 1 : end;
}

bool ends_with_body(const clang::Decl* declaration) {
  auto* function = function_of(declaration);
  return function && function->doesThisDeclarationHaveABody() && !function->isDefaulted();
}

/// The offset past the ';' that ends a declaration whose last known token ends at `end`. A declaration that a macro
/// ends takes a ';' only if it follows at once (`only_if_next`).
unsigned past_semicolon(const ParsedUnit& unit, clang::FileID file, unsigned end, bool only_if_next) {
  llvm::StringRef text = unit.text(file);
  clang::Lexer lexer(unit.sources.getLocForStartOfFile(file), unit.context.getLangOpts(), text.begin(),
                     text.begin() + end, text.end());
  int depth = 0;
  clang::Token token;
  // The lexer says "end" already with the last token of a file that ends without a newline.
  for (bool last = false; !last;) {
    last = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof)) return end;
    unsigned begin = unit.sources.getFileOffset(token.getLocation());
    if (token.is(clang::tok::semi) && depth == 0) return begin + token.getLength();
    if (only_if_next || (token.is(clang::tok::hash) && token.isAtStartOfLine())) return end;
    if (token.isOneOf(clang::tok::l_paren, clang::tok::l_brace, clang::tok::l_square)) ++depth;
    if (token.isOneOf(clang::tok::r_paren, clang::tok::r_brace, clang::tok::r_square) && --depth < 0) return end;
  }
  return end;
}

}  // namespace

unsigned with_leading_comments(llvm::StringRef text, unsigned begin) {
  unsigned start = line_start(text, begin);
  if (!is_blank(text.slice(start, begin))) return begin;
  while (start > 0) {
    unsigned previous = line_start(text, start - 1);
    llvm::StringRef line = text.slice(previous, start).trim(" \t\r\n\f\v");
    if (line.starts_with("//")) {
      start = previous;
      continue;
    }
    if (!line.ends_with("*/")) break;
    size_t open = text.slice(0, start).rfind("/*");
    if (open == llvm::StringRef::npos) break;
    unsigned opening_line = line_start(text, open);
    if (!is_blank(text.slice(opening_line, open))) break;
    start = opening_line;
  }
  return start;
}

unsigned with_trailing_comment(llvm::StringRef text, unsigned end) {
  size_t newline = text.find('\n', end);
  if (newline == llvm::StringRef::npos) newline = text.size();
  llvm::StringRef rest = text.slice(end, newline);
  llvm::StringRef trimmed = rest.trim(" \t\r\f\v");
  if (trimmed.empty()) return end;
  // A line comment that ends with a backslash would swallow the next line; such a comment is not taken.
  bool comment = trimmed.starts_with("//") ? !trimmed.ends_with("\\")
                                           : trimmed.starts_with("/*") && trimmed.find("*/") == trimmed.size() - 2;
  return comment ? end + (trimmed.end() - rest.begin()) : end;
}

SourceItems::SourceItems(const ParsedUnit& unit) : unit_(unit) {
  std::vector<const clang::DeclContext*> scopes;
  collect(unit.context.getTranslationUnitDecl(), scopes);
  merge();
}

void SourceItems::collect(const clang::DeclContext* context, std::vector<const clang::DeclContext*>& scopes) {
  // Only declarations already in memory: the others come from a precompiled header, and none of them is the
  // application's.
  for (const clang::Decl* declaration : context->noload_decls()) {
    if (declaration->isImplicit() || declaration->getLocation().isInvalid()) continue;
    auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(declaration);
    bool block = llvm::isa<clang::NamespaceDecl>(declaration) || (linkage && linkage->hasBraces());
    // A namespace that a system macro opens contains text of the user's only if it begins in a user's file.
    if (!unit_.is_user(declaration->getBeginLoc())) continue;
    if (block) {
      auto* inner = llvm::cast<clang::DeclContext>(declaration);
      scopes.push_back(inner);
      collect(inner, scopes);
      scopes.pop_back();
    } else {
      add(declaration, scopes);
    }
  }
}

void SourceItems::add(const clang::Decl* declaration, const std::vector<const clang::DeclContext*>& scopes) {
  if (llvm::isa<clang::EmptyDecl>(declaration)) return;
  auto extent = unit_.extent(declaration->getSourceRange());
  if (!extent) return;
  auto [place, end] = *extent;
  unsigned begin = place.offset;
  for (auto* attribute : declaration->attrs()) {
    auto range = unit_.extent(attribute->getRange());
    if (range && range->first.file == place.file) {
      begin = std::min(begin, range->first.offset);
      end = std::max(end, range->second);
    }
  }
  llvm::StringRef text = unit_.text(place.file);
  // `[[attribute]]` ranges begin inside their brackets.
  if (begin < place.offset && begin >= 2 && text.slice(begin - 2, begin) == "[[") begin -= 2;
  bool macro_begin = declaration->getBeginLoc().isMacroID(), macro_end = declaration->getEndLoc().isMacroID();
  bool one_expansion = macro_begin && macro_end &&
                       unit_.sources.getExpansionLoc(declaration->getBeginLoc()) ==
                           unit_.sources.getExpansionLoc(declaration->getEndLoc());
  end = past_initialiser(declaration, text, end);
  if (!ends_with_body(declaration) || macro_end)
    end = past_semicolon(unit_, place.file, end, one_expansion || (macro_end && ends_with_body(declaration)));
  SourceItem item;
  item.file = place.file;
  item.code_begin = begin, item.code_end = end;
  item.begin = begin, item.end = end;
  item.declarations = {declaration};
  item.scopes = scopes;
  item.from_macro = one_expansion;
  items_.push_back(std::move(item));
}

void SourceItems::merge() {
  std::sort(items_.begin(), items_.end(), [](const SourceItem& a, const SourceItem& b) {
    if (a.file != b.file) return a.file < b.file;
    return a.code_begin != b.code_begin ? a.code_begin < b.code_begin : a.code_end > b.code_end;
  });
  std::vector<SourceItem> merged;
  for (auto& item : items_) {
    if (!merged.empty() && merged.back().file == item.file && item.code_begin < merged.back().code_end) {
      auto& into = merged.back();
      into.code_end = into.end = std::max(into.code_end, item.code_end);
      into.declarations.insert(into.declarations.end(), item.declarations.begin(), item.declarations.end());
    } else {
      merged.push_back(std::move(item));
    }
  }
  items_ = std::move(merged);
  for (size_t i = 0; i < items_.size(); ++i) {
    auto& item = items_[i];
    llvm::StringRef text = unit_.text(item.file);
    item.begin = with_leading_comments(text, item.code_begin);
    if (i > 0 && items_[i - 1].file == item.file) item.begin = std::max(item.begin, items_[i - 1].end);
    item.end = with_trailing_comment(text, item.code_end);
    for (auto* declaration : item.declarations) {
      index_[declaration] = static_cast<int>(i);
      if (auto* pattern = llvm::dyn_cast<clang::TemplateDecl>(declaration))
        if (pattern->getTemplatedDecl()) index_[pattern->getTemplatedDecl()] = static_cast<int>(i);
    }
  }
}

int SourceItems::of(const clang::Decl* declaration) const {
  for (const clang::Decl* at = declaration; at;) {
    if (auto found = index_.find(at); found != index_.end()) return found->second;
    auto* parent = at->getLexicalDeclContext();
    if (!parent || parent->isTranslationUnit()) return -1;
    at = clang::Decl::castFromDeclContext(parent);
    if (llvm::isa<clang::NamespaceDecl>(at)) return -1;
  }
  return -1;
}

}  // namespace kernelift::extractor
