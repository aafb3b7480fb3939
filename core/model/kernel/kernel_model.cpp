// See kernel_model.h.
#include "core/model/kernel/kernel_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/shown/outside_text.h"

namespace kernelift {
namespace {

using Object = KernelModel::Object;
using Access = KernelModel::Access;

constexpr std::array<std::pair<Access::Kind, const char*>, 3> kAccessWords{
    {{Access::Kind::Load, "load"}, {Access::Kind::Store, "store"}, {Access::Kind::Atomic, "atomic"}}};

template <class Words, class Kind>
const char* word_of(const Words& words, Kind kind) {
  return std::ranges::find(words, kind, [](auto& word) { return word.first; })->second;
}

template <class Words>
auto kind_of(const Words& words, const std::string& word) {
  auto found = std::ranges::find(words, word, [](auto& entry) { return entry.second; });
  if (found == words.end()) malformed("\"" + word + "\" is no kind");
  return found->first;
}

Expression expression_of(const Json& json) {
  auto parsed = Expression::parse(json.get<std::string>());
  if (!parsed.ok()) malformed(parsed.error().message);
  return *parsed;
}

Json texts_of(const std::vector<Expression>& expressions) {
  Json texts = Json::array();
  for (auto& expression : expressions) texts.push_back(expression.text());
  return texts;
}

std::vector<Expression> expressions_of(const Json& json) {
  std::vector<Expression> all;
  for (auto& entry : json) all.push_back(expression_of(entry));
  return all;
}

}  // namespace

size_t KernelModel::known_accesses() const {
  auto is_term = [](const std::string& name) { return name.starts_with("term."); };
  return static_cast<size_t>(std::ranges::count_if(accesses, [&](auto& access) {
    return std::ranges::none_of(access.offset.variables(), is_term) &&
           std::ranges::none_of(access.domain.variables(), is_term);
  }));
}

void KernelModel::Compared::add(const Compared& others) {
  for (auto& [name, constants] : others.integers) integers[name].insert(constants.begin(), constants.end());
  for (auto& [name, constants] : others.numbers) numbers[name].insert(constants.begin(), constants.end());
  pointers.insert(others.pointers.begin(), others.pointers.end());
}

std::string KernelModel::Member::variable() const {
  return "arg.a" + std::to_string(parameter) + ".o" + std::to_string(offset);
}

const KernelModel::Term* KernelModel::term(const std::string& name) const {
  auto found = std::ranges::find(terms, name, &Term::name);
  return found == terms.end() ? nullptr : &*found;
}

void KernelModel::add_inner_terms(std::set<std::string>& names) const {
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (auto& name : std::set(names))
      if (auto* one = term(name))
        for (auto& argument : one->arguments) names.merge(argument.variables());
  }
}

bool never_negative(const Expression& expression, std::set<std::string>* parameters) {
  using Op = Expression::Op;
  auto operands = expression.operands();
  auto both = [&] { return never_negative(operands[0], parameters) && never_negative(operands[1], parameters); };
  switch (expression.op()) {
    case Op::Constant: return *expression.as_constant() >= 0;
    case Op::Variable: {
      const std::string& name = *expression.as_variable();
      if (name.starts_with("term.")) return false;
      if (!name.starts_with("arg.")) return true;
      if (parameters) parameters->insert(name);
      return parameters != nullptr;
    }
    case Op::Add:
    case Op::Multiply:
    case Op::Divide:
    case Op::CeilDiv:
    case Op::ShiftLeft:
    case Op::Min: return both();
    case Op::Remainder:
    case Op::ShiftRight: return never_negative(operands[0], parameters);
    case Op::BitAnd: {
      auto mask = operands[1].as_constant();
      return (mask && *mask >= 0) || both();
    }
    case Op::Max: return never_negative(operands[0]) || never_negative(operands[1]) || both();
    case Op::Conditional: return never_negative(operands[1], parameters) && never_negative(operands[2], parameters);
    default: return expression.is_condition();
  }
}

Json to_json(const KernelModel& model) {
  Json json = {{"objects", Json::array()},
               {"terms", Json::array()},
               {"accesses", Json::array()},
               {"barriers", Json::array()},
               {"gaps", Json::array()}};
  for (auto& object : model.objects) json["objects"].push_back(to_json(object));
  for (auto& term : model.terms) {
    json["terms"].push_back({{"name", term.name},
                             {"value", to_json(term.value)},
                             {"arguments", texts_of(term.arguments)},
                             {"repeats", term.repeats},
                             {"line", term.line}});
  }
  for (auto& access : model.accesses)
    json["accesses"].push_back({{"kind", word_of(kAccessWords, access.kind)},
                                {"object", access.object},
                                {"bytes", access.bytes},
                                {"line", access.line},
                                {"offset", access.offset.text()},
                                {"domain", access.domain.text()},
                                {"counters", access.counters},
                                {"time", texts_of(access.time)},
                                {"alignment", access.alignment},
                                {"operation", access.operation},
                                {"reach", access.reach},
                                {"stored", access.stored},
                                {"exchanges", access.exchanges}});
  for (auto& barrier : model.barriers)
    json["barriers"].push_back({{"of_warp", barrier.of_warp},
                                {"orders_memory", barrier.orders_memory},
                                {"apart", barrier.apart ? Json(*barrier.apart) : Json()},
                                {"lanes", barrier.lanes},
                                {"line", barrier.line},
                                {"domain", barrier.domain.text()},
                                {"counters", barrier.counters},
                                {"time", texts_of(barrier.time)}});
  for (auto& gap : model.gaps) json["gaps"].push_back({{"line", gap.line}, {"what", gap.what}});
  json["members"] = Json::array();
  for (auto& member : model.members)
    json["members"].push_back(
        {{"parameter", member.parameter}, {"offset", member.offset}, {"type", member.type}, {"path", member.path}});
  json["unmodelled"] = model.unmodelled;
  auto& compared = model.compared;
  json["compared"] = {{"integers", compared.integers}, {"numbers", compared.numbers}, {"pointers", compared.pointers}};
  json["widths"] = model.widths, json["narrow"] = Json::array();
  for (auto& number : model.narrow)
    json["narrow"].push_back({{"line", number.line},
                              {"value", number.value.text()},
                              {"domain", number.domain.text()},
                              {"is_signed", number.is_signed},
                              {"unit", number.unit},
                              {"index_of", number.index_of ? Json(*number.index_of) : Json()}});
  json["data"] = Json::array(), json["exchanges"] = Json::array();
  for (auto& datum : model.data)
    json["data"].push_back({{"line", datum.line},
                            {"value", datum.value.text()},
                            {"domain", datum.domain.text()},
                            {"stored", datum.stored}});
  for (auto& exchange : model.exchanges)
    json["exchanges"].push_back({{"line", exchange.line}, {"what", exchange.what}});
  json["code"] = model.code, json["whole_code"] = model.whole_code;
  json["needs_different_memory"] = model.needs_different_memory;
  json["assumed"] = texts_of(model.assumed);
  return json;
}

Result<KernelModel> kernel_model_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    KernelModel model;
    for (auto& entry : from.at("objects")) model.objects.push_back(memory_object_from_json(entry));
    for (auto& entry : from.at("members"))
      model.members.push_back({entry.at("parameter"), entry.at("offset"), entry.at("type"), entry.at("path")});
    for (auto& entry : from.at("terms")) {
      model.terms.push_back({entry.at("name"), term_value_from_json(entry.at("value")),
                             expressions_of(entry.at("arguments")), entry.at("repeats"), entry.at("line")});
    }
    for (auto& entry : from.at("accesses")) {
      Access access{kind_of(kAccessWords, entry.at("kind")),
                    entry.at("object"),
                    entry.at("bytes"),
                    entry.at("line"),
                    expression_of(entry.at("offset")),
                    expression_of(entry.at("domain")),
                    entry.at("counters").get<std::vector<std::string>>(),
                    expressions_of(entry.at("time")),
                    entry.at("alignment"),
                    entry.at("operation"),
                    entry.at("reach"),
                    entry.at("stored"),
                    entry.at("exchanges").get<std::set<size_t>>()};
      if (access.object >= model.objects.size()) malformed("an access to an object that is not listed");
      model.accesses.push_back(std::move(access));
    }
    for (auto& entry : from.at("barriers"))
      model.barriers.push_back(
          {entry.at("of_warp"), entry.at("orders_memory"),
           entry.at("apart").is_null() ? std::nullopt : std::optional(entry.at("apart").get<uint32_t>()),
           entry.at("lanes"), entry.at("line"), expression_of(entry.at("domain")),
           entry.at("counters").get<std::vector<std::string>>(), expressions_of(entry.at("time"))});
    for (auto& entry : from.at("data"))
      model.data.push_back(
          {entry.at("line"), expression_of(entry.at("value")), expression_of(entry.at("domain")), entry.at("stored")});
    for (auto& entry : from.at("exchanges")) model.exchanges.push_back({entry.at("line"), entry.at("what")});
    from.at("unmodelled").get_to(model.unmodelled);
    const Json& compared = from.at("compared");
    compared.at("integers").get_to(model.compared.integers);
    compared.at("numbers").get_to(model.compared.numbers);
    compared.at("pointers").get_to(model.compared.pointers);
    from.at("widths").get_to(model.widths);
    for (auto& entry : from.at("narrow")) {
      model.narrow.push_back({entry.at("line"), expression_of(entry.at("value")), expression_of(entry.at("domain")),
                              entry.at("is_signed")});
      model.narrow.back().unit = entry.at("unit");
      auto& index_of = model.narrow.back().index_of;
      if (!entry.at("index_of").is_null()) index_of = entry.at("index_of").get<size_t>();
      if (index_of && *index_of >= model.objects.size()) malformed("an index of an object that is not listed");
    }
    model.code = from.at("code"), model.whole_code = from.at("whole_code");
    model.needs_different_memory = from.at("needs_different_memory");
    model.assumed = expressions_of(from.at("assumed"));
    for (auto& entry : from.at("gaps")) model.gaps.push_back({entry.at("line"), entry.at("what")});
    return model;
  });
}

VariableNames with_members(VariableNames names, const std::vector<KernelModel::Member>& members) {
  for (auto& member : members) {
    auto whole = names.find("arg.a" + std::to_string(member.parameter));
    if (whole != names.end()) names.emplace(member.variable(), whole->second + member.path);
  }
  return names;
}

std::string to_text(const KernelModel& model, VariableNames names) {
  names = with_members(std::move(names), model.members);
  std::string text;
  auto at = [](unsigned line) { return line == 0 ? std::string("      ") : "line " + std::to_string(line) + ": "; };
  auto shown = [&](const Expression& expression) { return expression.text(names); };
  auto condition = [&](const Expression& domain) { return domain.is_constant(1) ? "" : "  if " + shown(domain); };
  for (auto& access : model.accesses)
    text += at(access.line) + word_of(kAccessWords, access.kind) + " " + std::to_string(access.bytes) + " bytes of " +
            to_text(model.objects[access.object], names) + " + " + shown(access.offset) + condition(access.domain) +
            "\n";
  for (auto& barrier : model.barriers)
    text += at(barrier.line) + (barrier.of_warp ? "barrier of a warp" : "barrier") + condition(barrier.domain) + "\n";
  for (auto& term : model.terms) {
    constexpr size_t kMost = 300;  // Characters of what a person is to read.
    text += at(term.line) + term.name + " = " + shown_line(to_text(term.value, term.arguments, names), kMost);
    if (term.value.kind == TermValue::Kind::Element) text += ", at byte " + shown(term.arguments[term.value.argument]);
    text += term.repeats ? "\n" : "  (changes during a launch)\n";
  }
  for (auto& gap : model.gaps) text += at(gap.line) + "not understood: " + gap.what + "\n";
  return text;
}

}  // namespace kernelift
