// One client's conversation by the Model Context Protocol: which message asks for what, and what it is answered. What
// the tools and resources are is the host's matter. Nothing that a client sends ends the conversation.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cli/mcp/protocol/call.h"
#include "cli/mcp/protocol/line_buffer.h"
#include "cli/mcp/protocol/message.h"

namespace kernelift::cli::mcp {

/// A tool as `tools/list` describes it.
struct ToolDescription {
  std::string name, title, description;
  Json arguments;            ///< Schema of an object; see schema.h.
  bool read_only = true;     ///< It changes nothing of the application.
  bool destructive = false;  ///< It may change or remove what was there.
  bool idempotent = true;    ///< Called again, it changes nothing more.
};

class Host {
 public:
  virtual ~Host() = default;
  virtual std::vector<ToolDescription> tools() const = 0;
  /// EXPECTS: `tool` is the name of one of tools(), and the call's arguments fit its schema.
  virtual void call(const std::string& tool, const CallPointer& call) = 0;
  /// Of the protocol's form: uri, name, mimeType...
  virtual Json resources() = 0;
  /// An Error: there is none of this URI, or it cannot be read.
  virtual Result<std::string> resource(const std::string& uri) = 0;
  /// How a model uses the tools, in a paragraph.
  virtual std::string instructions() const = 0;
};

/// Versions that are spoken, the newest last.
inline constexpr const char* kVersions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"};
bool is_known_version(const std::string& version);
/// Bytes of a message: a candidate's source, several times, fits.
inline constexpr size_t kLongestFrame = 8 << 20;

/// Where the answers to one frame go. It is held as long as something may still come, and so no longer when all of the
/// frame is answered or cancelled.
class Replies {
 public:
  virtual ~Replies() = default;
  /// An answer, or an array of them.
  virtual void answer(const Json& message) = 0;
  /// A notification about a request of the frame that is not answered yet.
  virtual void tell(const Json& message) = 0;
};
using RepliesPointer = std::shared_ptr<Replies>;

class Session {
 public:
  Session(Host& host, std::string server_version) : host_(host), server_version_(std::move(server_version)) {}
  /// Cancels its calls that are not over.
  ~Session();
  Session(const Session&) = delete;
  void receive(const LineBuffer::Line& line, const RepliesPointer& replies);
  bool initialized() const { return !version_.empty(); }
  bool busy() const { return !open_.empty(); }  ///< A call has no answer yet.

 private:
  void handle(const std::variant<Message, ProtocolError>& received, bool in_batch, const RepliesPointer& replies);
  void request(const Message& message, bool in_batch, const RepliesPointer& replies);
  void notified(const Message& message);
  Result<Json> initialize(const Json& params);
  void call_tool(const Message& message, const RepliesPointer& replies);
  void read_resource(const Message& message, const RepliesPointer& replies);
  void refuse(const ProtocolError& error, const RepliesPointer& replies) const;
  Json rendered(const ToolAnswer& answer) const;
  bool at_least(const char* version) const { return version_ >= version; }

  Host& host_;
  const std::string server_version_;
  std::string version_;                      ///< Of the protocol; empty before `initialize`.
  std::map<std::string, CallPointer> open_;  ///< Calls without an answer, by their ids as JSON.
};

}  // namespace kernelift::cli::mcp
