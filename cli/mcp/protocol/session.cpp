// See session.h.
#include "cli/mcp/protocol/session.h"

#include <algorithm>
#include <utility>

#include "cli/mcp/protocol/schema.h"
#include "core/base/json_member.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::cli::mcp {
namespace {

constexpr size_t kShownMessage = 200;  ///< Bytes of a client's words in an error.

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

/// The answers to a batch, gathered, and sent as one array when nothing more comes.
class BatchReplies : public Replies {
 public:
  explicit BatchReplies(RepliesPointer whole) : whole_(std::move(whole)) {}
  ~BatchReplies() override {
    if (!answers_.empty()) whole_->answer(answers_);
  }
  void answer(const Json& message) override { answers_.push_back(message); }
  void tell(const Json& message) override { whole_->tell(message); }

 private:
  const RepliesPointer whole_;
  Json answers_ = Json::array();
};

}  // namespace

bool is_known_version(const std::string& version) {
  return std::ranges::find(kVersions, version) != std::end(kVersions);
}

Session::~Session() {
  for (auto& [id, call] : std::exchange(open_, {})) call->cancel();
}

void Session::receive(const LineBuffer::Line& line, const RepliesPointer& replies) {
  if (line.too_long)
    return refuse(
        {Code::Parse, "a message is at most " + std::to_string(kLongestFrame) + " bytes; this one was dropped"},
        replies);
  if (line.text.find_first_not_of(" \t\r\n") == line.text.npos) return;
  Frame frame = read_frame(line.text);
  const RepliesPointer answers = frame.batch ? std::make_shared<BatchReplies>(replies) : replies;
  for (auto& message : frame.messages) handle(message, frame.batch, answers);
}

void Session::refuse(const ProtocolError& error, const RepliesPointer& replies) const {
  Json answer = error_answer(error);
  // JSON-RPC wants a null where the id is not known; the protocol's own schema has left it out since.
  if (error.id.is_null() && at_least("2025-11-25")) answer.erase("id");
  replies->answer(answer);
}

void Session::handle(const std::variant<Message, ProtocolError>& received, bool in_batch,
                     const RepliesPointer& replies) {
  if (auto* error = std::get_if<ProtocolError>(&received)) return refuse(*error, replies);
  const Message& message = std::get<Message>(received);
  if (message.kind == Message::Kind::Request) return request(message, in_batch, replies);
  if (message.kind == Message::Kind::Notification) notified(message);
  // Nothing is asked of the client, so that a response answers nothing.
}

void Session::request(const Message& message, bool in_batch, const RepliesPointer& replies) {
  const std::string& method = message.method;
  auto answer = [&](Json result) { replies->answer(request_answer(message.id, std::move(result))); };
  auto no = [&](Code code, const std::string& why) { refuse({code, why, message.id}, replies); };
  if (method == "ping") return answer(Json::object());
  if (method == "initialize") {
    if (in_batch) return no(Code::InvalidRequest, "initialize is not part of a batch");
    if (initialized()) return no(Code::InvalidRequest, "this session is initialized already");
    auto result = initialize(message.params);
    if (!result.ok()) return no(Code::InvalidParams, result.error().message);
    return answer(*result);
  }
  constexpr const char* kKnown[] = {"tools/list", "tools/call", "resources/list", "resources/templates/list",
                                    "resources/read"};
  if (std::ranges::find(kKnown, method) == std::end(kKnown))
    return no(Code::NoMethod, "there is no method " + shown_line(method, kShownMessage));
  if (!initialized()) return no(Code::InvalidRequest, "initialize comes first");
  if (method == "tools/call") return call_tool(message, replies);
  if (method == "resources/read") return read_resource(message, replies);
  if (message.params.contains("cursor")) return no(Code::InvalidParams, "lists here have one page, and so no cursor");
  if (method == "resources/list") return answer({{"resources", host_.resources()}});
  if (method == "resources/templates/list") return answer({{"resourceTemplates", Json::array()}});
  Json tools = Json::array();
  for (auto& tool : host_.tools()) tools.push_back(described(tool));
  answer({{"tools", tools}});
}

Result<Json> Session::initialize(const Json& params) {
  const std::string wanted = text_member(params, "protocolVersion");
  if (wanted.empty()) return usage_error("initialize has a protocolVersion, a text");
  version_ = is_known_version(wanted) ? wanted : *std::prev(std::end(kVersions));
  Json server = {{"name", "kernelift"}, {"title", "Kernelift"}, {"version", server_version_}};
  if (at_least("2025-11-25")) server["description"] = "Judges, tunes and patches the GPU kernels of an application";
  return Json{{"protocolVersion", version_},
              {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
              {"serverInfo", server},
              {"instructions", host_.instructions()}};
}

void Session::notified(const Message& message) {
  if (message.method != "notifications/cancelled") return;
  auto id = message.params.find("requestId");
  if (id == message.params.end() || !is_token(*id)) return;
  auto found = open_.find(compact(*id));
  if (found == open_.end()) return;  // It was answered meanwhile, or is none of ours.
  const CallPointer cancelled = std::move(found->second);
  open_.erase(found);
  cancelled->cancel();
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

void Session::call_tool(const Message& message, const RepliesPointer& replies) {
  auto invalid = [&](const std::string& why) { refuse({Code::InvalidParams, why, message.id}, replies); };
  const std::string id = compact(message.id), name = text_member(message.params, "name");
  if (name.empty()) return invalid("tools/call has a name, a text");
  if (open_.contains(id))
    return refuse({Code::InvalidRequest, "a call with this id is not over yet", message.id}, replies);
  const auto tools = host_.tools();
  const auto tool = std::ranges::find(tools, name, &ToolDescription::name);
  if (tool == tools.end()) return invalid("there is no tool " + shown_line(name, kShownMessage));
  Json arguments = message.params.value("arguments", Json::object());
  if (!arguments.is_object()) return invalid("arguments is an object");
  Call::Progress progress;
  if (auto meta = message.params.find("_meta"); meta != message.params.end() && meta->is_object())
    if (auto token = meta->find("progressToken"); token != meta->end()) {
      if (!is_token(*token)) return invalid("a progressToken is a text or a whole number");
      progress = [this, token = *token, replies](double done, std::optional<double> total, const std::string& words) {
        Json params = {{"progressToken", token}, {"progress", done}};
        if (total) params["total"] = *total;
        if (at_least("2025-03-26")) params["message"] = words;
        replies->tell(notification("notifications/progress", std::move(params)));
      };
    }
  auto call = std::make_shared<Call>(
      std::move(arguments), [this](const ToolAnswer& answer) { return rendered(answer); },
      [this, request = message.id, id, replies](Json result) {
        open_.erase(id);
        replies->answer(request_answer(request, std::move(result)));
      },
      std::move(progress));
  open_[id] = call;
  if (Status fit = fits(call->arguments, tool->arguments); !fit.ok()) return call->fail(fit.error().message);
  host_.call(name, call);
}

void Session::read_resource(const Message& message, const RepliesPointer& replies) {
  const std::string uri = text_member(message.params, "uri");
  if (uri.empty()) return refuse({Code::InvalidParams, "resources/read has a uri, a text", message.id}, replies);
  auto text = host_.resource(uri);
  if (!text.ok()) return refuse({Code::NoResource, text.error().message, message.id}, replies);
  Json content = {{"uri", uri}, {"mimeType", text->starts_with('{') ? "application/json" : "text/plain"}};
  content["text"] = *std::move(text);
  replies->answer(request_answer(message.id, {{"contents", Json::array({content})}}));
}

}  // namespace kernelift::cli::mcp
