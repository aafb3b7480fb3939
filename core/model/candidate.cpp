// Keys, geometry and JSON of candidates; see candidate.h.
#include "core/model/candidate.h"

namespace kernelift {
namespace {

Expression variable(const char* name) { return *Expression::parse(name); }

Json expressions_to_json(const Expression (&axes)[3]) { return {axes[0].text(), axes[1].text(), axes[2].text()}; }

Status expressions_from_json(const Json& from, Expression (&axes)[3]) {
  for (int i = 0; i < 3; ++i) {
    KERNELIFT_ASSIGN(axes[i], Expression::parse(from.at(i).get<std::string>()));
  }
  return done();
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

CandidateLaunch CandidateLaunch::as_recorded(std::string kernel) {
  CandidateLaunch launch;
  launch.kernel = std::move(kernel);
  const char* grid_names[] = {"gx", "gy", "gz"};
  const char* block_names[] = {"bx", "by", "bz"};
  for (int i = 0; i < 3; ++i) launch.grid[i] = variable(grid_names[i]), launch.block[i] = variable(block_names[i]);
  launch.shared = variable("shared");
  return launch;
}

Result<Geometry> CandidateLaunch::evaluate(const Geometry& recorded, const Bindings& values) const {
  Bindings bound = values;
  bound["gx"] = recorded.grid.x, bound["gy"] = recorded.grid.y, bound["gz"] = recorded.grid.z;
  bound["bx"] = recorded.block.x, bound["by"] = recorded.block.y, bound["bz"] = recorded.block.z;
  bound["shared"] = recorded.shared_bytes;
  Geometry geometry = recorded;
  auto axis = [&](const Expression& expression, uint32_t lowest, uint32_t& into) -> Status {
    KERNELIFT_ASSIGN(int64_t value, expression.evaluate(bound));
    if (value < lowest || value > INT32_MAX)
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
  return {{"key", candidate.key().hex()}, {"tier", candidate.tier},     {"proposer", candidate.proposer},
          {"note", candidate.note},       {"values", values},           {"recipe", to_json(candidate.recipe)},
          {"launches", launches},         {"scratch", scratch},         {"source", candidate.source}};
}

Result<Recipe> recipe_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    Recipe recipe;
    recipe.level = from.at("level");
    recipe.passes = from.at("passes");
    recipe.unroll_threshold = from.at("unroll_threshold");
    recipe.inline_threshold = from.at("inline_threshold");
    recipe.fast_math = from.at("fast_math").get<std::vector<std::string>>();
    recipe.vectorize = from.at("vectorize");
    recipe.options = from.at("options").get<std::vector<std::string>>();
    return recipe;
  });
}

Result<Candidate> candidate_from_json(const Json& from, const std::string& where) {
  Status status;
  auto read = reading(where, [&] {
    Candidate candidate;
    candidate.source = from.at("source");
    candidate.tier = from.at("tier");
    candidate.proposer = from.at("proposer");
    candidate.note = from.at("note");
    for (auto& [name, value] : from.at("values").items()) candidate.values[name] = value.get<int64_t>();
    auto recipe = recipe_from_json(from.at("recipe"), where);
    if (recipe.ok()) candidate.recipe = *recipe;
    else status = recipe.error();
    auto parse = [&](const std::string& text, Expression& into) {
      auto parsed = Expression::parse(text);
      if (parsed.ok()) into = *parsed;
      else status = parsed.error();
    };
    for (auto& entry : from.at("launches")) {
      CandidateLaunch launch;
      launch.kernel = entry.at("kernel");
      for (auto axes : {std::pair{"grid", &launch.grid}, std::pair{"block", &launch.block}})
        if (auto read_axes = expressions_from_json(entry.at(axes.first), *axes.second); !read_axes.ok()) status = read_axes;
      parse(entry.at("shared"), launch.shared);
      candidate.launches.push_back(std::move(launch));
    }
    for (auto& entry : from.at("scratch")) {
      Scratch piece;
      parse(entry.at("bytes"), piece.bytes);
      piece.zeroed = entry.at("zeroed");
      candidate.scratch.push_back(std::move(piece));
    }
    return candidate;
  });
  if (read.ok() && !status.ok()) return std::move(status).error().in(where);
  return read;
}

}  // namespace kernelift
