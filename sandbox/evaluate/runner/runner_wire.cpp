// See runner_wire.h. A verdict is sent as the JSON that the run database stores.
#include "sandbox/evaluate/runner/runner_wire.h"

namespace kernelift::sandbox {

void put(WireWriter& writer, const RunnableCode& code) {
  Candidate carrier;  // Its JSON has everything but the image.
  carrier.launches = code.launches, carrier.scratch = code.scratch, carrier.values = code.values;
  writer.text(code.image)
      .text(code.side_by_side)
      .text(code.checked)
      .text(code.original)
      .text(compact(to_json(carrier)));
}

bool take(WireReader& reader, RunnableCode& code) {
  code.image = reader.text(), code.side_by_side = reader.text(), code.checked = reader.text();
  code.original = reader.text();
  auto json = parse_json(reader.text(), "candidate");
  if (reader.failed() || !json.ok()) return false;
  auto carrier = candidate_from_json(*json, "candidate");
  if (!carrier.ok()) return false;
  code.launches = std::move(carrier->launches), code.scratch = std::move(carrier->scratch),
  code.values = std::move(carrier->values);
  return true;
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
