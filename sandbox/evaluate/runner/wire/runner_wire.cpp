// See runner_wire.h. A verdict is sent as the JSON that the run database stores.
#include "sandbox/evaluate/runner/wire/runner_wire.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

Json to_json(const SizedInstance& sized) {
  const Dim3 &grid = sized.geometry.grid, &block = sized.geometry.block;
  Json parts = Json::array();
  for (auto& part : sized.parts) parts.push_back({part.offset, part.bytes, part.value});
  return {{"instance", sized.instance},
          {"size", kernelift::to_json(sized.size)},
          {"values", sized.values},
          {"parts", std::move(parts)},
          {"moved", sized.moved},
          {"same", sized.same},
          {"growth", sized.growth},
          {"grid", {grid.x, grid.y, grid.z}},
          {"block", {block.x, block.y, block.z}},
          {"shared_bytes", sized.geometry.shared_bytes},
          {"cooperative", sized.geometry.cooperative},
          {"shown", sized.shown}};
}

/// Throws as Json does; for reading() alone.
SizedInstance sized_instance_from_json(const Json& from) {
  auto dim = [](const Json& of) { return Dim3{of.at(0), of.at(1), of.at(2)}; };
  SizedInstance sized;
  sized.instance = from.at("instance"), sized.size = other_size_from_json(from.at("size"));
  sized.growth = from.at("growth"), sized.shown = from.at("shown");
  from.at("values").get_to(sized.values), from.at("moved").get_to(sized.moved), from.at("same").get_to(sized.same);
  for (auto& part : from.at("parts")) sized.parts.push_back({part.at(0), part.at(1), part.at(2)});
  sized.geometry = {dim(from.at("grid")), dim(from.at("block")), from.at("shared_bytes"), from.at("cooperative")};
  return sized;
}

void put(WireWriter& writer, const std::vector<LengthQuestion::Contents>& contents) {
  writer.number(contents.size());
  for (auto& one : contents) writer.number(one.index).text(one.bytes);
}

void take(WireReader& reader, std::vector<LengthQuestion::Contents>& contents) {
  for (uint64_t left = reader.number(); left > 0 && !reader.failed(); --left) {
    const uint64_t index = reader.number();
    contents.push_back({index, reader.text()});
  }
}

}  // namespace

double seconds_until(const std::optional<Deadline>& deadline) {
  if (!deadline) return 0;
  return std::max(1e-3, std::chrono::duration<double>(*deadline - Deadline::clock::now()).count());
}

std::optional<Deadline> deadline_from(double seconds) {
  if (seconds <= 0) return std::nullopt;
  return after(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3)));
}

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
  for (auto& sized : plan.launches) launches.push_back(to_json(sized));
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
    for (auto& one : json->at("launches")) read.launches.push_back(sized_instance_from_json(one));
    read.seed = json->at("seed"), read.beyond_premise = json->at("beyond_premise"),
    read.left_out = json->at("left_out");
    return read;
  });
  return plan.ok() ? std::optional(std::move(*plan)) : std::nullopt;
}

std::string encoded(const LengthQuestion& question) {
  WireWriter writer;
  writer.text(question.instance).text(question.sized ? compact(to_json(*question.sized)) : "");
  put(writer, question.regions), put(writer, question.variables);
  writer.number(question.wanted.size());
  for (size_t region : question.wanted) writer.number(region);
  return writer.real(seconds_until(question.deadline)).number(question.era).take();
}

std::optional<LengthQuestion> decoded_question(std::string_view text) {
  WireReader reader(text);
  LengthQuestion question;
  question.instance = reader.text();
  const std::string sized = reader.text();
  take(reader, question.regions), take(reader, question.variables);
  for (uint64_t left = reader.number(); left > 0 && !reader.failed(); --left)
    question.wanted.push_back(reader.number());
  question.deadline = deadline_from(reader.real()), question.era = reader.number();
  if (!reader.ok()) return std::nullopt;
  if (sized.empty()) return question;
  auto json = parse_json(sized, "a size");
  if (!json.ok()) return std::nullopt;
  auto read = reading("a size", [&] { return sized_instance_from_json(*json); });
  if (!read.ok()) return std::nullopt;
  question.sized = std::move(*read);
  return question;
}

std::string encoded(const LengthAnswer& answer) {
  WireWriter writer;
  writer.text(answer.why_not).number(answer.later).number(answer.regions.size());
  for (auto& region : answer.regions) {
    writer.number(region.index).number(region.lanes.size());
    for (auto& lane : region.lanes) writer.number(lane.first).items(std::span(lane.elements));
  }
  return writer.take();
}

std::optional<LengthAnswer> decoded_answer(std::string_view text) {
  WireReader reader(text);
  LengthAnswer answer;
  answer.why_not = reader.text(), answer.later = reader.number();
  for (uint64_t regions = reader.number(); regions > 0 && !reader.failed(); --regions) {
    LengthAnswer::Region& region = answer.regions.emplace_back();
    region.index = reader.number();
    for (uint64_t lanes = reader.number(); lanes > 0 && !reader.failed(); --lanes) {
      BesideLane& lane = region.lanes.emplace_back();
      lane.first = reader.number(), lane.elements = reader.items<BesideElement>();
    }
  }
  return reader.ok() ? std::optional(std::move(answer)) : std::nullopt;
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
