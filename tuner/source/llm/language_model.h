// What every language model is to Kernelift: a prompt goes in, an answer comes out, later. Behind it are servers, a
// program, a folder in which a person or an agent answers, and recorded answers (providers/).
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "tuner/source/llm/model_spec.h"

namespace kernelift::tuner {

struct ChatMessage {
  bool from_model = false;
  std::string text;
};

struct ModelRequest {
  std::string kind;  ///< "hypotheses", "write", "optimise", "combine", "repair" or "start".
  std::string system;
  std::vector<ChatMessage> messages;  ///< In turns, the user's first.
  std::string subject = {};  ///< What an answer is good for, whatever else the prompt says: the text that is edited.
};

struct ChatAnswer {
  std::string text;                             ///< Without secrets, and without the reasoning of a reasoning model.
  int64_t input_tokens = 0, output_tokens = 0;  ///< As billed; estimated where they are not reported.
  bool cut_off = false;                         ///< The answer ended at the token limit.
  bool refused = false;                         ///< The model or a filter refused; `text` may contain the reason.
  std::string called_tool;                      ///< The tool that it called instead of answering; none is offered.
  std::string remark;                           ///< What a user should know of how it came about; or empty.
};

/// What one call may use.
struct CallLimits {
  int requests = 1;
  double seconds = 600;
};

struct ModelReply {
  Result<ChatAnswer> answer;
  int requests = 1;                    ///< Sent, repetitions after failures included; 0: none was.
  bool final = false;                  ///< No later call can be answered: a refused key, no recorded answer left.
  std::optional<double> seconds = {};  ///< That it took when it was recorded; absent: it takes what it takes.
};

/// What a recorded request was about, so that the run that replays it asks the same.
struct RecordedRequest {
  std::string kind;
  std::string base;          ///< Key of the candidate whose text was edited; empty: not recorded.
  int64_t card = 0;          ///< The hypothesis that was carried out; 0: none.
  bool of_original = false;  ///< The answer was written for the original's text, without a prompt.
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  /// Blocks until there is an answer, the limits are reached, or `stop` is set. May be called from as many threads at a
  /// time as parallelism() says.
  virtual ModelReply ask(const ModelRequest& request, const CallLimits& limits, const std::atomic<bool>& stop) = 0;
  /// How many requests may wait for their answers at a time.
  virtual size_t parallelism() const { return 1; }
  /// A request of this kind can be answered. Recorded answers to ideas say nothing about another question.
  virtual bool answers(const std::string& kind) const { return true; }
  /// The next recorded request for an idea. nullopt: nothing is recorded, or none is left. Not while a call is
  /// under way.
  virtual std::optional<RecordedRequest> next_recorded() const { return std::nullopt; }
  /// What was given of what is recorded, for go_on_from() in a resumed run; empty: nothing is. Not while a call is
  /// under way.
  virtual std::string given() const { return ""; }
  virtual void go_on_from(const std::string& given) {}
};

/// What a call of a model over HTTP does about failures.
struct ChatLimits {
  double call_seconds =
      600;  ///< Deadline of a call, after which it is not repeated. A large local model takes minutes.
  int attempts = 5;
  double first_pause = 1;  ///< Seconds; doubled with each attempt unless the server sends a time.
  double longest_pause = 60;
  int most_output_tokens = 16384;  ///< Including reasoning; halved as often as the server refuses so many.
  /// Seconds in which a stream may bring nothing: in the middle of an answer, and before it, while a model may think.
  double stall_seconds = 60, first_seconds = 300;
};

/// An Error names what is missing: a key, a program, a folder, a transcript.
Result<std::unique_ptr<LanguageModel>> open_model(const ModelSpec& spec, const ChatLimits& limits);

inline constexpr size_t kLargestAnswer = 1 << 20;  ///< Bytes, of programs and folders.

/// A request as one text, for models that are given no turns: a person, a program.
std::string one_text(const ModelRequest& request);
/// An answer that came as plain text: without a byte order mark, secrets and reasoning, its tokens estimated.
ChatAnswer plain_answer(const ModelRequest& request, std::string text);
/// The answer without the reasoning that some models leave before it, with or without the opening mark. It may contain
/// drafts of edits.
std::string without_thoughts(std::string text);
/// Where a provider does not report tokens.
int64_t estimated_tokens(size_t characters);

}  // namespace kernelift::tuner
