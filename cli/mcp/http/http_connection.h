// One connection of HTTP/1.1, on an event loop: bytes become requests, one at a time, and answers become bytes, as fast
// as the client takes them. The form of messages is Boost.Beast's matter.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/mcp/event_loop.h"
#include "cli/mcp/http/http_message.h"

namespace kernelift::cli::mcp {

struct HttpLimits {
  size_t head = 16 << 10, body = 8 << 20;  ///< Bytes; more is answered with 431 and 413.
  std::chrono::seconds idle{60};           ///< For a whole request to come, or an answer to be taken.
};

class HttpConnection {
 public:
  struct Handlers {
    /// Looks at a request whose head alone has come: an answer ends the connection before its body is taken.
    std::function<std::optional<HttpAnswer>(const HttpRequest&)> head;
    std::function<void(HttpRequest)> request;
    std::function<void()> closed;  ///< The last call; may destroy the connection.
  };
  /// `socket` is non-blocking, and is closed with this.
  HttpConnection(EventLoop& loop, int socket, HttpLimits limits, Handlers handlers);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;

  /// Answers the request that was handed over last. Then the next one is read.
  void answer(const HttpAnswer& answer);
  /// Answers it by a body that comes in parts, and ends with the connection.
  void begin_stream(const HttpAnswer& head);
  void stream(const std::string& part);
  void end_stream();

 private:
  struct Parsing;
  void read();
  void parse();
  void send(std::string bytes, bool last);
  void write();
  void wait_at_most(std::chrono::seconds time);
  void close();

  EventLoop& loop_;
  int socket_;
  const HttpLimits limits_;
  const Handlers handlers_;
  std::unique_ptr<Parsing> parsing_;
  std::string unread_, unsent_;
  bool answering_ = false;  ///< A request has been handed over and is not answered.
  bool keeps_ = true;       ///< The client wants to send more requests.
  bool last_ = false;       ///< The connection ends when all is sent.
  uint64_t timer_ = 0;
};

}  // namespace kernelift::cli::mcp
