// See session.h. Answers to a batch are gathered, and sent as one array when the last of them is there.
#include "cli/mcp/protocol/session.h"

#include <algorithm>

#include "cli/mcp/protocol/schema.h"
#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kShown = 200;  ///< Bytes of a client's words in an error.

bool is_token(const Json& value) { return value.is_string() || value.is_number_integer(); }

Json described(const ToolDescription& tool) {
  return {{"name", tool.name},
          {"title", tool.title},
          {"description", tool.description},
          {"inputSchema", tool.arguments},
          {"annotations",
           {{"title", tool.title},
            {"readOnlyHint", tool.read_only},
            {"destructiveHint", tool.destructive},
            {"idempotentHint", tool.idempotent},
            {"openWorldHint", false}}}};
}

}  // namespace

struct Session::Batch {
  size_t open = 0;  ///< Messages that may still be answered.
  Json answers = Json::array();
};

void Session::receive(const LineBuffer::Line& line) {
  if (line.too_long)
    return send_(error_answer(
        {Code::Parse, "a message is at most " + std::to_string(kLongestFrame) + " bytes; this one was dropped"}));
  if (line.text.find_first_not_of(" \t\r") == line.text.npos) return;
  Frame frame = read_frame(line.text);
  BatchPointer batch;
  if (frame.batch) batch = std::make_shared<Batch>(), batch->open = frame.messages.size() + 1;
  for (auto& message : frame.messages) handle(message, batch);
  if (batch) reply(nullptr, batch);  // All messages have been looked at.
}

void Session::reply(Json answer, const BatchPointer& batch) {
  if (!batch) {
    if (!answer.is_null()) send_(answer);
    return;
  }
  if (!answer.is_null()) batch->answers.push_back(std::move(answer));
  if (--batch->open == 0 && !batch->answers.empty()) send_(batch->answers);
}

void Session::refuse(const Message& message, Code code, const std::string& why, const BatchPointer& batch) {
  reply(error_answer({code, why, message.id}), batch);
}

void Session::handle(const std::variant<Message, ProtocolError>& received, const BatchPointer& batch) {
  if (auto* error = std::get_if<ProtocolError>(&received)) return reply(error_answer(*error), batch);
  const Message& message = std::get<Message>(received);
  if (message.kind == Message::Kind::Request) return request(message, batch);
  if (message.kind == Message::Kind::Notification) notified(message);
  reply(nullptr, batch);  // Nothing is asked of the client, so that a response answers nothing.
}

void Session::request(const Message& message, const BatchPointer& batch) {
  const std::string& method = message.method;
  auto answer = [&](Json result) { reply(request_answer(message.id, std::move(result)), batch); };
  if (method == "ping") return answer(Json::object());
  if (method == "initialize") {
    if (batch) return refuse(message, Code::InvalidRequest, "initialize is not part of a batch", batch);
    if (!version_.empty()) return refuse(message, Code::InvalidRequest, "this session is initialized already", batch);
    auto result = initialize(message.params);
    if (!result.ok()) return refuse(message, Code::InvalidParams, result.error().message, batch);
    return answer(*result);
  }
  constexpr const char* kKnown[] = {"tools/list", "tools/call", "resources/list", "resources/templates/list",
                                    "resources/read"};
  if (std::ranges::find(kKnown, method) == std::end(kKnown))
    return refuse(message, Code::NoMethod, "there is no method " + shown_line(method, kShown), batch);
  if (version_.empty()) return refuse(message, Code::InvalidRequest, "initialize comes first", batch);
  if (method == "tools/call") return call_tool(message, batch);
  if (method == "resources/read") return read_resource(message, batch);
  if (message.params.contains("cursor"))
    return refuse(message, Code::InvalidParams, "lists here have one page, and so no cursor", batch);
  if (method == "resources/list") return answer({{"resources", host_.resources()}});
  if (method == "resources/templates/list") return answer({{"resourceTemplates", Json::array()}});
  Json tools = Json::array();
  for (auto& tool : host_.tools()) tools.push_back(described(tool));
  answer({{"tools", tools}});
}

Result<Json> Session::initialize(const Json& params) {
  const std::string wanted = text_member(params, "protocolVersion");
  if (wanted.empty()) return usage_error("initialize has a protocolVersion, a text");
  const auto known = std::ranges::find(kVersions, wanted);
  version_ = known == std::end(kVersions) ? *std::prev(std::end(kVersions)) : *known;
  return Json{{"protocolVersion", version_},
              {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
              {"serverInfo", {{"name", "kernelift"}, {"title", "Kernelift"}, {"version", server_version_}}},
              {"instructions", host_.instructions()}};
}

void Session::notified(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  auto id = message.params.find("requestId");
  if (id == message.params.end() || !is_token(*id)) return;
  auto found = open_.find(compact(*id));
  if (found == open_.end()) return;  // It was answered meanwhile, or is none of ours.
  Open cancelled = std::move(found->second);
  open_.erase(found);
  cancelled.call->cancel();
  reply(nullptr, cancelled.batch);
}

Json Session::rendered(const ToolAnswer& answer) const {
  Json content = Json::array({{{"type", "text"}, {"text", compact(answer.document)}}});
  if (!answer.resource.empty() && at_least("2025-06-18"))
    content.push_back({{"type", "resource_link"},
                       {"uri", answer.resource},
                       {"name", answer.resource.substr(answer.resource.rfind('/') + 1)},
                       {"description", "The whole answer"},
                       {"mimeType", "application/json"}});
  Json result = {{"content", content}, {"isError", false}};
  if (at_least("2025-06-18")) result["structuredContent"] = answer.document;
  return result;
}

void Session::call_tool(const Message& message, const BatchPointer& batch) {
  auto invalid = [&](const std::string& why) { refuse(message, Code::InvalidParams, why, batch); };
  const std::string id = compact(message.id), name = text_member(message.params, "name");
  if (name.empty()) return invalid("tools/call has a name, a text");
  if (open_.contains(id)) return refuse(message, Code::InvalidRequest, "a call with this id is not over yet", batch);
  const auto tools = host_.tools();
  const auto tool = std::ranges::find(tools, name, &ToolDescription::name);
  if (tool == tools.end()) return invalid("there is no tool " + shown_line(name, kShown));
  Json arguments = message.params.value("arguments", Json::object());
  if (!arguments.is_object()) return invalid("arguments is an object");
  Call::Progress progress;
  if (auto meta = message.params.find("_meta"); meta != message.params.end() && meta->is_object())
    if (auto token = meta->find("progressToken"); token != meta->end()) {
      if (!is_token(*token)) return invalid("a progressToken is a text or a whole number");
      progress = [this, token = *token](double done, std::optional<double> total, const std::string& words) {
        Json params = {{"progressToken", token}, {"progress", done}};
        if (total) params["total"] = *total;
        if (at_least("2025-03-26")) params["message"] = words;
        send_(notification("notifications/progress", std::move(params)));
      };
    }
  auto call = std::make_shared<Call>(
      std::move(arguments), [this](const ToolAnswer& answer) { return rendered(answer); },
      [this, request = message.id, id, batch](Json result) {
        open_.erase(id);
        reply(request_answer(request, std::move(result)), batch);
      },
      std::move(progress));
  open_[id] = {call, batch};
  if (Status fit = fits(call->arguments, tool->arguments); !fit.ok()) return call->fail(fit.error().message);
  host_.call(name, call);
}

void Session::read_resource(const Message& message, const BatchPointer& batch) {
  const std::string uri = text_member(message.params, "uri");
  if (uri.empty()) return refuse(message, Code::InvalidParams, "resources/read has a uri, a text", batch);
  auto text = host_.resource(uri);
  if (!text.ok()) return refuse(message, Code::NoResource, text.error().message, batch);
  Json content = {{"uri", uri}, {"mimeType", text->starts_with('{') ? "application/json" : "text/plain"}};
  content["text"] = *std::move(text);
  reply(request_answer(message.id, {{"contents", Json::array({content})}}), batch);
}

}  // namespace kernelift::cli::mcp
