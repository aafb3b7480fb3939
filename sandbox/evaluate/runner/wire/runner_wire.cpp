// See runner_wire.h. A verdict is sent as the JSON that the run database stores.
#include "sandbox/evaluate/runner/wire/runner_wire.h"

namespace kernelift::sandbox {

void put(WireWriter& writer, const RunnableCode& code) {
  Candidate carrier;  // Its JSON has everything but the image.
  carrier.launches = code.launches, carrier.scratch = code.scratch, carrier.values = code.values;
  writer.text(code.image)
      .text(code.side_by_side)
      .text(code.checked)
      .text(code.original)
      .text(code.precise)
      .text(code.error_bounds)
      .text(compact(to_json(carrier)));
}

bool take(WireReader& reader, RunnableCode& code) {
  code.image = reader.text(), code.side_by_side = reader.text(), code.checked = reader.text();
  code.original = reader.text(), code.precise = reader.text(), code.error_bounds = reader.text();
  auto json = parse_json(reader.text(), "candidate");
  if (reader.failed() || !json.ok()) return false;
  auto carrier = candidate_from_json(*json, "candidate");
  if (!carrier.ok()) return false;
  code.launches = std::move(carrier->launches), code.scratch = std::move(carrier->scratch),
  code.values = std::move(carrier->values);
  return true;
}

std::string encoded(const SizePlan& plan) {
  Json launches = Json::array();
  for (auto& sized : plan.launches) {
    const Dim3 &grid = sized.geometry.grid, &block = sized.geometry.block;
    launches.push_back({{"instance", sized.instance},
                        {"size", to_json(sized.size)},
                        {"values", sized.values},
                        {"moved", sized.moved},
                        {"same", sized.same},
                        {"growth", sized.growth},
                        {"grid", {grid.x, grid.y, grid.z}},
                        {"block", {block.x, block.y, block.z}},
                        {"shared_bytes", sized.geometry.shared_bytes},
                        {"cooperative", sized.geometry.cooperative},
                        {"shown", sized.shown}});
  }
  return compact({{"launches", launches},
                  {"seed", plan.seed},
                  {"beyond_premise", plan.beyond_premise},
                  {"left_out", plan.left_out}});
}

std::optional<SizePlan> decoded_plan(const std::string& text) {
  auto json = parse_json(text, "sizes");
  if (!json.ok()) return std::nullopt;
  auto plan = reading("sizes", [&] {
    SizePlan read;
    auto dim = [](const Json& from) { return Dim3{from.at(0), from.at(1), from.at(2)}; };
    for (auto& one : json->at("launches")) {
      SizedInstance sized;
      sized.instance = one.at("instance"), sized.size = other_size_from_json(one.at("size"));
      sized.growth = one.at("growth"), sized.shown = one.at("shown");
      one.at("values").get_to(sized.values), one.at("moved").get_to(sized.moved), one.at("same").get_to(sized.same);
      sized.geometry = {dim(one.at("grid")), dim(one.at("block")), one.at("shared_bytes"), one.at("cooperative")};
      read.launches.push_back(std::move(sized));
    }
    read.seed = json->at("seed"), read.beyond_premise = json->at("beyond_premise"),
    read.left_out = json->at("left_out");
    return read;
  });
  return plan.ok() ? std::optional(std::move(*plan)) : std::nullopt;
}

Evaluation evaluation_from_answer(const Result<std::string>& answer) {
  Verdict lost;
  lost.outcome = Outcome::Crashed, lost.stage = Stage::Load;
  if (!answer.ok()) {
    lost.detail = answer.error().message;
    return lost;
  }
  auto json = parse_json(*answer, "verdict");
  auto evaluation = json.ok() ? evaluation_from_json(*json, "verdict") : Result<Evaluation>(json.error());
  if (evaluation.ok()) return std::move(*evaluation);
  lost.detail = evaluation.error().message;
  return lost;
}

}  // namespace kernelift::sandbox
