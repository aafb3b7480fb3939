// Any text as the JSON of candidates and evaluations: a value or one sentence, and no loss on the way back.
#include "core/base/json.h"
#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto json = parse_json({reinterpret_cast<const char*>(data), size}, "input");
  if (!json.ok()) return 0;
  if (auto candidate = candidate_from_json(*json, "input"); candidate.ok()) {
    auto again = candidate_from_json(to_json(*candidate), "input");
    fuzz::require(again.ok() && again->key() == candidate->key(), "a candidate keeps its key");
  }
  if (auto evaluation = evaluation_from_json(*json, "input"); evaluation.ok())
    fuzz::require(evaluation_from_json(to_json(*evaluation), "input").ok(), "an evaluation can be read again");
  return 0;
}
