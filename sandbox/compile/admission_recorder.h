// Where an admission's observers put what they find in a source, with the text and place of each.
#pragma once
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Lex/Lexer.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/compile/admission.h"

namespace kernelift::sandbox {

template <class Attribute>
bool is_written(const clang::Decl& decl) {
  auto* attribute = decl.getAttr<Attribute>();
  return attribute && !attribute->isImplicit();
}

/// Beside shared memory, which no host code sees.
inline bool is_device_variable(const clang::VarDecl& variable) {
  return is_written<clang::CUDADeviceAttr>(variable) || is_written<clang::CUDAConstantAttr>(variable) ||
         is_written<clang::HIPManagedAttr>(variable);
}

class AdmissionRecorder {
 public:
  AdmissionRecorder(clang::CompilerInstance& compiler, std::vector<AdmissionFinding>& findings)
      : sources_(compiler.getSourceManager()), language_(compiler.getLangOpts()), findings_(findings) {}

  bool in_source(clang::SourceLocation at) const {  // By file, ignoring #line.
    return at.isValid() && sources_.getFileID(sources_.getExpansionLoc(at)) == sources_.getMainFileID();
  }
  bool is_spelled_in_source(clang::SourceLocation at) const {
    return at.isValid() && sources_.getFileID(sources_.getSpellingLoc(at)) == sources_.getMainFileID();
  }

  void add(const char* rule, std::string text, clang::SourceLocation at, std::string why = {}) {
    auto place = sources_.getExpansionLoc(at);
    std::string name = std::filesystem::path(sources_.getFilename(place).str()).filename();
    findings_.push_back(
        {rule, std::move(text), name + ":" + std::to_string(sources_.getExpansionLineNumber(place)), std::move(why)});
  }

  std::string text(clang::SourceRange range) const {
    return clang::Lexer::getSourceText(
               clang::CharSourceRange::getTokenRange(sources_.getExpansionRange(range).getAsRange()), sources_,
               language_)
        .str();
  }
  /// The text with other words in place of some of its parts. A part that a macro spells stays as it is.
  std::string text_with(clang::SourceRange range,
                        const std::map<unsigned, std::pair<clang::SourceRange, std::string>>& parts) const {
    const std::string whole = text(range);
    const clang::SourceLocation begin = sources_.getExpansionLoc(range.getBegin());
    if (!sources_.isWrittenInSameFile(begin, sources_.getExpansionLoc(range.getEnd()))) return whole;
    const unsigned start = sources_.getFileOffset(begin), size = static_cast<unsigned>(whole.size());
    std::string changed;
    unsigned done = 0;
    for (auto& [place, part] : parts) {
      const auto& [inner, words] = part;
      if (inner.getBegin().isMacroID() || inner.getEnd().isMacroID()) continue;
      const unsigned from = sources_.getFileOffset(inner.getBegin()), to = sources_.getFileOffset(inner.getEnd()) + 1;
      if (from < start + done || to < from || to - start > size) continue;
      changed += whole.substr(done, from - start - done) + words;
      done = to - start;
    }
    return changed + whole.substr(done);
  }
  clang::SourceLocation begin() const { return sources_.getLocForStartOfFile(sources_.getMainFileID()); }
  clang::SourceLocation at(size_t offset) const { return begin().getLocWithOffset(static_cast<int>(offset)); }
  llvm::StringRef source() const { return sources_.getBufferData(sources_.getMainFileID()); }

 private:
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  std::vector<AdmissionFinding>& findings_;
};

}  // namespace kernelift::sandbox
