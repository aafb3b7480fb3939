// The Model Context Protocol over HTTP ("streamable HTTP" of its specification): each message of a client is a POST,
// whose answer is one JSON document, or a stream of events where progress is told; a client's conversation is a session
// with an id. It is served on the loopback interface only, to clients that have the token.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "cli/mcp/http/http_server.h"
#include "cli/mcp/protocol/session.h"

namespace kernelift::cli::mcp {

inline constexpr const char* kEndpointPath = "/mcp";

struct EndpointOptions {
  std::string server_version, token;
  std::chrono::seconds idle{3600};  ///< After so long without a request a session is over.
  size_t most_sessions = 1000;      ///< One more ends the one that has been idle longest.
};

class Endpoint {
 public:
  Endpoint(EventLoop& loop, Host& host, EndpointOptions options);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Status listen(uint16_t port) { return server_.listen(port); }
  std::string url() const;
  size_t sessions() const { return sessions_.size(); }

 private:
  /// Why a request is refused by its head; nothing, if it is not.
  std::optional<HttpAnswer> refusal(const HttpRequest& request) const;
  void received(const HttpRequest& request, const std::weak_ptr<HttpConnection>& connection);
  void begin(const HttpRequest& request, const std::weak_ptr<HttpConnection>& connection);
  void end_idle();

  struct Conversation {
    std::unique_ptr<Session> session;
    EventLoop::Clock::time_point used;
  };
  EventLoop& loop_;
  Host& host_;
  const EndpointOptions options_;
  std::map<std::string, Conversation> sessions_;  ///< By their ids.
  uint64_t timer_ = 0;
  HttpServer server_;
};

}  // namespace kernelift::cli::mcp
