// See model_spec.h.
#include "tuner/source/llm/model_spec.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

struct Spelling {
  ModelSpec::Provider provider;
  const char* name;
  const char *vendor = "", *path = "";  ///< Of servers: the vendor's own, and the endpoint behind /v1.
};
constexpr Spelling kProviders[] = {
    {ModelSpec::Provider::OpenAi, "openai", "https://api.openai.com", "/chat/completions"},
    {ModelSpec::Provider::Responses, "responses", "https://api.openai.com", "/responses"},
    {ModelSpec::Provider::Anthropic, "anthropic", "https://api.anthropic.com", "/messages"},
    {ModelSpec::Provider::Command, "command"},
    {ModelSpec::Provider::Exchange, "exchange"},
    {ModelSpec::Provider::Transcript, "transcript"}};
const char* const kHelp =
    "; write openai:URL,MODEL, responses:URL,MODEL or anthropic:URL,MODEL (an empty URL is the vendor's own), "
    "command:PROGRAM, "
    "exchange:FOLDER or transcript:FILE";

/// What stands in a commit message, where neither folders nor arguments are anybody's business: "answer.sh" of
/// "/home/me/answer.sh --temperature 1", "python3 answer.py".
std::string name_of(const std::string& target) {
  std::istringstream words(target);
  std::string name, file;
  words >> name;
  name = std::filesystem::path(name).filename().string();
  std::error_code ignored;
  if (words >> file && std::filesystem::is_regular_file(file, ignored))
    name += " " + std::filesystem::path(file).filename().string();
  return name;
}

}  // namespace

Result<ModelSpec> ModelSpec::parse(const std::string& text) {
  const size_t colon = text.find(':'), comma = text.rfind(',');
  keep_secrets_of_url(std::string_view(text).substr(0, comma));
  auto known = std::ranges::find_if(kProviders, [&](auto& one) { return text.substr(0, colon) == one.name; });
  if (colon == text.npos || known == std::end(kProviders))
    return usage_error("--llm '" + text + "' names no provider" + kHelp);
  ModelSpec spec;
  spec.provider = known->provider;
  if (!spec.is_server()) {
    spec.target = text.substr(colon + 1), spec.model = name_of(spec.target);
    if (spec.target.find_first_not_of(" \t") == spec.target.npos)
      return usage_error("--llm '" + text + "' names nothing behind the colon" + kHelp);
    return spec;
  }
  if (comma == text.npos || comma < colon || comma + 1 == text.size())
    return usage_error("--llm '" + text + "' names no model" + kHelp);
  spec.model = text.substr(comma + 1);
  std::string url = text.substr(colon + 1, comma - colon - 1);
  spec.own_server = !url.empty();
  if (url.empty()) url = known->vendor;
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return usage_error("--llm '" + text + "': the URL must begin with http:// or https://" + kHelp);
  const size_t end = std::min(url.find('?'), url.size());
  const std::string query = url.substr(end);
  url.resize(end);
  while (url.back() == '/') url.pop_back();
  const std::string path = known->path;
  if (!url.ends_with(path)) url += (url.ends_with("/v1") ? "" : "/v1") + path;
  spec.url = url + query;
  return spec;
}

std::string ModelSpec::shown() const {
  if (is_server()) return url_without_secrets(url);
  auto known = std::ranges::find_if(kProviders, [&](auto& one) { return one.provider == provider; });
  return std::string(known->name) + ":" + target;
}

}  // namespace kernelift::tuner
