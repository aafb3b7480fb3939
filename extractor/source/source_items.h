// The file-scope declarations of a translation unit as ranges of source text: the units in which a slice is cut.
// An item is everything that must be taken together: `int a, b;` is one, so are all functions that one macro expands
// to. It runs from its attached comment to its ';' or '}', and knows the namespaces and extern "C" blocks it stands in.
#pragma once
#include <unordered_map>
#include <vector>

#include "extractor/source/parsed_unit.h"

namespace clang {
class Decl;
class DeclContext;
}  // namespace clang

namespace kernelift {

struct SourceItem {
  clang::FileID file;
  unsigned begin = 0, end = 0;            ///< With the comments that belong to it.
  unsigned code_begin = 0, code_end = 0;  ///< Tokens only.
  std::vector<const clang::Decl*> declarations;
  std::vector<const clang::DeclContext*> scopes;  ///< Namespaces and linkage blocks, outermost first.
  bool from_macro = false;                        ///< Begins or ends inside a macro expansion.
};

/// EXPECTS: outlived by the ParsedUnit.
class SourceItems {
 public:
  explicit SourceItems(const ParsedUnit& unit);
  const std::vector<SourceItem>& all() const { return items_; }
  const SourceItem& operator[](int index) const { return items_[index]; }
  /// The item in whose text `declaration` is spelled, or -1 if it is not in the application's files.
  int of(const clang::Decl* declaration) const;

 private:
  void collect(const clang::DeclContext* context, std::vector<const clang::DeclContext*>& scopes);
  void add(const clang::Decl* declaration, const std::vector<const clang::DeclContext*>& scopes);
  void merge();

  const ParsedUnit& unit_;
  std::vector<SourceItem> items_;
  std::unordered_map<const clang::Decl*, int> index_;
};

/// Start of the comments that stand directly above `begin`, no blank line between; `begin`'s line start if there are
/// none.
unsigned with_leading_comments(llvm::StringRef text, unsigned begin);
/// Past a comment that trails `end` on its line; `end` if code follows.
unsigned with_trailing_comment(llvm::StringRef text, unsigned end);

}  // namespace kernelift
