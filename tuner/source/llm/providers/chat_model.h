// A language model behind an HTTP endpoint, whatever its wire format. Requests are repeated with growing pauses if the
// server is busy or fails, and for a shorter answer if its context is too small. If that does not help, the result is a
// single Error. The key is put into a request header and nowhere else: what the server says is stripped of every secret
// before anything is made of it, and so is what it is asked. Replies are not streamed.
#pragma once
#include <mutex>

#include "core/base/json.h"
#include "tuner/source/llm/language_model.h"
#include "tuner/source/llm/providers/http.h"

namespace kernelift::tuner {

class ChatModel : public LanguageModel {
 public:
  ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) override;
  size_t parallelism() const override { return 3; }

 protected:
  ChatModel(ModelSpec spec, ChatLimits limits, std::string key)
      : spec_(std::move(spec)),
        limits_(limits),
        key_(std::move(key)),
        form_{limits.most_output_tokens, spec_.provider == ModelSpec::Provider::OpenAi && !spec_.own_server} {}
  /// Takes the key from the environment; an Error names the variable if a key is needed and missing.
  static Result<std::string> key_of(const ModelSpec& spec);

  /// The headers that carry the key and the format's version.
  virtual std::vector<std::string> headers() const = 0;
  /// Everything but the model and the limit of the answer.
  virtual Json body(const ModelRequest& request) const = 0;
  /// Called with a JSON object that reports no error; may throw as nlohmann's functions do.
  virtual ChatAnswer read(const Json& reply) const = 0;

  ModelSpec spec_;
  ChatLimits limits_;
  std::string key_;

 private:
  struct Form {
    int output_tokens = 0;  ///< Token limit that is requested; lowered if the server refuses it.
    bool new_name = false;  ///< The limit is called "max_completion_tokens", as OpenAI's newer models require.
  };
  std::string document(const ModelRequest& request, const Form& form) const;
  Result<ChatAnswer> answer(const std::string& body, size_t asked) const;
  /// Changes the request's form after a refusal (fewer tokens, another parameter name); false if nothing can be
  /// changed.
  bool adapt(long status, const std::string& body, Form& form) const;

  std::mutex changing_;
  Form form_;  ///< Of the requests to come; each call has its own copy.
};

/// The text of a message's content, which is a string or a list of parts; throws as nlohmann's functions do.
/// Tokens as a server counts them; 0: it does not say, or no call takes so many or so few.
int64_t reported_tokens(const Json& usage, const char* name);
std::string text_of_parts(const Json& content);

}  // namespace kernelift::tuner
