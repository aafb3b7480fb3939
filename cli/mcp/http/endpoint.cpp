// See endpoint.h.
#include "cli/mcp/http/endpoint.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/mcp/http/access_token.h"

namespace kernelift::cli::mcp {
namespace {

constexpr const char* kSessionField = "mcp-session-id";
constexpr const char* kJson = "application/json";
constexpr const char* kEvents = "text/event-stream";
constexpr size_t kIdBytes = 16;

HttpAnswer refused(unsigned status, const std::string& why, std::map<std::string, std::string> fields = {}) {
  Json error = error_answer({Code::InvalidRequest, why});
  error.erase("id");
  fields["Content-Type"] = kJson;
  return {status, std::move(fields), compact(error)};
}

/// Whether "127.0.0.1:8000" and the like name this machine: pages of other hosts reach a loopback server, too, if their
/// names are made to resolve to it.
bool is_loopback(std::string host) {
  if (const size_t port = host.rfind(':'); port != host.npos && host.find(']', port) == host.npos) host.resize(port);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

bool is_own_origin(const std::string& origin) {
  for (const std::string scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return is_loopback(origin.substr(scheme.size()));
  return false;
}

/// The answers to one POST. A single answer is a document of its own; once there is progress to tell, all are events of
/// a stream; where nothing was to be answered the request is just accepted.
class PostReplies : public Replies {
 public:
  PostReplies(std::weak_ptr<HttpConnection> connection, std::string session)
      : connection_(std::move(connection)), session_(std::move(session)) {}
  ~PostReplies() override {
    auto connection = connection_.lock();
    if (!connection) return;
    if (streaming_) connection->end_stream();
    else connection->answer(refused_ ? *refused_ : whole());
  }
  void answer(const Json& message) override {
    if (streaming_) return event(message);
    if (!answer_.is_null()) return begin_stream(), event(message);
    answer_ = message;
  }
  void tell(const Json& message) override { begin_stream(), event(message); }
  /// Whatever was answered, this is the answer, unless an error said already what is wrong.
  void refuse(HttpAnswer answer) {
    if (answer_.contains("error")) answer.body = compact(answer_);
    refused_ = std::move(answer);
  }

 private:
  HttpAnswer whole() const {
    if (answer_.is_null()) return head(202, "");
    const bool unreadable = answer_.contains("error") && (!answer_.contains("id") || answer_["id"].is_null());
    HttpAnswer answer = head(unreadable ? 400 : 200, kJson);
    answer.body = compact(answer_);
    return answer;
  }
  HttpAnswer head(unsigned status, const std::string& type) const {
    HttpAnswer answer{status};
    if (!type.empty()) answer.fields = {{"Content-Type", type}, {"Cache-Control", "no-store"}};
    if (!session_.empty()) answer.fields["MCP-Session-Id"] = session_;
    return answer;
  }
  void begin_stream() {
    if (std::exchange(streaming_, true)) return;
    if (auto connection = connection_.lock()) connection->begin_stream(head(200, kEvents));
    if (!answer_.is_null()) event(std::exchange(answer_, nullptr));
  }
  void event(const Json& message) const {
    if (auto connection = connection_.lock()) connection->stream("event: message\ndata: " + compact(message) + "\n\n");
  }

  const std::weak_ptr<HttpConnection> connection_;
  const std::string session_;  ///< The id of a session that begins with this, or empty.
  std::optional<HttpAnswer> refused_;
  Json answer_;
  bool streaming_ = false;
};

}  // namespace

Endpoint::Endpoint(EventLoop& loop, Host& host, EndpointOptions options)
    : loop_(loop),
      host_(host),
      options_(std::move(options)),
      server_(
          loop, HttpLimits{.body = kLongestFrame}, [this](const HttpRequest& request) { return refusal(request); },
          [this](const HttpRequest& request, const std::weak_ptr<HttpConnection>& connection) {
            received(request, connection);
          }) {}

Endpoint::~Endpoint() { loop_.drop(timer_); }

std::string Endpoint::url() const { return "http://127.0.0.1:" + std::to_string(server_.port()) + kEndpointPath; }

std::optional<HttpAnswer> Endpoint::refusal(const HttpRequest& request) const {
  if (!is_loopback(request.field("host")) ||
      (request.fields.contains("origin") && !is_own_origin(request.field("origin"))))
    return refused(403, "only clients on this machine are served, and no pages of other hosts");
  std::string scheme = request.field("authorization").substr(0, 7);
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (scheme != "bearer " || !is_same_secret(request.field("authorization").substr(7), options_.token))
    return refused(401,
                   "the token is missing or wrong: send 'Authorization: Bearer TOKEN', with the token in the file "
                   "that the server named when it started",
                   {{"WWW-Authenticate", "Bearer realm=\"kernelift\""}});
  if (request.path != kEndpointPath) return refused(404, "the endpoint is " + std::string(kEndpointPath));
  if (request.method != "POST" && request.method != "DELETE")
    return refused(405, "messages are sent by POST; nothing comes unasked, so that there is nothing to GET",
                   {{"Allow", "POST, DELETE"}});
  if (const std::string version = request.field("mcp-protocol-version"); !version.empty() && !is_known_version(version))
    return refused(400, "this MCP-Protocol-Version is not known");
  if (const std::string id = request.field(kSessionField); !id.empty() && !sessions_.contains(id))
    return refused(404, "there is no session of this id; it may have ended: begin a new one by initialize");
  if (request.method == "DELETE" && request.field(kSessionField).empty())
    return refused(400, "which session is to end? MCP-Session-Id is missing");
  return std::nullopt;
}

void Endpoint::received(const HttpRequest& request, const std::weak_ptr<HttpConnection>& connection) {
  const std::string id = request.field(kSessionField);
  if (id.empty()) return begin(request, connection);
  const auto found = sessions_.find(id);
  if (request.method == "DELETE" || found == sessions_.end()) {
    if (found != sessions_.end()) sessions_.erase(found);
    if (auto open = connection.lock()) open->answer({204});
    return;
  }
  found->second.used = EventLoop::Clock::now();
  found->second.session->receive({request.body}, std::make_shared<PostReplies>(connection, ""));
}

void Endpoint::begin(const HttpRequest& request, const std::weak_ptr<HttpConnection>& connection) {
  auto id = random_name(kIdBytes);
  auto replies = std::make_shared<PostReplies>(connection, id.ok() ? *id : "");
  if (!id.ok()) return replies->refuse(refused(500, id.error().message));
  auto session = std::make_unique<Session>(host_, options_.server_version);
  session->receive({request.body}, replies);
  if (!session->initialized())
    return replies->refuse(refused(400, "a session begins with initialize; further messages have its MCP-Session-Id"));
  if (sessions_.size() >= options_.most_sessions)
    sessions_.erase(std::ranges::min_element(sessions_, {}, [](auto& one) { return one.second.used; }));
  sessions_[*id] = {std::move(session), EventLoop::Clock::now()};
  end_idle();
}

void Endpoint::end_idle() {
  const auto now = EventLoop::Clock::now();
  for (auto& [id, one] : sessions_)
    if (one.session->busy()) one.used = now;
  std::erase_if(sessions_, [&](auto& one) { return one.second.used + options_.idle <= now; });
  loop_.drop(std::exchange(timer_, 0));
  if (sessions_.empty()) return;
  const auto first = std::ranges::min_element(sessions_, {}, [](auto& one) { return one.second.used; });
  timer_ = loop_.at(first->second.used + options_.idle, [this] { end_idle(); });
}

}  // namespace kernelift::cli::mcp
