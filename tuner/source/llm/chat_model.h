// A language model behind an OpenAI-compatible (/v1/chat/completions) or Anthropic (/v1/messages) endpoint. Requests
// are repeated with growing pauses if the server is busy or fails, and for a shorter answer if its context is too
// small. If that does not help, the result is a single Error. The key is put into a request header and nowhere else.
// Replies are not streamed.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::tuner {

struct ModelSpec {
  enum class Vendor { OpenAi, Anthropic } vendor = Vendor::OpenAi;
  std::string url;  ///< Of the endpoint.
  std::string model;
  bool own_server = false;  ///< The user gave a URL: a key is optional.

  /// "openai:URL,MODEL" or "anthropic:URL,MODEL"; an empty URL means the vendor's server.
  static Result<ModelSpec> parse(const std::string& text);
  const char* key_variable() const { return vendor == Vendor::OpenAi ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY"; }
};

struct ChatMessage {
  bool from_model = false;
  std::string text;
};

struct ChatAnswer {
  std::string text;                             ///< Without the reasoning of a reasoning model.
  int64_t input_tokens = 0, output_tokens = 0;  ///< As billed; estimated if the server does not report them.
  bool cut_off = false;                         ///< The answer ended at the token limit.
  bool refused = false;                         ///< The model or a filter refused; `text` may contain the reason.
};

struct ChatLimits {
  double call_seconds =
      600;  ///< Deadline of a call, after which it is not repeated. A large local model takes minutes.
  int attempts = 5;
  double first_pause = 1;  ///< Seconds; doubled with each attempt unless the server sends a time.
  double longest_pause = 60;
  int most_output_tokens = 16384;  ///< Including reasoning; halved as often as the server refuses so many.
};

class ChatModel {
 public:
  /// Takes the key from the environment; an Error names the variable if a key is needed and missing.
  static Result<ChatModel> open(const ModelSpec& spec, const ChatLimits& limits);

  Result<ChatAnswer> ask(const std::string& system, const std::vector<ChatMessage>& messages,
                         const std::atomic<bool>& stop);
  const ModelSpec& spec() const { return spec_; }

 private:
  ChatModel(ModelSpec spec, ChatLimits limits, std::string key)
      : spec_(std::move(spec)),
        limits_(limits),
        key_(std::move(key)),
        output_tokens_(limits.most_output_tokens),
        new_name_(spec_.vendor == ModelSpec::Vendor::OpenAi && !spec_.own_server) {}
  std::vector<std::string> headers() const;
  std::string body(const std::string& system, const std::vector<ChatMessage>& messages) const;
  Result<ChatAnswer> read(const std::string& body) const;
  /// Changes the request's form after a refusal (fewer tokens, another parameter name); false if nothing can be
  /// changed.
  bool adapt(long status, const std::string& body);

  ModelSpec spec_;
  ChatLimits limits_;
  std::string key_;
  int output_tokens_;  ///< Token limit that is requested; lowered if the server refuses it.
  bool new_name_;      ///< The limit is called "max_completion_tokens", as OpenAI's newer models require.
};

}  // namespace kernelift::tuner
