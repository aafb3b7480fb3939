// The file-scope declarations of a translation unit as ranges of source text: the units in which a slice is cut.
// An item is the declarations that can only be taken together: `int a, b;` is one item, and so are all functions that
// one macro expands to. It extends from its attached comment to its ';' or '}', and lists the namespaces and extern "C"
// blocks around it.
#pragma once
#include <unordered_map>
#include <vector>

#include "extractor/source/parsed_unit.h"

namespace clang {
class Decl;
class DeclContext;
}  // namespace clang

namespace kernelift::extractor {

struct SourceItem {
  clang::FileID file;
  unsigned begin = 0, end = 0;            ///< Byte offsets, including the comments that belong to the item.
  unsigned code_begin = 0, code_end = 0;  ///< Byte offsets of the tokens only.
  std::vector<const clang::Decl*> declarations;
  std::vector<const clang::DeclContext*> scopes;  ///< Namespaces and linkage blocks, outermost first.
  bool from_macro = false;                        ///< Begins or ends inside a macro expansion.
};

/// EXPECTS: the ParsedUnit outlives this object.
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

/// Start of the comments directly above `begin`, with no blank line between; `begin`'s line start if there are none,
/// and `begin` itself if code precedes it on its line.
unsigned with_leading_comments(llvm::StringRef text, unsigned begin);
/// End of a comment that follows `end` on its line; `end` if there is none.
unsigned with_trailing_comment(llvm::StringRef text, unsigned end);

}  // namespace kernelift::extractor
