// Any text as scan.json: an index or one sentence; what was read is written and read again without a loss.
#include "core/base/json.h"
#include "core/model/scan/scan_index.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto json = parse_json({reinterpret_cast<const char*>(data), size}, "scan.json");
  if (!json.ok()) return 0;
  auto index = scan_index_from_json(*json, "scan.json");
  fuzz::require(index.ok() || !index.error().message.empty(), "an error has a sentence");
  if (!index.ok()) return 0;
  auto again = scan_index_from_json(to_json(*index), "scan.json");
  fuzz::require(again.ok() && to_json(*again) == to_json(*index), "what was read can be written and read");
  return 0;
}
