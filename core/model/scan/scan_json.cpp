// See scan_json.h.
#include "core/model/scan/scan_json.h"

#include <algorithm>

#include "core/base/artefact.h"

namespace kernelift {

namespace {

/// Empty text: it is not an integer expression.
Json to_json(const std::optional<Expression>& expression) { return expression ? expression->text() : ""; }
Json to_json(const std::optional<Expression> (&axes)[3]) {
  return {to_json(axes[0]), to_json(axes[1]), to_json(axes[2])};
}

std::vector<std::string> texts_of(const std::vector<Expression>& expressions) {
  std::vector<std::string> texts;
  for (auto& one : expressions) texts.push_back(one.text());
  return texts;
}

std::optional<Expression> optional_expression_from_json(const Json& from) {
  auto text = from.get<std::string>();
  if (text.empty()) return std::nullopt;
  auto parsed = Expression::parse(text);
  if (!parsed.ok()) malformed(parsed.error().message);
  return *parsed;
}

}  // namespace

Json to_json(const SourceRange& range) {
  return {{"file", range.file},
          {"begin", range.begin},
          {"end", range.end},
          {"line", range.line},
          {"end_line", range.end_line}};
}

SourceRange range_from_json(const Json& from) {
  return {from.at("file"), from.at("begin").get<uint64_t>(), from.at("end").get<uint64_t>(),
          from.at("line").get<uint32_t>(), from.at("end_line").get<uint32_t>()};
}

Json to_json(const ScannedParameter& parameter) {
  Json to{{"name", parameter.name},
          {"type", parameter.type},
          {"pointee", parameter.pointee},
          {"pointee_const", parameter.pointee_const},
          {"scalar", parameter.scalar}};
  if (!parameter.record.empty()) to["record"] = parameter.record;
  if (parameter.lambda_bytes > 0) to["lambda_bytes"] = parameter.lambda_bytes;
  return to;
}

ScannedParameter scanned_parameter_from_json(const Json& from) {
  return {from.at("name"),
          from.at("type"),
          from.at("pointee"),
          from.at("pointee_const"),
          from.at("scalar"),
          from.value("record", ""),
          from.value("lambda_bytes", uint64_t(0))};
}

Json to_json(const LaunchSite& site) {
  return {{"kernels", site.kernels},
          {"range", to_json(site.range)},
          {"grid_range", to_json(site.grid_range)},
          {"block_range", to_json(site.block_range)},
          {"shared_range", to_json(site.shared_range)},
          {"enclosing", site.enclosing},
          {"grid", to_json(site.grid)},
          {"grid_where", texts_of(site.grid_where)},
          {"launcher", site.launcher},
          {"block", to_json(site.block)},
          {"grid_form", site.grid_form},
          {"block_form", site.block_form},
          {"shared", to_json(site.shared)},
          {"argument_text", site.argument_text},
          {"one_memory", site.one_memory},
          {"kernel_range", to_json(site.kernel_range)},
          {"unrepeatable_arguments", site.unrepeatable_arguments},
          {"open_macros", site.open_macros},
          {"real_grid", site.real_grid},
          {"real_block", site.real_block},
          {"argument_types", site.argument_types},
          {"through_macro", site.through_macro}};
}

LaunchSite launch_from_json(const Json& from) {
  LaunchSite site;
  site.kernels = from.at("kernels").get<std::vector<std::string>>();
  site.range = range_from_json(from.at("range")), site.grid_range = range_from_json(from.at("grid_range"));
  site.block_range = range_from_json(from.at("block_range")),
  site.shared_range = range_from_json(from.at("shared_range"));
  site.enclosing = from.at("enclosing"), site.shared = optional_expression_from_json(from.at("shared"));
  for (int axis = 0; axis < 3; ++axis)
    site.grid[axis] = optional_expression_from_json(from.at("grid").at(axis)),
    site.block[axis] = optional_expression_from_json(from.at("block").at(axis));
  for (auto& condition : from.value("grid_where", Json::array()))
    site.grid_where.push_back(optional_expression_from_json(condition).value_or(Expression::constant(0)));
  site.grid_form = from.value("grid_form", ""), site.block_form = from.value("block_form", "");
  site.argument_text = from.at("argument_text").get<std::vector<std::string>>();
  site.one_memory = from.value("one_memory", Json::array()).get<std::vector<std::pair<size_t, size_t>>>();
  site.through_macro = from.at("through_macro");
  if (from.contains("kernel_range")) site.kernel_range = range_from_json(from.at("kernel_range"));
  site.open_macros = from.value("open_macros", std::set<std::string>());
  for (auto [name, places] : {std::pair("real_grid", &site.real_grid), {"real_block", &site.real_block}})
    *places = from.value(name, std::set<size_t>());
  site.launcher = from.value("launcher", "");
  site.argument_types = from.value("argument_types", std::map<size_t, std::string>());
  // Earlier versions say of floating point only.
  for (size_t index : from.value("real_arguments", std::set<size_t>())) site.argument_types[index] = "double";
  if (from.contains("unrepeatable_arguments")) {
    site.unrepeatable_arguments = from.at("unrepeatable_arguments").get<std::set<size_t>>();
  } else {
    // Earlier versions do not say: a name or a number may be repeated.
    for (size_t i = 0; i < site.argument_text.size(); ++i) {
      auto parsed = Expression::parse(site.argument_text[i]);
      if (!parsed.ok() || (!parsed->as_variable() && !parsed->as_constant())) site.unrepeatable_arguments.insert(i);
    }
  }
  return site;
}

Json to_json(const Knob& knob) {
  return {{"name", knob.name},         {"value", knob.value},           {"value_range", to_json(knob.value_range)},
          {"is_macro", knob.is_macro}, {"in_kernel", knob.in_kernel},   {"in_geometry", knob.in_geometry},
          {"kernels", knob.kernels},   {"grows_only", knob.grows_only}, {"is_local", knob.is_local}};
}

Knob knob_from_json(const Json& from) {
  return {from.at("name"),
          from.at("value").get<int64_t>(),
          range_from_json(from.at("value_range")),
          from.at("is_macro"),
          from.at("in_kernel"),
          from.at("in_geometry"),
          from.at("kernels").get<std::vector<std::string>>(),
          from.value("grows_only", false),
          from.value("is_local", false)};
}

void check_blocks(const std::vector<LaunchSite>& launches, const std::vector<Knob>& knobs) {
  for (auto& site : launches) {
    Bindings values;
    for (auto& knob : knobs)
      if (std::ranges::find_first_of(knob.kernels, site.kernels) != knob.kernels.end()) values[knob.name] = knob.value;
    for (auto& size : site.block) {
      // Most sizes depend on what only the running program knows.
      auto value = size ? size->evaluate(values) : Result<int64_t>(int64_t(0));
      if (value.ok() && *value < 0)
        malformed("the launch in line " + std::to_string(site.range.line) + " of " + site.range.file +
                  " would have blocks of " + std::to_string(*value) + " threads (" + size->text() + ")");
    }
  }
}

}  // namespace kernelift
