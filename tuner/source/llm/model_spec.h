// Which language model a user names, as `--llm` spells it.
#pragma once
#include <string>

#include "core/base/result.h"

namespace kernelift::tuner {

struct ModelSpec {
  /// Servers come first.
  enum class Provider {
    OpenAi,      ///< A server with /v1/chat/completions.
    Responses,   ///< A server with /v1/responses.
    Anthropic,   ///< A server with /v1/messages.
    Command,     ///< A program: the prompt on its stdin, the answer on its stdout.
    Exchange,    ///< A folder in which prompts are written and answers appear.
    Transcript,  ///< Recorded answers.
  };
  Provider provider = Provider::OpenAi;
  std::string url;          ///< Of a server's endpoint, with user, password and query as the user gave them; or empty.
  std::string model;        ///< A server's model; for the others what stands behind the colon.
  std::string target;       ///< The command, the folder or the file; empty for servers.
  bool own_server = false;  ///< The user gave a URL: a key is optional.

  /// "openai:URL,MODEL", "responses:URL,MODEL", "anthropic:URL,MODEL" (an empty URL means the vendor's server),
  /// "command:PROGRAM ARGUMENTS", "exchange:FOLDER", "transcript:FILE".
  static Result<ModelSpec> parse(const std::string& text);
  bool is_server() const { return provider <= Provider::Anthropic; }
  /// For people: a server's URL without user, password and query; for the others the specification itself.
  std::string shown() const;
  const char* key_variable() const { return provider == Provider::Anthropic ? "ANTHROPIC_API_KEY" : "OPENAI_API_KEY"; }
};

}  // namespace kernelift::tuner
