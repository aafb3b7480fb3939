// See responses_model.h.
#include "tuner/source/llm/providers/responses_model.h"

#include "core/base/json_member.h"

namespace kernelift::tuner {
namespace {

void add_refusal(const std::string& why, ChatAnswer& into) {
  if (!into.refused) into.text.clear();
  into.text += why, into.refused = true;
}

/// One of what the model put out: a message, its reasoning, which is left out, or the call of a tool.
void add_item(const Json& item, ChatAnswer& into) {
  const std::string type = text_member(item, "type");
  if (type.ends_with("_call")) {
    into.called_tool = text_member(item, "name");
    if (into.called_tool.empty()) into.called_tool = type;
  }
  if (type != "message") return;
  for (auto& part : item.at("content")) {
    const std::string kind = text_member(part, "type");
    if (kind == "output_text" && !into.refused) into.text += part.at("text").get<std::string>();
    if (kind == "refusal") add_refusal(text_member(part, "refusal"), into);
  }
}

}  // namespace

Result<std::unique_ptr<LanguageModel>> ResponsesModel::open(const ModelSpec& spec, const ChatLimits& limits) {
  KERNELIFT_ASSIGN(ModelKey key, model_key(spec));
  return std::unique_ptr<LanguageModel>(new ResponsesModel(spec, limits, std::move(key)));
}

Json ResponsesModel::body(const ModelRequest& request, const Form& form) const {
  // Otherwise OpenAI keeps what was said for 30 days.
  return {{"instructions", request.system},
          {"input", turns_of(request)},
          {"max_output_tokens", form.output_tokens},
          {"store", false}};
}

ChatAnswer ResponsesModel::read(const Json& reply) const {
  ChatAnswer read;
  for (auto& item : reply.at("output")) add_item(item, read);
  if (const std::string status = text_member(reply, "status"); status == "incomplete") {
    auto details = reply.find("incomplete_details");
    const std::string why = details != reply.end() && details->is_object() ? text_member(*details, "reason") : "";
    read.cut_off = why == "max_output_tokens";
    read.refused |= why == "content_filter";
    if (!read.cut_off && !read.refused) read.remark = remark_on_end(why.empty() ? status : why);
  } else if (!status.empty() && status != "completed") {
    read.remark = remark_on_end(status);
  }
  if (auto usage = reply.find("usage"); usage != reply.end() && usage->is_object()) {
    read.input_tokens = reported_tokens(*usage, "input_tokens");
    read.output_tokens = reported_tokens(*usage, "output_tokens");
  }
  return read;
}

void ResponsesModel::read_event(const Json& event, StreamedAnswer& into) const {
  const std::string type = text_member(event, "type");
  if (type == "response.output_text.delta" && !into.answer.refused)
    into.answer.text += event.at("delta").get<std::string>();
  if (type == "response.refusal.delta") add_refusal(text_member(event, "delta"), into.answer);
  if (type == "response.failed") {
    const Json& response = event.at("response");
    into.error = response.contains("error") && !response["error"].is_null() ? response["error"] : response;
  }
  if (type != "response.completed" && type != "response.incomplete") return;
  ChatAnswer whole = read(event.at("response"));
  // Some servers do not repeat what came in pieces.
  if (whole.text.empty()) whole.text = std::move(into.answer.text), whole.refused |= into.answer.refused;
  into.answer = std::move(whole);
  into.ended = into.last = true;
}

}  // namespace kernelift::tuner
