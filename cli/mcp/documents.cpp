// See documents.h.
#include "cli/mcp/documents.h"

#include <algorithm>

#include "cli/mcp/protocol/shortened.h"
#include "core/base/shown/secrets.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kMostDocuments = 64, kMostBytes = 64 << 20;
constexpr int kVersion = 1;  ///< Of all answers.

}  // namespace

ToolAnswer Documents::answer(const std::string& tool, const Json& members) {
  Json body = json_without_secrets(members);
  // A verb's own document says what it is, too.
  body.erase("format"), body.erase("version");
  Json head = {{"format", "kernelift-mcp-" + tool}, {"version", kVersion}}, whole = head;
  whole.update(body);
  if (compact(whole).size() <= kLongestAnswer) return {std::move(whole)};
  ToolAnswer answer;
  answer.resource = keep("The whole answer of " + tool, compact(whole));
  head["whole"] = answer.resource;
  head.update(body);
  answer.document = shortened(head, kLongestAnswer);
  return answer;
}

std::string Documents::keep(const std::string& title, std::string text) {
  Document document{"kernelift://answers/" + std::to_string(++last_), title, std::move(text)};
  bytes_ += document.text.size();
  kept_.push_back(std::move(document));
  while (kept_.size() > 1 && (kept_.size() > kMostDocuments || bytes_ > kMostBytes))
    bytes_ -= kept_.front().text.size(), kept_.pop_front();
  return kept_.back().uri;
}

const Documents::Document* Documents::find(const std::string& uri) const {
  auto found = std::ranges::find(kept_, uri, &Document::uri);
  return found == kept_.end() ? nullptr : &*found;
}

}  // namespace kernelift::cli::mcp
