// Any text: parsing ends, what was parsed prints as text that parses to the same tree, and simplification keeps values.
#include "core/model/launch/expression.h"

#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto parsed = Expression::parse({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) return 0;
  const std::string text = parsed->text();
  auto again = Expression::parse(text);
  fuzz::require(again.ok() && again->text() == text, "a printed expression parses to itself");
  Bindings values;
  int64_t next = 3;
  for (auto& name : parsed->variables()) values[name] = next = next * 7 % 1000 + 1;
  auto value = parsed->evaluate(values), simpler = parsed->simplified().evaluate(values);
  if (value.ok()) fuzz::require(simpler.ok() && *simpler == *value, "simplified() keeps the value");
  auto known = parsed->simplified(values);
  if (value.ok()) fuzz::require(known.evaluate({}).ok(), "with all values known nothing is left open");
  return 0;
}
