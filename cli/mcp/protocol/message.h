// Messages of JSON-RPC 2.0, as lines of text. Whatever a line holds, it becomes messages or errors to answer with.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "core/base/json.h"

namespace kernelift::cli::mcp {

/// Codes of JSON-RPC, and the one that the Model Context Protocol adds.
enum class Code {
  Parse = -32700,
  InvalidRequest = -32600,
  NoMethod = -32601,
  InvalidParams = -32602,
  NoResource = -32002,
};

struct Message {
  enum class Kind { Request, Notification, Response };
  Kind kind = Kind::Request;
  Json id;                       ///< A string or a whole number; null for a notification.
  std::string method;            ///< Empty for a response.
  Json params = Json::object();  ///< An object; what was left out is an empty one.
};

struct ProtocolError {
  Code code = Code::InvalidRequest;
  std::string message;  ///< A sentence.
  Json id = nullptr;    ///< Of the request, if it could be read.
};

struct Frame {
  bool batch = false;  ///< The messages are to be answered together, in an array.
  std::vector<std::variant<Message, ProtocolError>> messages;
};

Frame read_frame(const std::string& line);

Json request_answer(const Json& id, Json result);
Json error_answer(const ProtocolError& error);
Json notification(const char* method, Json params);

}  // namespace kernelift::cli::mcp
