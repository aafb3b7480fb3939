// Keys, geometry and JSON of candidates; see candidate.h.
#include "core/model/candidate/candidate.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/base/shown/outside_text.h"
#include "core/model/launch/limits.h"

namespace kernelift {
namespace {

constexpr const char* kUnitFlags = "unit flags";  ///< Step::rule of a recipe that only adds flags of the file.
constexpr const char* kOrigins[] = {"rule", "model", "knob", "recipe", "text", "template"};
constexpr std::string_view kOriginal = "as recorded";  ///< Note of a candidate without steps.
constexpr std::string_view kRules = "rules/";          ///< Begins the proposer's name of a candidate made by a rule.

/// Rules that were renamed, as stored runs name them, and their names today.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kRenamedRules = {{
    {"accumulate", "scalar_promotion"},
    {"coarsen", "block_coarsening"},
    {"constant_table", "constant_to_global"},
    {"demote", "double_to_float"},
    {"jam", "unroll_and_jam"},
    {"merge_blocks", "block_merging"},
    {"private_sums", "shared_privatisation"},
    {"readonly", "restrict_pointers"},
    {"turn_block", "swap_block_axes"},
    {"warp_atomics", "warp_aggregation"},
    {"warp_rows", "warp_reduction"},
    {"wrap", "modulo_to_compare"},
}};

std::string name_today(const std::string& rule) {
  auto renamed = std::ranges::find(kRenamedRules, rule, [](auto& names) { return names.first; });
  return renamed == kRenamedRules.end() ? rule : std::string(renamed->second);
}

/// "assuming that A and that B, as in all 3 recorded launches and that C".
std::string text_of(const std::vector<Premise>& premises) {
  std::string text;
  for (size_t i = 0; i < premises.size(); ++i) {
    const size_t launches = premises[i].launches;
    text += (i == 0 ? "assuming that " : " and that ") + premises[i].text();
    if (launches == 0 || (i + 1 < premises.size() && premises[i + 1].launches == launches)) continue;
    text += premises[i].seen();
  }
  return text;
}

Json expressions_to_json(const Expression (&axes)[3]) { return {axes[0].text(), axes[1].text(), axes[2].text()}; }

/// People write candidates too: what they leave out keeps its default, what they misspell is told by name. The
/// functions below throw as nlohmann's do, for reading().
constexpr const char* kByHand = "";

Expression expression_from_json(const Json& from) {
  if (!from.is_string() && !from.is_number_integer())
    malformed(compact(from) + " is not an expression, as \"ceil_div(gx, 2)\" is");
  auto parsed = Expression::parse(from.is_string() ? from.get<std::string>() : compact(from));
  if (!parsed.ok()) malformed(parsed.error().message);
  return *parsed;
}

void read(const Json& from, Expression& into) { into = expression_from_json(from); }

/// Axes that are not given stay as they are.
void read(const Json& from, Expression (&axes)[3]) {
  if (!from.is_array() || from.size() > 3) malformed(compact(from) + " is not a list of up to three expressions");
  for (size_t i = 0; i < from.size(); ++i) axes[i] = expression_from_json(from[i]);
}

template <class T>
void read(const Json& from, T& into) {
  into = from.get<T>();
}

/// Numbers that are integers and fit: the library would convert any.
void read(const Json& from, Bindings& values) {
  if (!from.is_object()) malformed(compact(from) + " is no object: {\"name\": number}");
  for (auto& [name, value] : from.items()) {
    const bool fits =
        value.is_number_unsigned() ? std::in_range<int64_t>(value.get<uint64_t>()) : !value.is_number_float();
    if (!fits) malformed(name + ": " + compact(value) + " is no integer of this size");
    values[name] = value.get<int64_t>();
  }
}

void read(const Json& from, Recipe& recipe);
void read(const Json& from, UnitFlags& flags) { flags = unit_flags_from_json(from); }
void read(const Json& from, CandidateLaunch& launch);
void read(const Json& from, Scratch& piece);
void read(const Json& from, Premise& premise);
void read(const Json& from, Step& step);
void read(const Json& from, Step::Origin& origin);

template <class T>
void read(const Json& from, std::vector<T>& all) {
  if (!from.is_array()) malformed(compact(from) + " is not a list: […]");
  for (auto& one : from) read(one, all.emplace_back());
}

/// The members of one object.
class Members {
 public:
  Members(const Json& object, const char* what) : object_(object), what_(what) {
    if (!object.is_object()) malformed(std::string(what) + " is an object: {\"key\": …}");
  }
  template <class T>
  void optional(const char* key, T& into) {
    names_.push_back(key);
    auto at = object_.find(key);
    if (at == object_.end()) return;
    try {
      read(*at, into);
    } catch (const Json::exception& wrong) {
      malformed(std::string(key) + ": " + in_words(wrong));
    }
  }
  template <class T>
  void required(const char* key, T& into) {
    if (!object_.contains(key)) malformed(std::string("'") + key + "' is missing");
    optional(key, into);
  }
  /// To be called last: refuses what nobody asked for.
  void finish() const {
    for (auto& [key, value] : object_.items()) {
      if (std::ranges::count(names_, key)) continue;
      std::string known;
      for (auto& name : names_) known += (known.empty() ? "" : ", ") + name;
      malformed("'" + key + "' is not known; " + what_ + " has " + known);
    }
  }

 private:
  const Json& object_;
  const char* what_;
  std::vector<std::string> names_;
};

void read(const Json& from, Recipe& recipe) {
  Members members(from, "a recipe");
  members.optional("level", recipe.level);
  members.optional("passes", recipe.passes);
  members.optional("unroll_threshold", recipe.unroll_threshold);
  members.optional("inline_threshold", recipe.inline_threshold);
  members.optional("fast_math", recipe.fast_math);
  members.optional("vectorize", recipe.vectorize);
  members.optional("options", recipe.options);
  members.optional("unit_flags", recipe.unit_flags);
  members.finish();
}

void read(const Json& from, CandidateLaunch& launch) {
  launch = CandidateLaunch::as_recorded("");
  Members members(from, "a launch");
  members.required("kernel", launch.kernel);
  members.optional("grid", launch.grid);
  members.optional("block", launch.block);
  members.optional("shared", launch.shared);
  members.finish();
}

void read(const Json& from, Scratch& piece) {
  Members members(from, "scratch memory");
  members.required("bytes", piece.bytes);
  members.optional("zeroed", piece.zeroed);
  members.finish();
}

void read(const Json& from, Premise& premise) { premise = premise_from_json(from); }

void read(const Json& from, Step::Origin& origin) {
  auto found = std::ranges::find(kOrigins, from.get<std::string>());
  if (found == std::end(kOrigins))
    malformed(compact(from) + " is not known; there are rule, model, knob, recipe, text and template");
  origin = static_cast<Step::Origin>(found - kOrigins);
}

void read(const Json& from, Step& step) {
  Members members(from, "a step");
  members.required("origin", step.origin);
  members.optional("rule", step.rule);
  members.optional("place", step.place);
  members.optional("parameters", step.parameters);
  members.optional("replaced", step.replaced);
  members.optional("summary", step.summary);
  members.optional("premises", step.premises);
  members.optional("effects", step.effects);
  members.finish();
  if (step.origin == Step::Origin::Rule) step.rule = name_today(step.rule);
}

/// Members without a value are left out.
Json to_json(const Step& step) {
  Json json{{"origin", name(step.origin)}}, premises = Json::array();
  for (auto& premise : step.premises) premises.push_back(to_json(premise));
  auto put = [&](const char* key, const auto& value) {
    if (!value.empty()) json[key] = value;
  };
  put("rule", step.rule), put("place", step.place), put("parameters", step.parameters), put("replaced", step.replaced);
  put("summary", step.summary), put("premises", premises), put("effects", step.effects);
  return json;
}

}  // namespace

const char* name(Step::Origin origin) { return kOrigins[static_cast<size_t>(origin)]; }

Step Step::described(std::string summary) {
  Step step;
  step.summary = std::move(summary);
  return step;
}

std::string Step::text() const {
  std::string text = summary;
  if (origin == Origin::Template) {
    text = "template " + rule;
    for (auto& [name, value] : parameters)
      text += (name == parameters.begin()->first ? ": " : ", ") + name + "=" + std::to_string(value);
  } else if (origin == Origin::Rule || summary.empty()) {
    std::string values;
    for (auto& [name, value] : parameters) {
      auto before = replaced.find(name);
      values += (values.empty() ? "" : ", ") + name + " " +
                (before == replaced.end() ? "" : std::to_string(before->second) + " -> ") + std::to_string(value);
    }
    if (origin == Origin::Rule) {
      if (!summary.empty()) values = summary;
      text = rule + " " + place + (values.empty() ? "" : " (" + values + ")");
    } else {
      text = values;
    }
  }
  if (!premises.empty()) text += ", " + text_of(premises);
  for (size_t i = 0; i < effects.size(); ++i) text += (i == 0 ? ", which " : " and ") + effects[i];
  return text;
}

std::vector<Step> as_told(const std::vector<Step>& steps) {
  auto sets_knobs = [](const Step& step) { return step.origin == Step::Origin::Knob && step.summary.empty(); };
  Bindings first;
  for (auto& step : steps)
    if (sets_knobs(step)) first.insert(step.replaced.begin(), step.replaced.end());
  std::vector<Step> told;
  std::set<std::string> seen;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    Step one = *step;
    if (sets_knobs(one)) {
      one.parameters.clear(), one.replaced.clear();
      for (auto& [name, value] : step->parameters) {
        const auto before = first.find(name);
        if (!seen.insert(name).second || (before != first.end() && before->second == value)) continue;
        one.parameters.emplace(name, value);
        if (before != first.end()) one.replaced.insert(*before);
      }
      if (one.parameters.empty() && one.premises.empty() && one.effects.empty()) continue;
    }
    told.push_back(std::move(one));
  }
  std::ranges::reverse(told);
  return told;
}

std::string Candidate::note() const {
  if (steps.empty()) return std::string(kOriginal);
  const std::vector<Step> told = as_told(steps);
  std::string text;
  for (size_t begin = 0, end = 0; begin < told.size(); begin = end) {
    while (end < told.size() && told[end] == told[begin]) ++end;
    text += (begin == 0 ? "" : "; ") + told[begin].text();
    if (end - begin > 1) text += end - begin == 2 ? ", twice" : ", " + std::to_string(end - begin) + " times";
  }
  return shown_line(text);  // A model may have written it; the steps keep it as it came.
}

void Candidate::add_step(Step step) {
  if (step.origin == Step::Origin::Recipe)
    std::erase_if(steps, [](auto& earlier) { return earlier.origin == Step::Origin::Recipe; });
  steps.push_back(std::move(step));
}

void Candidate::reset_recipe() {
  if (recipe.of_application()) return;
  const UnitFlags kept = recipe.unit_flags;
  recipe = Recipe{};
  std::erase_if(steps, [](auto& step) { return step.origin == Step::Origin::Recipe; });
  if (kept.is_default()) return;
  recipe.unit_flags = kept;
  add_step({.origin = Step::Origin::Recipe, .rule = kUnitFlags, .summary = kept.text(), .effects = kept.effects()});
}

bool Recipe::of_application() const {
  Recipe own;
  own.unit_flags = unit_flags;
  return *this == own;
}

std::string Recipe::text() const {
  if (!unit_flags.is_default() && of_application()) return unit_flags.text();
  std::string line = passes.empty() ? level : "passes=" + passes;
  if (unroll_threshold >= 0) line += " unroll=" + std::to_string(unroll_threshold);
  if (inline_threshold >= 0) line += " inline=" + std::to_string(inline_threshold);
  for (size_t i = 0; i < fast_math.size(); ++i) line += (i ? "," : " fast=") + fast_math[i];
  if (!vectorize) line += " novectorize";
  for (auto& option : options) line += " " + option;
  return unit_flags.is_default() ? line : line + " " + unit_flags.text();
}

Bindings with_geometry(const Geometry& recorded, Bindings bound) {
  for (int axis = 0; axis < 3; ++axis)
    bound[kGridVariables[axis]] = along(recorded.grid, axis),
    bound[kBlockVariables[axis]] = along(recorded.block, axis);
  bound[kSharedVariable] = recorded.shared_bytes;
  return bound;
}

CandidateLaunch CandidateLaunch::as_recorded(std::string kernel) {
  CandidateLaunch launch;
  launch.kernel = std::move(kernel);
  for (int i = 0; i < 3; ++i)
    launch.grid[i] = Expression::variable(kGridVariables[i]),
    launch.block[i] = Expression::variable(kBlockVariables[i]);
  launch.shared = Expression::variable(kSharedVariable);
  return launch;
}

Result<Geometry> CandidateLaunch::evaluate(const Geometry& recorded, const Bindings& values) const {
  const Bindings bound = with_geometry(recorded, values);
  Geometry geometry = recorded;
  auto axis = [&](const Expression& expression, uint32_t lowest, uint32_t& into) -> Status {
    KERNELIFT_ASSIGN(int64_t value, expression.evaluate(bound));
    if (value < lowest || value > kLargestGrid.x)
      return usage_error("the launch expression '" + expression.text() + "' gives " + std::to_string(value));
    into = static_cast<uint32_t>(value);
    return done();
  };
  uint32_t* grid_axes[] = {&geometry.grid.x, &geometry.grid.y, &geometry.grid.z};
  uint32_t* block_axes[] = {&geometry.block.x, &geometry.block.y, &geometry.block.z};
  for (int i = 0; i < 3; ++i) {
    KERNELIFT_TRY(axis(grid[i], 1, *grid_axes[i]));
    KERNELIFT_TRY(axis(block[i], 1, *block_axes[i]));
  }
  KERNELIFT_TRY(axis(shared, 0, geometry.shared_bytes));
  return geometry;
}

std::string CandidateLaunch::change(const Bindings& values) const {
  std::map<std::string, Expression> in_words;
  std::vector<std::pair<std::string, Expression>> sizes;
  for (auto& [name, own, variables] :
       {std::tuple("block.", block, kBlockVariables), std::tuple("grid.", grid, kGridVariables)})
    for (int axis = 0; axis < 3; ++axis) {
      const std::string size = std::string(name) + "xyz"[axis];
      in_words.emplace(variables[axis], Expression::variable(size));
      sizes.emplace_back(size, own[axis]);
    }
  sizes.emplace_back(kSharedVariable, shared);
  std::string all;
  for (auto& [size, wanted] : sizes) {
    const std::string text = wanted.simplified(values).substitute(in_words).text();
    if (text != size) all += (all.empty() ? "" : ", ") + size + " = " + text;
  }
  return all;
}

Expression* CandidateLaunch::size_named(std::string_view name) {
  if (name == kSharedVariable) return &shared;
  for (int axis = 0; axis < 3; ++axis) {
    if (name == std::string("grid.") + "xyz"[axis]) return &grid[axis];
    if (name == std::string("block.") + "xyz"[axis]) return &block[axis];
  }
  return nullptr;
}

Hash Candidate::key() const {
  Hasher hasher;
  hasher.add(source).add(compact(to_json(recipe)));
  for (auto& [name, value] : values) hasher.add(name).add(static_cast<uint64_t>(value));
  for (auto& launch : launches) {
    hasher.add(launch.kernel).add(launch.shared.text());
    for (int i = 0; i < 3; ++i) hasher.add(launch.grid[i].text()).add(launch.block[i].text());
  }
  for (auto& piece : scratch) hasher.add(piece.bytes.text()).add(static_cast<uint64_t>(piece.zeroed));
  return hasher.finish();
}

Json to_json(const Recipe& recipe) {
  Json json{{"level", recipe.level},
            {"passes", recipe.passes},
            {"unroll_threshold", recipe.unroll_threshold},
            {"inline_threshold", recipe.inline_threshold},
            {"fast_math", recipe.fast_math},
            {"vectorize", recipe.vectorize},
            {"options", recipe.options}};
  // Left out where there are none, as in runs of before: a candidate's key is made of this.
  if (!recipe.unit_flags.is_default()) json["unit_flags"] = to_json(recipe.unit_flags);
  return json;
}

Json to_json(const Candidate& candidate) {
  Json launches = Json::array(), scratch = Json::array(), values = Json::object(), steps = Json::array();
  for (auto& step : candidate.steps) steps.push_back(to_json(step));
  for (auto& [name, value] : candidate.values) values[name] = value;
  for (auto& launch : candidate.launches)
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", expressions_to_json(launch.grid)},
                        {"block", expressions_to_json(launch.block)},
                        {"shared", launch.shared.text()}});
  for (auto& piece : candidate.scratch) scratch.push_back({{"bytes", piece.bytes.text()}, {"zeroed", piece.zeroed}});
  return {{"key", candidate.key().hex()},
          {"tier", candidate.tier},
          {"proposer", candidate.proposer},
          {"note", candidate.note()},
          {"steps", steps},
          {"values", values},
          {"recipe", to_json(candidate.recipe)},
          {"launches", launches},
          {"scratch", scratch},
          {"source", candidate.source}};
}

Result<Recipe> recipe_from_json(const Json& from, const std::string& where) {
  auto recipe = [&] {
    Recipe recipe;
    read(from, recipe);
    return recipe;
  };
  return reading(where, recipe, kByHand);
}

Result<Candidate> candidate_from_json(const Json& from, const std::string& where) {
  auto candidate = [&] {
    Candidate candidate;
    std::string key, note;  // Written for readers; made anew from the other members.
    Members members(from, "a candidate");
    members.required("source", candidate.source);
    members.optional("values", candidate.values);
    members.optional("recipe", candidate.recipe);
    members.optional("launches", candidate.launches);
    members.optional("scratch", candidate.scratch);
    candidate.tier = "source";  // Written by hand, where it does not say.
    members.optional("tier", candidate.tier);
    members.optional("proposer", candidate.proposer);
    members.optional("note", note);
    members.optional("steps", candidate.steps);
    members.optional("key", key);
    members.finish();
    if (candidate.steps.empty() && !note.empty() && note != kOriginal) candidate.steps = {Step::described(note)};
    if (candidate.proposer.starts_with(kRules))
      candidate.proposer = std::string(kRules) + name_today(candidate.proposer.substr(kRules.size()));
    return candidate;
  };
  return reading(where, candidate, kByHand);
}

}  // namespace kernelift
