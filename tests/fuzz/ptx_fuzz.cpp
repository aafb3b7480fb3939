// Any text as inline PTX assembly of a kernel: statements with an opcode each, or an error that names the construct.
#include "sandbox/device/cpu/lower/ptx/ptx_text.h"

#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto parsed = cpu::parse_ptx({reinterpret_cast<const char*>(data), size});
  if (!parsed.ok()) {
    fuzz::require(!parsed.error().message.empty(), "an error has a sentence");
    return 0;
  }
  for (auto& statement : parsed->statements) {
    fuzz::require(!statement.opcode.empty() && !statement.type().empty(), "a statement has an opcode");
    (void)statement.plain();
  }
  return 0;
}
