// See message.h.
#include "cli/mcp/protocol/message.h"

#include "core/base/shown/outside_text.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kShown = 200;  ///< Bytes of a client's words in an error.

std::variant<Message, ProtocolError> read_message(const Json& json) {
  ProtocolError error;
  auto invalid = [&](std::string why) {
    error.message = std::move(why);
    return error;
  };
  if (!json.is_object()) return invalid("a message is an object");
  Message message;
  const auto id = json.find("id"), method = json.find("method"), params = json.find("params");
  if (id != json.end()) {
    if (!id->is_string() && !id->is_number_integer()) return invalid("an id is a string or a whole number");
    message.id = error.id = *id;
  }
  const auto version = json.find("jsonrpc");
  if (version == json.end() || *version != "2.0") return invalid("jsonrpc is \"2.0\" in every message");
  if (method == json.end()) {
    if (!json.contains("result") && !json.contains("error")) return invalid("a request has a method");
    message.kind = Message::Kind::Response;
    return message;
  }
  if (!method->is_string()) return invalid("a method is a string");
  message.method = method->get<std::string>();
  message.kind = id == json.end() ? Message::Kind::Notification : Message::Kind::Request;
  if (params != json.end()) {
    if (!params->is_object()) {
      error.code = Code::InvalidParams;
      return invalid("params is an object");
    }
    message.params = *params;
  }
  return message;
}

}  // namespace

Frame read_frame(const std::string& line) {
  Frame frame;
  auto failed = [&](Code code, std::string why) {
    frame.messages = {ProtocolError{code, std::move(why)}};
    return frame;
  };
  auto json = parse_foreign_json(line, "this line is no JSON");
  if (!json.ok()) return failed(Code::Parse, shown_line(json.error().message, kShown));
  if (!json->is_array()) {
    frame.messages = {read_message(*json)};
    return frame;
  }
  if (json->empty()) return failed(Code::InvalidRequest, "a batch holds at least one message");
  frame.batch = true;
  for (auto& one : *json) frame.messages.push_back(read_message(one));
  return frame;
}

Json request_answer(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json error_answer(const ProtocolError& error) {
  return {{"jsonrpc", "2.0"},
          {"id", error.id},
          {"error", {{"code", static_cast<int>(error.code)}, {"message", shown_line(error.message)}}}};
}

Json notification(const char* method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace kernelift::cli::mcp
