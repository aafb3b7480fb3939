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
inline constexpr const char* kVersions[] = {"2024-11-05", "2025-03-26", "2025-06-18"};
/// Bytes of a message: a candidate's source, several times, fits.
inline constexpr size_t kLongestFrame = 8 << 20;

class Session {
 public:
  using Send = std::function<void(const Json&)>;
  Session(Host& host, std::string server_version, Send send)
      : host_(host), server_version_(std::move(server_version)), send_(std::move(send)) {}
  void receive(const LineBuffer::Line& line);

 private:
  struct Batch;
  using BatchPointer = std::shared_ptr<Batch>;
  void handle(const std::variant<Message, ProtocolError>& received, const BatchPointer& batch);
  void request(const Message& message, const BatchPointer& batch);
  void notified(const Message& message);
  Result<Json> initialize(const Json& params);
  void call_tool(const Message& message, const BatchPointer& batch);
  void read_resource(const Message& message, const BatchPointer& batch);
  void reply(Json answer, const BatchPointer& batch);
  void refuse(const Message& message, Code code, const std::string& why, const BatchPointer& batch);
  Json rendered(const ToolAnswer& answer) const;
  bool at_least(const char* version) const { return version_ >= version; }

  Host& host_;
  const std::string server_version_;
  const Send send_;
  std::string version_;  ///< Of the protocol; empty before `initialize`.
  struct Open {
    CallPointer call;
    BatchPointer batch;
  };
  std::map<std::string, Open> open_;  ///< Calls without an answer, by their ids as JSON.
};

}  // namespace kernelift::cli::mcp
