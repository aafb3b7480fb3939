// Keys, geometry and JSON of candidates; see candidate.h.
#include "core/model/candidate.h"

#include "core/model/launch/limits.h"

#include <algorithm>

namespace kernelift {
namespace {

Json expressions_to_json(const Expression (&axes)[3]) { return {axes[0].text(), axes[1].text(), axes[2].text()}; }

/// People write candidates too: what they leave out keeps its default, what they misspell is told by name. The
/// functions below throw as nlohmann's do, for reading().
constexpr const char* kByHand = "";

Expression expression_from_json(const Json& from) {
  if (!from.is_string() && !from.is_number_integer())
    malformed(from.dump() + " is not an expression, as \"ceil_div(gx, 2)\" is");
  auto parsed = Expression::parse(from.is_string() ? from.get<std::string>() : from.dump());
  if (!parsed.ok()) malformed(parsed.error().message);
  return *parsed;
}

void read(const Json& from, Expression& into) { into = expression_from_json(from); }

/// Axes that are not given stay as they are.
void read(const Json& from, Expression (&axes)[3]) {
  if (!from.is_array() || from.size() > 3) malformed(from.dump() + " is not a list of up to three expressions");
  for (size_t i = 0; i < from.size(); ++i) axes[i] = expression_from_json(from[i]);
}

template <class T>
void read(const Json& from, T& into) {
  into = from.get<T>();
}

void read(const Json& from, Recipe& recipe);
void read(const Json& from, CandidateLaunch& launch);
void read(const Json& from, Scratch& piece);

template <class T>
void read(const Json& from, std::vector<T>& all) {
  if (!from.is_array()) malformed(from.dump() + " is not a list: […]");
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

}  // namespace

std::string Recipe::text() const {
  std::string line = passes.empty() ? level : "passes=" + passes;
  if (unroll_threshold >= 0) line += " unroll=" + std::to_string(unroll_threshold);
  if (inline_threshold >= 0) line += " inline=" + std::to_string(inline_threshold);
  for (size_t i = 0; i < fast_math.size(); ++i) line += (i ? "," : " fast=") + fast_math[i];
  if (!vectorize) line += " novectorize";
  for (auto& option : options) line += " " + option;
  return line;
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

Hash Candidate::key() const {
  Hasher hasher;
  hasher.add(source).add(to_json(recipe).dump());
  for (auto& [name, value] : values) hasher.add(name).add(static_cast<uint64_t>(value));
  for (auto& launch : launches) {
    hasher.add(launch.kernel).add(launch.shared.text());
    for (int i = 0; i < 3; ++i) hasher.add(launch.grid[i].text()).add(launch.block[i].text());
  }
  for (auto& piece : scratch) hasher.add(piece.bytes.text()).add(static_cast<uint64_t>(piece.zeroed));
  return hasher.finish();
}

Json to_json(const Recipe& recipe) {
  return {{"level", recipe.level},
          {"passes", recipe.passes},
          {"unroll_threshold", recipe.unroll_threshold},
          {"inline_threshold", recipe.inline_threshold},
          {"fast_math", recipe.fast_math},
          {"vectorize", recipe.vectorize},
          {"options", recipe.options}};
}

Json to_json(const Candidate& candidate) {
  Json launches = Json::array(), scratch = Json::array(), values = Json::object();
  for (auto& [name, value] : candidate.values) values[name] = value;
  for (auto& launch : candidate.launches)
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", expressions_to_json(launch.grid)},
                        {"block", expressions_to_json(launch.block)},
                        {"shared", launch.shared.text()}});
  for (auto& piece : candidate.scratch) scratch.push_back({{"bytes", piece.bytes.text()}, {"zeroed", piece.zeroed}});
  return {{"key", candidate.key().hex()}, {"tier", candidate.tier}, {"proposer", candidate.proposer},
          {"note", candidate.note},       {"values", values},       {"recipe", to_json(candidate.recipe)},
          {"launches", launches},         {"scratch", scratch},     {"source", candidate.source}};
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
    std::string key;  // Of its content: written for those who read, and made anew.
    Members members(from, "a candidate");
    members.required("source", candidate.source);
    members.optional("values", candidate.values);
    members.optional("recipe", candidate.recipe);
    members.optional("launches", candidate.launches);
    members.optional("scratch", candidate.scratch);
    members.optional("tier", candidate.tier);
    members.optional("proposer", candidate.proposer);
    members.optional("note", candidate.note);
    members.optional("key", key);
    members.finish();
    return candidate;
  };
  return reading(where, candidate, kByHand);
}

}  // namespace kernelift
