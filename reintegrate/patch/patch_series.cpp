// Three texts are merged as by diff3, with the differences of text_diff: lines that only one side changed are that
// side's.
#include "reintegrate/patch/patch_series.h"

#include <algorithm>

#include "core/base/file.h"
#include "reintegrate/patch/text_diff.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// A text under construction, whose last line may have had no end.
class Lines {
 public:
  void add(const std::vector<TextLine>& lines, size_t begin, size_t end) {
    for (; begin < end; ++begin) {
      if (!text.empty() && text.back() != '\n') text += '\n';
      text += lines[begin].text, text += lines[begin].end;
    }
  }
  std::string text;
};

/// Two changes of one text that cannot both be made: they replace a line that the other replaces, too.
bool overlap(const Hunk& a, const Hunk& b) {
  if (a.old_begin == a.old_end || b.old_begin == b.old_end) {  // An insertion may lie at the other's edge.
    const Hunk& insertion = a.old_begin == a.old_end ? a : b;
    const Hunk& other = &insertion == &a ? b : a;
    return other.old_begin < insertion.old_begin && insertion.old_begin < other.old_end;
  }
  return a.old_begin < b.old_end && b.old_begin < a.old_end;
}

}  // namespace

Result<std::string> carry_over(const std::string& name, const std::string& base, const std::string& changed,
                               const std::string& now) {
  if (now == base) return changed;
  const auto from = split_lines(base), ours = split_lines(now), theirs = split_lines(changed);
  const std::vector<Hunk> mine = diff_lines(from, ours), other = diff_lines(from, theirs);
  auto equal = [&](const Hunk& a, const Hunk& b) {
    if (a.old_begin != b.old_begin || a.old_end != b.old_end || a.new_end - a.new_begin != b.new_end - b.new_begin)
      return false;
    for (size_t i = 0; i < a.new_end - a.new_begin; ++i)
      if (ours[a.new_begin + i].text != theirs[b.new_begin + i].text) return false;
    return true;
  };
  Lines merged;
  size_t at = 0, i = 0, k = 0;
  while (i < mine.size() || k < other.size()) {
    if (i < mine.size() && k < other.size()) {
      if (equal(mine[i], other[k])) {
        ++k;
        continue;
      }
      if (overlap(mine[i], other[k]))
        return refused("line " + std::to_string(std::max(mine[i].old_begin, other[k].old_begin) + 1) + " of " + name +
                       " would have to change in two ways");
    }
    auto place = [](const Hunk& hunk) { return std::pair(hunk.old_begin, hunk.old_end); };  // Insertions first.
    const bool first = k == other.size() || (i < mine.size() && place(mine[i]) <= place(other[k]));
    const Hunk& hunk = first ? mine[i++] : other[k++];
    merged.add(from, at, hunk.old_begin);
    merged.add(first ? ours : theirs, hunk.new_begin, hunk.new_end);
    at = hunk.old_end;
  }
  merged.add(from, at, from.size());
  return std::move(merged.text);
}

Status PatchSeries::add(const SourcePatch& patch) {
  for (const SourcePatch& other : steps_)
    for (auto [embeds, changes] : {std::pair(&other, &patch), std::pair(&patch, &other)})
      if (embeds->embeds() && changes->users_of_new_values.contains(embeds->kernel_id))
        return refused("it changes a constant with whose old value the embedded code of " + embeds->launcher +
                       " was compiled");
  SourcePatch step = patch;
  std::map<fs::path, FileChange> files = files_;
  for (auto& change : step.changes) {
    auto known = files.find(change.path);
    std::error_code code;
    if (change.created) {
      if (known != files.end() || fs::exists(change.path, code))
        return refused("the file " + change.name + ", which the patch creates, exists already");
      files.emplace(change.path, change);
      continue;
    }
    if (known == files.end()) {
      FileChange whole = change;
      KERNELIFT_ASSIGN(whole.before, read_text(change.path));
      whole.after = whole.before;
      known = files.emplace(change.path, std::move(whole)).first;
    }
    const std::string now = known->second.after;
    for (std::string* text : {&change.knobs, &change.declared, &change.after}) {
      KERNELIFT_ASSIGN(*text, carry_over(change.name, change.before, *text, now));
    }
    change.before = now, known->second.after = change.after;
  }
  for (auto& [path, earlier] : files_) {
    if (std::ranges::any_of(step.changes, [&](auto& change) { return change.path == path; })) continue;
    const std::string& now = earlier.after;
    step.changes.push_back({path, earlier.name, now, now, false, now, now, earlier.of_build});
  }
  files_ = std::move(files);
  steps_.push_back(std::move(step));
  return done();
}

SourcePatch PatchSeries::whole() const {
  if (steps_.size() == 1) return steps_[0];
  SourcePatch whole;
  for (auto& [path, change] : files_) whole.changes.push_back(change);
  std::ranges::sort(whole.changes, {}, &FileChange::name);
  for (auto& step : steps_) {
    whole.notes.insert(whole.notes.end(), step.notes.begin(), step.notes.end());
    whole.macros.insert(whole.macros.end(), step.macros.begin(), step.macros.end());
    whole.definitions.insert(whole.definitions.end(), step.definitions.begin(), step.definitions.end());
    whole.reaches_others |= step.reaches_others;
  }
  return whole;
}

std::vector<std::string> PatchSeries::launchers() const {
  std::vector<std::string> names;
  for (auto& step : steps_)
    if (step.embeds()) names.push_back(step.launcher);
  return names;
}

}  // namespace kernelift::reintegrate
