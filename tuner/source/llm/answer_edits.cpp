// See answer_edits.h.
#include "tuner/source/llm/answer_edits.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "core/base/words.h"
#include "tuner/space/kernel_template.h"
#include "tuner/space/knob_text.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kFewestMarks =
    5;  ///< Accepted length of a marker; models miscount the seven of "  std::vector<TuneDeclarations::Size> sizes;
for (auto& line : lines)
  if (speaks_of_launch(line) && result.complaint.empty())
    take_launch_line(without_outer_blanks(line), candidate, sizes, result.complaint);
if (!result.complaint.empty()) return result;
auto set = first_setting(mep, parent, std::move(candidate), std::move(sizes));
if (!set.ok()) {
  result.complaint = "The answer's text or launch does not fit together: " + set.error().message + ".";
  return result;
}
candidate = *std::move(set);
if (candidate.key() == before) {
  result.complaint = "The edits change nothing.";
  return result;
}
if (crlf) candidate.source = joined(lines_of(candidate.source), "\r\n");
result.candidate = std::move(candidate);
return result;
}  // namespace

}  // namespace kernelift::tuner
