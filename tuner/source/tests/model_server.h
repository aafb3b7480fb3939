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
  bool stalls = false;  ///< Half of the reply, and then nothing more.
};

inline std::string json_text(const std::string& text) { return Json(text).dump(); }

/// Uses both vendors' formats and sends the script's replies in order; the last one is repeated.
class ModelServer {
 public:
  explicit ModelServer(std::vector<Scripted> script) : script_(std::move(script)) {
    for (auto& one : script_)
      bodies_.push_back({R"({"choices":[{"message":{"role":"assistant","content":)" + json_text(one.text) +
                             R"(},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20}})",
                         R"({"content":[{"type":"text","text":)" + json_text(one.text) +
                             R"(}],"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":20}})"});
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
      const std::string& body = bodies_[at][request.path.find("chat") == std::string::npos];
      if (!reply.stalls) return response.set_content(reply.raw.empty() ? body : reply.raw, "application/json");
      response.set_chunked_content_provider("application/json", [this, &body](size_t at, httplib::DataSink& sink) {
        if (at == 0) return sink.write(body.data(), body.size() / 2);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return !closing_.load();
      });
    };
    server_.Post("/v1/chat/completions", answer);
    server_.Post("/v1/messages", answer);
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
  std::vector<std::array<std::string, 2>> bodies_;  ///< Of each reply, as OpenAI and Anthropic spell it.
  size_t next_ = 0;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace kernelift::tuner
