// See http_server.h.
#include "cli/mcp/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kernelift::cli::mcp {
namespace {

/// Connections at a time; a further one waits in the kernel's queue until one of them is over.
constexpr size_t kMostConnections = 256;

Error socket_error(uint16_t port) {
  return environment_error("cannot listen on 127.0.0.1:" + std::to_string(port) + ": " + std::strerror(errno) +
                           "; port 0 takes any free one");
}

}  // namespace

HttpServer::~HttpServer() {
  connections_.clear();
  if (socket_ < 0) return;
  loop_.forget(socket_);
  close(socket_);
}

Status HttpServer::listen(uint16_t port) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(port), address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(socket_, plain, size) != 0 || ::listen(socket_, SOMAXCONN) != 0 || getsockname(socket_, plain, &size) != 0)
    return socket_error(port);
  port_ = ntohs(address.sin_port);
  loop_.watch(socket_, [this] { accept(); });
  return {};
}

void HttpServer::accept() {
  const int client = accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) return;  // It has gone already.
  const int yes = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);  // Events are told when they happen.
  HttpConnection::Handlers handlers;
  handlers.head = head_;
  handlers.request = [this, client](HttpRequest request) { request_(std::move(request), connections_.at(client)); };
  handlers.closed = [this, client] {
    connections_.erase(client);
    loop_.watch(socket_, [this] { accept(); });
  };
  connections_[client] = std::make_shared<HttpConnection>(loop_, client, limits_, std::move(handlers));
  if (connections_.size() >= kMostConnections) loop_.forget(socket_);
}

}  // namespace kernelift::cli::mcp
