// Listens on this machine's own address and has connections; what their requests mean is the handlers' matter.
#pragma once
#include <map>

#include "cli/mcp/http/http_connection.h"
#include "core/base/result.h"

namespace kernelift::cli::mcp {

class HttpServer {
 public:
  using Head = std::function<std::optional<HttpAnswer>(const HttpRequest&)>;
  /// The connection is gone where the client has closed it meanwhile.
  using Request = std::function<void(HttpRequest, std::weak_ptr<HttpConnection>)>;
  HttpServer(EventLoop& loop, HttpLimits limits, Head head, Request request)
      : loop_(loop), limits_(limits), head_(std::move(head)), request_(std::move(request)) {}
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  /// On 127.0.0.1; port 0 is any free one. An Error: the port is taken, or may not be used.
  Status listen(uint16_t port);
  uint16_t port() const { return port_; }  ///< After listen().

 private:
  void accept();

  EventLoop& loop_;
  const HttpLimits limits_;
  const Head head_;
  const Request request_;
  int socket_ = -1;
  uint16_t port_ = 0;
  std::map<int, std::shared_ptr<HttpConnection>> connections_;
};

}  // namespace kernelift::cli::mcp
