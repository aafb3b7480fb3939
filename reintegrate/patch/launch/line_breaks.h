// Breaks generated arguments over several lines, as somebody who wrote them would.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/model/mep.h"
#include "reintegrate/patch/launch/byte_edit.h"

namespace kernelift::reintegrate {

/// The longest line that a generated text may make of the file: its own longest, or 100 columns.
size_t line_limit(std::string_view file);

/// `arguments` ("dim3(a, b), 64") with line breaks after commas, where a line would have more than `limit` characters:
/// between the arguments and between those of dim3. `before` and `after`: what stands on the line on both sides of
/// them. Further lines are aligned with the first argument. `newline`: the file's line end.
std::string broken_at_commas(std::string_view arguments, std::string_view before, std::string_view after, size_t limit,
                             std::string_view newline);

/// Breaks the launch's line where the edits of its kernel, grid and block make it longer than the file's lines are.
void break_line_of(const LaunchSite& site, std::string_view file, std::vector<ByteEdit>& edits);

}  // namespace kernelift::reintegrate
