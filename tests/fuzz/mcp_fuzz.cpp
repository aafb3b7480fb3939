// Any bytes from a client of `kernelift mcp`: every message has an answer of JSON-RPC's form, or none where none is
// due, and the conversation goes on.
#include "cli/mcp/protocol/session.h"

#include "cli/mcp/protocol/shortened.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;
using namespace kernelift::cli;

namespace {

/// Two tools: one answers at once, with what it was given, one never.
class FuzzedHost : public mcp::Host {
 public:
  std::vector<mcp::ToolDescription> tools() const override {
    const Json arguments = {
        {"type", "object"},
        {"properties",
         {{"text", {{"type", "string"}, {"maxLength", 100}}},
          {"list", {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"maxItems", 3}}}}},
        {"required", Json::array({"text"})}};
    return {{"echo", "Echo", "", arguments}, {"wait", "Wait", "", arguments}};
  }
  void call(const std::string& tool, const mcp::CallPointer& call) override {
    fuzz::require(call->arguments.at("text").is_string(), "arguments fit the schema");
    call->progress("begun");
    if (tool == "echo") call->answer({mcp::shortened({{"format", "echo"}, {"given", call->arguments}}, 200)});
  }
  Json resources() override { return Json::array(); }
  Result<std::string> resource(const std::string& uri) override {
    return uri == "kernelift://one" ? Result<std::string>(std::string("{}")) : usage_error("there is none");
  }
  std::string instructions() const override { return "none"; }
};

void check(const Json& message) {
  if (message.is_array()) {
    fuzz::require(!message.empty(), "a batch of answers is not empty");
    for (auto& one : message) check(one);
    return;
  }
  fuzz::require(message.value("jsonrpc", "") == "2.0", "every message says its version");
  if (message.contains("method")) return fuzz::require(!message.contains("id"), "the server asks nothing");
  fuzz::require(message.contains("id") || message.contains("error"), "a result has an id");
  fuzz::require(message.contains("result") != message.contains("error"), "an answer is a result or an error");
  if (message.contains("error"))
    fuzz::require(message["error"]["code"].is_number_integer() && !message["error"]["message"].empty(),
                  "an error has a code and a sentence");
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedHost host;
  size_t pings = 0;
  struct Checked : mcp::Replies {
    explicit Checked(size_t& pings) : pings(pings) {}
    void answer(const Json& message) override {
      check(message);
      pings += message.is_object() && message.contains("id") && message["id"] == "the last ping";
    }
    void tell(const Json& message) override { check(message); }
    size_t& pings;
  };
  const auto replies = std::make_shared<Checked>(pings);
  mcp::Session session(host, "0");
  mcp::LineBuffer lines(4096);
  // In two parts, wherever: a read may end anywhere.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t cut = size ? data[0] % size : 0;
  for (auto part : {bytes.substr(0, cut), bytes.substr(cut), std::string_view("\n")}) {
    lines.add(part);
    while (auto line = lines.next()) session.receive(*line, replies);
  }
  session.receive({R"({"jsonrpc":"2.0","id":"the last ping","method":"ping"})"}, replies);
  fuzz::require(pings >= 1, "a ping is answered whatever came before");
  return 0;
}
