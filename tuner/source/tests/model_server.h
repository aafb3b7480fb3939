// A model server on loopback that replies from a script.
#pragma once
#include <httplib.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/json.h"

namespace kernelift::tuner {

struct Scripted {
  int status = 200;
  std::string text = {};
  std::string raw = {};
  int retry_after = 0;
  int hang_ms = 0;
  bool stalls = false;                                   ///< Half of the reply, and then nothing more.
  std::vector<std::string> pieces = {};                  ///< If not empty, the body: sent one after the other,
  int pause_ms = 0;                                      ///< with pauses between them.
  enum { Ends, Breaks, IsSilent, Repeats } then = Ends;  ///< After the last piece; Repeats: it is sent for ever.
  std::string type = "text/event-stream";                ///< Of what comes in pieces.
};

inline std::string json_text(const std::string& text) { return Json(text).dump(); }

/// Uses the format of the endpoint that is asked and sends the script's replies in order; the last one is repeated.
class ModelServer {
 public:
  explicit ModelServer(std::vector<Scripted> script) : script_(std::move(script)) {
    for (auto& one : script_)
      bodies_.push_back({R"({"choices":[{"message":{"role":"assistant","content":)" + json_text(one.text) +
                             R"(},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20}})",
                         R"({"content":[{"type":"text","text":)" + json_text(one.text) +
                             R"(}],"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":20}})",
                         R"({"status":"completed","error":null,"output":[{"type":"reasoning","summary":[]},)"
                         R"({"type":"message","content":[{"type":"output_text","text":)" +
                             json_text(one.text) + R"(}]}],"usage":{"input_tokens":100,"output_tokens":20}})"});
    auto answer = [this](const httplib::Request& request, httplib::Response& response) {
      size_t at;
      {
        std::lock_guard hold(mutex_);
        requests.push_back(request);
        at = std::min(next_++, script_.size() - 1);
      }
      const Scripted& reply = script_[at];
      for (int waited = 0; waited < reply.hang_ms && !closing_; waited += 10)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      response.status = reply.status;
      if (reply.retry_after) response.set_header("Retry-After", std::to_string(reply.retry_after));
      if (!reply.pieces.empty())
        return response.set_chunked_content_provider(
            reply.type, [this, &reply, sent = size_t(0)](size_t, httplib::DataSink& sink) mutable {
              return send_piece(reply, sent++, sink);
            });
      auto is = [&](const char* path) { return request.path.find(path) != std::string::npos; };
      const std::string& body = bodies_[at][is("chat") ? 0 : is("messages") ? 1 : 2];
      if (!reply.stalls) return response.set_content(reply.raw.empty() ? body : reply.raw, "application/json");
      response.set_chunked_content_provider("application/json", [this, &body](size_t at, httplib::DataSink& sink) {
        if (at == 0) return sink.write(body.data(), body.size() / 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return !closing_.load();
      });
    };
    server_.Post("/v1/chat/completions", answer);
    server_.Post("/v1/messages", answer);
    server_.Post("/v1/responses", answer);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~ModelServer() {
    closing_ = true;
    server_.stop();
    thread_.join();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<httplib::Request> requests;

 private:
  std::vector<Scripted> script_;
  /// false: the connection is closed.
  bool send_piece(const Scripted& reply, size_t number, httplib::DataSink& sink) {
    const bool all = number >= reply.pieces.size();
    if (all && reply.then == Scripted::Ends) sink.done();
    if (all && reply.then == Scripted::Breaks) return false;
    const int pause = all && reply.then == Scripted::IsSilent ? 10 : reply.pause_ms;
    if (number > 0 && pause) std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    if (!all || reply.then == Scripted::Repeats) {
      const std::string& piece = reply.pieces[std::min(number, reply.pieces.size() - 1)];
      if (!piece.empty() && !sink.write(piece.data(), piece.size())) return false;
    }
    return !closing_.load();
  }

  std::vector<std::array<std::string, 3>> bodies_;  ///< Of each reply: chat completions, messages, responses.
  size_t next_ = 0;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace kernelift::tuner
