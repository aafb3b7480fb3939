// What tools answered, whole: their answers are cut to what a model reads, and the rest is a resource that it can ask
// for. The oldest are forgotten as new ones come.
#pragma once
#include <deque>
#include <string>

#include "cli/mcp/protocol/call.h"

namespace kernelift::cli::mcp {

class Documents {
 public:
  struct Document {
    std::string uri, title, text;
  };
  /// A tool's answer, with `format` and `version` at its head. One that is too long is kept, and what is answered says
  /// where it is.
  ToolAnswer answer(const std::string& tool, const Json& members);
  /// Keeps a text; returns its URI.
  std::string keep(const std::string& title, std::string text);
  const std::deque<Document>& kept() const { return kept_; }
  const Document* find(const std::string& uri) const;

 private:
  std::deque<Document> kept_;
  size_t bytes_ = 0, last_ = 0;
};

}  // namespace kernelift::cli::mcp
