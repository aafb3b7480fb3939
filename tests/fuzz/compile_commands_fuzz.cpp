// Any text as compile_commands.json, and any words as a compiler's command line.
#include "core/base/file.h"
#include "extractor/source/compile_database.h"
#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const TemporaryFolder folder = std::move(*TemporaryFolder::create("kernelift-fuzz"));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 0 && data[0] == '[') {
    fuzz::put(folder.path() / "compile_commands.json", text);
    auto read = extractor::read_compile_database(folder.path() / "compile_commands.json");
    fuzz::require(read.ok() || !read.error().message.empty(), "an error has a sentence");
    return 0;
  }
  std::vector<std::string> words{"nvcc"};
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    words.emplace_back(text.substr(at, end - at)), at = end + 1;
  }
  auto command = parse_compiler_command(words, folder.path());
  if (command.ok()) (void)command->frontend_flags();
  return 0;
}
