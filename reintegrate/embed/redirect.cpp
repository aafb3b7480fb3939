// `k<<<grid, block, shared, stream>>>(a, b)` becomes `L::launch(k, grid, block, shared, stream)(a, b)`: "k<<<" and
// ">>>" are replaced, the text between and after them stays. If a site launches several kernels, or several instances
// of one template, it becomes `L::launch_one(tuned, k, …)`, and the launcher compares the two at run time.
#include "reintegrate/embed/redirect.h"

#include <cstring>
#include <optional>

#include "core/base/words.h"
#include "reintegrate/patch/launch/site_terms.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {
namespace {

/// Offset of the `>>>` that closes the launch configuration beginning at `at` and is followed by the arguments.
std::optional<size_t> closing_chevrons(std::string_view text, size_t at) {
  int depth = 0;
  while (at < text.size()) {
    if (size_t past = past_quoted(text, at); past != at) {
      at = past;
      continue;
    }
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    if (depth == 0 && text.substr(at, 3) == ">>>" && trimmed(text.substr(at + 3)).starts_with("(")) return at;
    ++at;
  }
  return std::nullopt;
}

bool is_template_instance(const Mep& mep) { return mep.kernel_name.find('<') != std::string::npos; }

bool is_plain_name(std::string_view text) {
  for (char c : text)
    if (!word_character(c) && c != ':') return false;
  return !text.empty();
}

std::string_view last_identifier(std::string_view name) {
  size_t colon = name.rfind(':');
  return trimmed(colon == name.npos ? name : name.substr(colon + 1));
}

class Redirection {
 public:
  Redirection(const Mep& mep, const LaunchSite& site, const std::string& source, const std::string& launcher)
      : mep_(mep),
        site_(site),
        source_(source),
        launcher_(launcher),
        described_("the launch at " + place_of(site.range)) {}

  Result<std::vector<ByteEdit>> run() {
    for (auto unnamed : {"lambda", "unnamed", "anonymous class", "$_"})
      if (mep_.kernel_name.find(unnamed) != std::string::npos)
        return refused("'" + mep_.kernel_name + "' is instantiated for a type without a name: " + described_ +
                       " could not name the tuned kernel");
    if (site_.through_macro) return refused(described_ + " is written by a macro: it cannot be redirected in place");
    if (site_.range.begin >= site_.range.end || site_.range.end > source_.size()) return moved();
    if (!site_.launcher.empty())
      return refused(described_ + " is a call of " + site_.launcher +
                     ", which launches it: embedded code replaces no launch there");
    std::string_view call = std::string_view(source_).substr(site_.range.begin, site_.range.end - site_.range.begin);
    std::string_view name = call.starts_with("::") ? call.substr(2) : call;
    size_t length = 0;
    while (length < name.size() && word_character(name[length])) ++length;
    std::string function(name.substr(0, length));
    if (function.starts_with("cudaLaunch") || function.starts_with("hipLaunch")) return packed(function, call);
    return chevrons(call);
  }

 private:
  Error moved() const {
    return refused(described_ +
                   " is not where the scan found it: the file has changed since; run `kernelift scan`, `record` and "
                   "`extract` again");
  }
  void replace(size_t begin, size_t end, std::string text) {
    edits_.push_back(
        {site_.range.file, site_.range.begin + begin, site_.range.begin + end, std::move(text), described_});
  }

  Result<std::vector<ByteEdit>> packed(const std::string& function, std::string_view call) {
    if (function != "cudaLaunchKernel")
      return refused(described_ + " is a call of " + function +
                     ", which the launcher of embedded code does not replace");
    size_t open = call.find('(');
    if (open == call.npos) return moved();
    replace(0, open + 1, launcher_ + "launch_packed(" + mep_.kernel_name + ", ");
    return std::move(edits_);
  }

  Result<std::vector<ByteEdit>> chevrons(std::string_view call) {
    size_t open = call.find("<<<");
    if (site_.grid_range.begin > site_.range.begin && site_.grid_range.begin < site_.range.end)
      open = call.rfind("<<<", site_.grid_range.begin - site_.range.begin);
    if (open == call.npos) return moved();
    auto close = closing_chevrons(call, open + 3);
    std::string_view callee = trimmed(call.substr(0, open));
    if (!close || callee.empty()) return moved();
    if (site_.argument_text.size() < mep_.parameters.size())
      return refused(described_ + " relies on default arguments, which a launch through a function pointer cannot use");
    bool alone = site_.kernels.size() <= 1;
    // A callee with another name is a variable, which may hold any kernel.
    bool own_name = is_plain_name(callee) &&
                    last_identifier(callee) ==
                        last_identifier(std::string_view(mep_.kernel_name).substr(0, mep_.kernel_name.find('<')));
    if (!alone && own_name && !is_template_instance(mep_))
      return refused(described_ + " serves " + std::to_string(site_.kernels.size()) + " kernels by the one name '" +
                     std::string(callee) + "': the launcher could not distinguish them");
    std::string head = launcher_;
    if (alone && callee == mep_.kernel_name) {
      head += "launch(" + mep_.kernel_name;
    } else if (!is_template_instance(mep_)) {
      head += alone && own_name ? "launch(" + std::string(callee)
                                : "launch_one(" + mep_.kernel_name + ", " + std::string(callee);
    } else if (callee.back() == '>' || !own_name) {
      head += "launch_one(" + mep_.kernel_name + ", " + std::string(callee);
    } else if (alone) {
      head += "launch(" + mep_.kernel_name;
    } else {
      return refused(described_ +
                     " leaves it to the compiler which instance of the template it launches: the launcher could not "
                     "distinguish the instances");
    }
    replace(0, open + 3, head + ", ");
    replace(*close, *close + 3, ")");
    return std::move(edits_);
  }

  const Mep& mep_;
  const LaunchSite& site_;
  const std::string& source_;
  const std::string& launcher_;
  std::string described_;
  std::vector<ByteEdit> edits_;
};

}  // namespace

Result<std::vector<ByteEdit>> redirect_launch(const Mep& mep, const LaunchSite& site, const std::string& source,
                                              const std::string& launcher) {
  return Redirection(mep, site, source, launcher).run();
}

uint64_t include_offset(const std::string& source) {
  std::string_view text = source;
  int braces = 0, conditions = 0, fewest = 1 << 20;
  const size_t begin = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;  // A byte order mark stays the first thing.
  size_t place = text.npos, after_pragma = begin;
  for (size_t at = begin; at < text.size();) {
    size_t line = at;  // `at` is the beginning of a line here.
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    if (at < text.size() && text[at] == '#') {
      size_t end = at;
      do end = std::min(text.find('\n', end), text.size() - 1) + 1;
      while (end < text.size() && end >= 2 &&
             (text[end - 2] == '\\' || (end >= 3 && text[end - 2] == '\r' && text[end - 3] == '\\')));
      std::string_view directive = trimmed(text.substr(at + 1, end - at - 1));
      if (directive.starts_with("if")) ++conditions;
      else if (directive.starts_with("endif")) --conditions;
      else if (directive.starts_with("include") && braces == 0 && conditions < fewest)
        place = line, fewest = conditions;
      else if (directive.starts_with("pragma") && directive.ends_with("once")) after_pragma = end;
      at = end;
      continue;
    }
    for (; at < text.size() && text[at] != '\n';) {
      if (size_t past = past_quoted(text, at); past != at) {
        at = past;
        continue;
      }
      braces += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      ++at;
    }
    if (at < text.size()) ++at;
  }
  return place == text.npos ? after_pragma : place;
}

}  // namespace kernelift::reintegrate
