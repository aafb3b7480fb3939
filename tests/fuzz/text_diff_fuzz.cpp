// Two texts: the hunks between them, applied to the first, give the second.
#include "reintegrate/patch/text_diff.h"

#include "tests/fuzz/fuzz.h"

using namespace kernelift;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  size_t middle = std::min(text.find('\0'), text.size());
  std::string_view from = text.substr(0, middle), to = text.substr(std::min(middle + 1, text.size()));
  auto old_lines = reintegrate::split_lines(from), new_lines = reintegrate::split_lines(to);
  size_t at = 0, next = 0;
  for (auto& hunk : reintegrate::diff_lines(old_lines, new_lines)) {
    fuzz::require(hunk.old_begin >= at && hunk.new_begin >= next, "hunks are in order");
    fuzz::require(hunk.old_begin - at == hunk.new_begin - next, "between hunks nothing changes");
    for (; at < hunk.old_begin; ++at, ++next)
      fuzz::require(old_lines[at].text == new_lines[next].text, "lines between hunks are equal");
    at = hunk.old_end, next = hunk.new_end;
    fuzz::require(at <= old_lines.size() && next <= new_lines.size(), "hunks are inside the texts");
  }
  fuzz::require(old_lines.size() - at == new_lines.size() - next, "what follows the last hunk is equal");
  (void)reintegrate::unified_diff("a.cu", from, to);
  return 0;
}
