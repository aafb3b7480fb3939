// See http_connection.h.
#include "cli/mcp/http/http_connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/beast/http.hpp>
#include <cctype>
#include <cerrno>
#include <sstream>
#include <utility>

namespace http = boost::beast::http;

namespace kernelift::cli::mcp {
namespace {

/// Bytes that wait for a client that takes none; a client that lets more of them come has gone astray.
constexpr size_t kMostUnsent = 64 << 20;
constexpr std::chrono::seconds kLinger{2};

HttpRequest request_of(const http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = message.method_string().to_string();
  const std::string target = message.target().to_string();
  request.path = target.substr(0, target.find('?'));
  for (auto& field : message) {
    std::string name = field.name_string().to_string();
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::string& value = request.fields[name];
    if (!value.empty()) value += ", ";
    value += field.value().to_string();
  }
  return request;
}

template <class Message>
void fill(Message& message, const HttpAnswer& answer, bool keeps) {
  message.version(11);
  message.result(answer.status);
  for (auto& [name, value] : answer.fields) message.set(name, value);
  message.set(http::field::connection, keeps ? "keep-alive" : "close");
}

std::string bytes_of(const HttpAnswer& answer, bool keeps) {
  http::response<http::string_body> message;
  fill(message, answer, keeps);
  message.body() = answer.body;
  message.prepare_payload();
  std::ostringstream text;
  text << message;
  return text.str();
}

}  // namespace

struct HttpConnection::Parsing {
  explicit Parsing(const HttpLimits& limits) {
    parser.header_limit(static_cast<std::uint32_t>(limits.head));
    parser.body_limit(limits.body);
    parser.eager(true);
  }
  http::request_parser<http::string_body> parser;
  bool head_seen = false;
};

HttpConnection::HttpConnection(EventLoop& loop, int socket, HttpLimits limits, Handlers handlers)
    : loop_(loop),
      socket_(socket),
      limits_(limits),
      handlers_(std::move(handlers)),
      parsing_(std::make_unique<Parsing>(limits)) {
  loop_.watch(socket_, [this] { read(); });
  wait_at_most(limits_.idle);
}

HttpConnection::~HttpConnection() {
  loop_.drop(timer_);
  loop_.forget(socket_);
  ::close(socket_);
}

void HttpConnection::wait_at_most(std::chrono::seconds time) {
  loop_.drop(timer_);
  timer_ = loop_.at(EventLoop::Clock::now() + time, [this] { close(); });
}

void HttpConnection::close() {
  const auto closed = handlers_.closed;
  closed();
}

void HttpConnection::read() {
  char buffer[1 << 16];
  const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close();
  if (last_) return;  // What follows an answer that ends the connection is dropped.
  unread_.append(buffer, static_cast<size_t>(got));
  parse();
}

void HttpConnection::parse() {
  if (answering_ || last_) return;
  auto& [parser, head_seen] = *parsing_;
  boost::beast::error_code error;
  size_t used = 0;
  while (used < unread_.size() && !parser.is_done() && !error)
    used += parser.put(boost::asio::buffer(unread_.data() + used, unread_.size() - used), error);
  unread_.erase(0, used);
  if (error == http::error::need_more) error = {};
  if (error) {
    unsigned status = 400;
    if (error == http::error::body_limit) status = 413;
    if (error == http::error::header_limit) status = 431;
    keeps_ = false;
    return answer({status, {{"Content-Type", "text/plain"}}, "this is no request that is taken: " + error.message()});
  }
  if (parser.is_header_done() && !std::exchange(head_seen, true)) {
    if (auto refused = handlers_.head(request_of(parser.get()))) {
      keeps_ = parser.is_done() && parser.keep_alive();
      return answer(*refused);
    }
    if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue"))
      send("HTTP/1.1 100 Continue\r\n\r\n", false);
  }
  if (!parser.is_done()) return;
  HttpRequest request = request_of(parser.get());
  request.body = std::move(parser.get().body());
  keeps_ = parser.keep_alive(), answering_ = true;
  // Until it is answered nothing is read: a client has one request at a time on a connection, and what it sends
  // meanwhile may wait. The connection's end is seen when the answer is written.
  loop_.forget(socket_), loop_.drop(std::exchange(timer_, 0));
  handlers_.request(std::move(request));
}

void HttpConnection::answer(const HttpAnswer& answer) {
  answering_ = false;
  parsing_ = std::make_unique<Parsing>(limits_);
  send(bytes_of(answer, keeps_), !keeps_);
}

void HttpConnection::begin_stream(const HttpAnswer& head) {
  http::response<http::empty_body> message;
  fill(message, head, false);
  std::ostringstream text;
  text << message.base();
  send(text.str(), false);
}

void HttpConnection::stream(const std::string& part) {
  send(part, false);
  if (unsent_.size() > kMostUnsent) wait_at_most(std::chrono::seconds(0));
}

void HttpConnection::end_stream() { send("", true); }

void HttpConnection::send(std::string bytes, bool last) {
  last_ = last_ || last;
  unsent_ += bytes;
  // From the loop, and never from here: whoever sends may be in the middle of what a closed connection would undo.
  loop_.watch_writable(socket_, [this] { write(); });
  if (!answering_ || last_) wait_at_most(limits_.idle);
}

void HttpConnection::write() {
  if (!unsent_.empty()) {
    const ssize_t sent = ::send(socket_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent < 0) return close();
    unsent_.erase(0, static_cast<size_t>(sent));
  }
  if (!unsent_.empty()) return;
  loop_.forget_writable(socket_);
  if (answering_ && !last_) return;
  loop_.watch(socket_, [this] { read(); });
  // The client closes, or time does: closed now, with something unread, the answer might be lost on its way.
  if (last_) ::shutdown(socket_, SHUT_WR), wait_at_most(kLinger);
  else if (!unread_.empty()) parse();
}

}  // namespace kernelift::cli::mcp
