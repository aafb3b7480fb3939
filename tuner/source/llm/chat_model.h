// A language model behind an OpenAI-compatible (/v1/chat/completions) or Anthropic (/v1/messages) endpoint. Busy and
// failing servers are asked again with growing pauses, and one whose context is small for a shorter answer; what
// remains is one Error in plain words. The key goes into a request header and nowhere else. Replies are not streamed:
// nobody watches.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct ModelSpec {
  enum class Vendor { OpenAi, Anthropic } vendor = Vendor::OpenAi;
  std::string url;  ///< The endpoint itself.
  std::string model;
  bool own_server = false;  ///< A URL was given: a key is sent if there is one, but none is needed.

  /// "openai:URL,MODEL" or "anthropic:URL,MODEL"; an empty URL is the vendor's own.
  static Result<ModelSpec> parse(const std::string& text);
  const char* key_variable() const { return vendor == Vendor::OpenAi ? "OPENAI_API_KEY" : "ANTHROPIC_API_KEY"; }
};

struct ChatMessage {
  bool from_model = false;
  std::string text;
};

struct ChatAnswer {
  std::string text;                             ///< Without what a reasoning model thought aloud.
  int64_t input_tokens = 0, output_tokens = 0;  ///< As billed; estimated where the server does not say.
  bool cut_off = false;                         ///< The model ran into its token limit.
  bool refused = false;                         ///< It, or a filter, would not answer; `text` may say why.
};

struct ChatLimits {
  double call_seconds = 600;  ///< A large model on one's own GPU takes minutes. None is asked again after so long.
  int attempts = 5;
  double first_pause = 1;  ///< Seconds; doubles with each attempt unless the server names a time.
  double longest_pause = 60;
  int most_output_tokens = 16384;  ///< Reasoning counts. A server that takes fewer is asked for half, and so on.
};

class ChatModel {
 public:
  /// Takes the key from the environment; an Error names the variable where one is needed and missing.
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
  /// Learns from a refusal what this server wants otherwise; false: nothing that could be changed here.
  bool adapt(long status, const std::string& body);

  ModelSpec spec_;
  ChatLimits limits_;
  std::string key_;
  int output_tokens_;  ///< Asked for; fewer once a server has said that so many are too many.
  bool new_name_;      ///< "max_completion_tokens": all that OpenAI's newer models know; others know the older name.
};

}  // namespace kernelift
