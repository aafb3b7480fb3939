// A candidate's size, which is computed from the kernel's parameters, beside a size as a launch of the application
// spells it: `ceil_div(n, TILE)` and `(count + TILE - 1) / TILE` are the same where the launch passes `count` for `n`.
#pragma once
#include <map>
#include <string>

#include "core/model/mep.h"
#include "reintegrate/patch/launch/guard_arithmetic.h"

namespace kernelift::reintegrate {

std::string place_of(const SourceRange& range);  ///< For messages: "solver.cu:41".

/// The text of one of the launch's sizes or arguments as an operand: in brackets if a macro in it expands to several.
std::string as_operand(const LaunchSite& site, const std::string& text);

/// What the launch passes for the kernel's parameters, as operands; without those whose text calls a function or
/// has side effects, which must not be evaluated once more.
std::map<std::string, std::string> plain_arguments(const Mep& mep, const LaunchSite& site);

/// The number that a kernel gets for the text that a launch passes for `variable` ("n", or "params.n"): converted to
/// the parameter's type first, as the launch does. Also of a size of the launch, "gridDim.x".
AskedNumber as_kernel_sees(const Mep& mep, const LaunchSite& site, const std::string& variable,
                           const std::string& text);

/// Whether the launch's own size is the candidate's, whatever its variables are. False where that is not known.
bool same_size(const Expression& wanted, const Expression& spelled,
               const std::map<std::string, std::string>& arguments);

/// Whether evaluating the text once more could change anything: it assigns, or counts up or down.
bool has_effects(std::string_view text);
/// Whether the text calls a function.
bool calls_something(std::string_view text);

}  // namespace kernelift::reintegrate
