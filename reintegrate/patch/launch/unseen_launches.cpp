// Which launches the text has beside those that the scan has seen; see unseen_launches.h.
#include "reintegrate/patch/launch/unseen_launches.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "core/base/words.h"
#include "core/model/kernel_key.h"
#include "reintegrate/patch/kernel_beside.h"
#include "reintegrate/patch/source_patch.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// The offset behind blanks, comments and the ends of lines.
size_t past_blanks(std::string_view text, size_t at) {
  for (size_t next = at; at < text.size(); at = next) {
    next = std::isspace(static_cast<unsigned char>(text[at])) || text[at] == '\\' ? at + 1
           : text[at] == '/'                                                      ? past_quoted(text, at)
                                                                                  : at;
    if (next == at) break;
  }
  return at;
}

/// Where the <<< is behind the name of a kernel that ends at `at`, perhaps with template arguments first; npos: it is
/// not launched.
size_t launch_behind(std::string_view text, size_t at) {
  at = past_blanks(text, at);
  if (text.substr(at).starts_with("<<<")) return at;
  if (at == text.size() || text[at] != '<') return text.npos;
  for (int open = 0; at < text.size() && text[at] != ';' && text[at] != '{'; ++at) {
    if (text[at] == '(') at = std::min(closing_bracket(text, at), text.size() - 1);
    open += text[at] == '<' ? 1 : text[at] == '>' ? -1 : 0;
    if (open > 0) continue;
    at = past_blanks(text, at + 1);
    return text.substr(at).starts_with("<<<") ? at : text.npos;
  }
  return text.npos;
}

/// The arguments of the call that a kernel's name at `at` is given to, if that may be a launch: by the runtime's
/// functions, or by a macro, which is spelled in capitals. npos: it is given to none.
std::pair<size_t, size_t> launch_around(std::string_view text, size_t at) {
  constexpr size_t kFarthest = 2000;
  int closed = 0;
  for (size_t open = at; open > 0 && at - open < kFarthest; --open) {
    const char c = text[open - 1];
    if (c == ';' || c == '{' || c == '}') break;
    closed += c == ')' ? 1 : c == '(' ? -1 : 0;
    if (closed >= 0) continue;
    closed = 0;
    size_t end = open - 1;
    while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
    size_t begin = end;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string_view name = text.substr(begin, end - begin);
    const bool capitals = name.size() > 1 &&
                          std::ranges::none_of(name, [](unsigned char one) { return std::islower(one); }) &&
                          std::isalpha(static_cast<unsigned char>(name[0]));
    if (capitals || name.starts_with("cudaLaunch") || name.starts_with("hipLaunch"))
      return {open, closing_bracket(text, open - 1)};
    if (!name.empty()) break;  // Another function's, such as one that asks for the kernel's occupancy.
  }
  return {text.npos, text.npos};
}

/// The end of the line that begins at `at`, with the lines that continue it.
size_t line_end(std::string_view text, size_t at) {
  for (;; ++at) {
    at = std::min(text.find('\n', at), text.size());
    if (at == text.size() || !trimmed(text.substr(0, at)).ends_with('\\')) return at;
  }
}

}  // namespace

std::vector<LeftOutLaunch> launches_in_conditionals(std::string_view text, const std::string& kernel,
                                                    const std::vector<std::pair<uint64_t, uint64_t>>& seen) {
  std::vector<LeftOutLaunch> found;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '#') {
      const size_t word = past_blanks(text, at + 1);
      const std::string_view directive = text.substr(word, end_of_word(text, word) - word);
      depth += directive.starts_with("if") ? 1 : directive == "endif" ? -1 : 0;
      at = line_end(text, at);  // What a macro launches is seen where the macro is used.
      continue;
    }
    if (size_t past = past_quoted(text, at); past != at) {
      at = past;
      continue;
    }
    const size_t end = end_of_word(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    const bool named = depth > 0 && text.substr(at, end - at) == kernel;
    const size_t open = named ? launch_behind(text, end) : text.npos;
    const auto [begin, close] = named && open == text.npos ? launch_around(text, at) : std::pair(text.npos, text.npos);
    size_t first = at;  // Its namespaces stand before it.
    while (first > 0 && (word_character(text[first - 1]) || text[first - 1] == ':')) --first;
    const bool known = std::ranges::any_of(seen, [&](auto& site) {
      return (first <= site.first && site.first <= at) || (site.first <= at && at < site.second);
    });
    const auto line = [&] { return static_cast<uint32_t>(1 + std::ranges::count(text.substr(0, at), '\n')); };
    if (open != text.npos && !known)
      found.push_back({line(), text.substr(open + 3, std::min(text.find(">>>", open), text.size()) - open - 3)});
    else if (begin != text.npos && !known) found.push_back({line(), text.substr(begin, close - begin)});
    at = end;
  }
  return found;
}

Status check_unseen_launches(const PatchQuestion& question, const KernelFamily& family, bool geometry_changes,
                             const Bindings& followed, PatchDraft& draft) {
  if (!family.kernel()) return done();
  const std::string named = "'" + question.mep.kernel_name + "'";
  const ScanIndex& scan = *question.scan;
  if (geometry_changes)
    for (auto& pointer : scan.pointers)
      if (std::ranges::any_of(pointer.kernels, [&](auto& id) { return family.contains(id); }))
        return refused("the launch of " + named + " would change, but its address is taken at " + pointer.range.file +
                       ":" + std::to_string(pointer.range.line) +
                       ", and it is not known which launches use that pointer");
  std::set<fs::path> files;
  auto add = [&](const fs::path& file) {
    std::error_code code;
    fs::path path = fs::weakly_canonical(file.is_absolute() ? file : question.root / file, code);
    if (!code && !draft.is_outside(path.string())) files.insert(path);
  };
  add(family.kernel()->definition.file);
  for (auto& unit : scan.units) add(fs::path(unit.folder) / unit.file);
  for (auto& site : scan.launches) add(site.range.file);
  const std::string name = own_name(question.mep.kernel_name);
  for (auto& path : files) {
    auto text = read_text(path);
    if (!text.ok() || text->find(name) == text->npos) continue;
    std::vector<std::pair<uint64_t, uint64_t>> seen;
    for (auto& site : scan.launches)
      if (draft.same_file(site.range.file, path)) seen.emplace_back(site.range.begin, site.range.end);
    for (auto& [line, configuration] : launches_in_conditionals(*text, name, seen)) {
      const std::string where = path.lexically_relative(question.root).string() + ":" + std::to_string(line);
      const std::string_view spelled = configuration;
      const bool follows = !followed.empty() && std::ranges::all_of(followed, [&](auto& knob) {
        return !whole_words(spelled, unqualified_name(knob.first)).empty();
      });
      if (geometry_changes && !follows)
        return refused("the launch of " + named + " would change, but " + where +
                       " launches it too, in code that this build leaves out and that a patch does not change");
      draft.notes.push_back("The launch of " + named + " at " + where +
                            " is in code that this build leaves out: nothing was tried there.");
    }
  }
  return done();
}

}  // namespace kernelift::reintegrate
