// A language model behind an HTTP endpoint, whatever its wire format. Answers are asked for as a stream of events, and
// read in one piece where the server sends them so. Requests are repeated with growing pauses if the server is busy or
// fails, and for a shorter answer if its context is too small. If that does not help, the result is a single Error. The
// key is put into a request header and nowhere else: what the server says is stripped of every secret before anything
// is made of it, and so is what it is asked.
#pragma once
#include <mutex>

#include "core/base/json.h"
#include "tuner/source/llm/language_model.h"
#include "tuner/source/llm/providers/chat_stream.h"
#include "tuner/source/llm/providers/http.h"
#include "tuner/source/llm/providers/model_key.h"

namespace kernelift::tuner {

class ChatModel : public LanguageModel {
 public:
  ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) override;
  size_t parallelism() const override { return 3; }

 protected:
  ChatModel(ModelSpec spec, ChatLimits limits, ModelKey key)
      : spec_(std::move(spec)),
        limits_(limits),
        key_(std::move(key)),
        form_{.output_tokens = limits.most_output_tokens,
              .new_name = spec_.provider == ModelSpec::Provider::OpenAi && !spec_.own_server} {}

  /// What a server may want to be asked otherwise.
  struct Form {
    int output_tokens = 0;      ///< Token limit that is requested; lowered if the server refuses it.
    bool new_name = false;      ///< The limit is called "max_completion_tokens", as OpenAI's newer models require.
    bool stream = true;         ///< The answer is to come as a stream,
    bool counts_stream = true;  ///< and "stream_options" ask for the tokens that it took.
  };

  /// The headers that carry the key and the format's version.
  virtual std::vector<std::string> headers() const = 0;
  /// Everything but "model" and "stream".
  virtual Json body(const ModelRequest& request, const Form& form) const = 0;
  /// Called with a JSON object that reports no error; may throw as nlohmann's functions do.
  virtual ChatAnswer read(const Json& reply) const = 0;
  /// The same for an event of a stream.
  virtual void read_event(const Json& event, StreamedAnswer& into) const = 0;

  ModelSpec spec_;
  ChatLimits limits_;
  ModelKey key_;

 private:
  std::string document(const ModelRequest& request, const Form& form) const;
  /// Of a reply that is no refusal, in pieces or in one.
  Result<ChatAnswer> answer_of(const Result<HttpReply>& reply, ChatStream& stream) const;
  /// The answer without secrets and thoughts, its tokens estimated where the server does not report them.
  static Result<ChatAnswer> finished(ChatAnswer answer, size_t asked);
  /// Changes the request's form after a refusal (fewer tokens, another parameter name, no stream); false if nothing can
  /// be changed.
  bool adapt(long status, const std::string& body, Form& form) const;

  std::mutex changing_;
  Form form_;  ///< Of the requests to come; each call has its own copy.
};

/// A conversation as a list of objects with "role" and "content".
Json turns_of(const ModelRequest& request);
/// Tokens as a server counts them; 0: it does not say, or no call takes so many or so few.
int64_t reported_tokens(const Json& usage, const char* name);
/// The text of a message's content, which is a string or a list of parts; throws as nlohmann's functions do.
std::string text_of_parts(const Json& content);
/// A remark on an answer for whose end the server gives a reason that is not known here.
std::string remark_on_end(const std::string& reason);

}  // namespace kernelift::tuner
