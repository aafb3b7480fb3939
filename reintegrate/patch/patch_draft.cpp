// Files are identified by their resolved path, so that two spellings of one path collect their edits in one place.
#include "reintegrate/patch/patch_draft.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

/// True if all lines of the text, and there are some, end with CR LF.
bool ends_with_returns(std::string_view text) {
  size_t at = text.find('\n');
  if (at == text.npos) return false;
  for (; at != text.npos; at = text.find('\n', at + 1))
    if (at == 0 || text[at - 1] != '\r') return false;
  return true;
}

/// Appends `more`, whose lines end with CR LF in `text`.
void append_with_returns(std::string& text, std::string_view more) {
  for (char c : more) {
    if (c == '\n' && !text.ends_with('\r')) text += '\r';
    text += c;
  }
}

/// The file's text with these edits. A file whose lines end alike keeps that, whatever an edit's text has.
Result<std::string> edited(const OpenFile& file, const std::vector<ByteEdit>& edits) {
  std::vector<size_t> order(edits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&edits](size_t a, size_t b) {
    return std::tuple(edits[a].begin, edits[a].end, a) < std::tuple(edits[b].begin, edits[b].end, b);
  });
  const bool returns = ends_with_returns(file.text);
  std::string text;
  uint64_t at = 0;
  for (size_t next : order) {
    const ByteEdit& edit = edits[next];
    if (edit.begin < at)
      return refused("two edits overlap in " + file.name + " near byte " + std::to_string(edit.begin) +
                     ": the kernel includes those lines twice, and the candidate changed them differently");
    text.append(file.text, at, edit.begin - at);
    if (returns) append_with_returns(text, edit.text);
    else text += edit.text;
    at = edit.end;
  }
  text.append(file.text, at, file.text.size() - at);
  return text;
}

}  // namespace

std::vector<OpenFile*> PatchDraft::included_from(OpenFile& file) {
  constexpr size_t kMost = 64;
  std::vector<OpenFile*> found{&file};
  for (size_t i = 0; i < found.size(); ++i)
    for (auto& line : found[i]->lines) {
      std::string_view text = trimmed(line.text);
      if (!text.starts_with("#")) continue;
      text = trimmed(text.substr(1));
      const size_t begin = text.find('"'), end = text.rfind('"');
      if (!text.starts_with("include") || begin == end || found.size() >= kMost) continue;
      const std::string name(text.substr(begin + 1, end - begin - 1));
      std::error_code code;
      for (auto& folder : {found[i]->path.parent_path(), q_.root}) {
        if (!fs::is_regular_file(folder / name, code) || is_outside((folder / name).string())) continue;
        auto opened = open((folder / name).string());
        if (opened.ok() && std::ranges::find(found, *opened) == found.end()) found.push_back(*opened);
        break;
      }
    }
  return found;
}

Result<OpenFile*> PatchDraft::open(const std::string& file) {
  if (auto found = files_.find(file); found != files_.end()) return &found->second;
  std::error_code code;
  fs::path real = fs::weakly_canonical(q_.root / file, code);  // Absolute where `file` is.
  if (!trees_.hold(real))
    return refused(real.string() + " would have to change, but it is outside the application (" +
                   trees_.root().string() + "), and --repo names no repository that it is in");
  OpenFile opened{real, real.lexically_relative(trees_.root()).string(), {}, {}};
  KERNELIFT_ASSIGN(opened.text, read_text(real));
  for (auto& [other, known] : files_)
    if (known.path == real) return &known;
  auto& kept = files_.emplace(file, std::move(opened)).first->second;
  kept.lines = split_lines(kept.text);
  return &kept;
}

bool PatchDraft::is_outside(const std::string& file) const {
  std::error_code code;
  return !trees_.hold(fs::weakly_canonical(q_.root / file, code));
}

bool PatchDraft::same_file(const std::string& spelled, const fs::path& path) const {
  std::error_code code;
  return fs::weakly_canonical(fs::path(spelled).is_absolute() ? fs::path(spelled) : q_.root / spelled, code) == path;
}

void PatchDraft::add(OpenFile& file, uint64_t begin, uint64_t end, std::string text, Author author) {
  std::string_view before = std::string_view(file.text).substr(begin, end - begin);
  if (before == text) return;
  for (auto& edit : edits_[&file])
    if (begin < end && edit.begin == begin && edit.end == end && edit.text == text)
      return;  // The slice contains this line twice, because its file is included twice.
  edits_[&file].push_back({file.name, begin, end, std::move(text), {}, author});
}

void PatchDraft::insert_in_place_of(OpenFile& file, uint64_t at, std::string text, std::string copied) {
  edits_[&file].push_back({file.name, at, at, std::move(text), {}, Author::Candidate, std::move(copied)});
}

void PatchDraft::add_knob(OpenFile& file, uint64_t begin, uint64_t end, const std::string& text) {
  knobs_[&file].push_back({file.name, begin, end, text, {}, Author::Knob});
  if (!is_edited(file, begin, end)) add(file, begin, end, text, Author::Knob);
}

void PatchDraft::add_build_line(OpenFile& file, const std::string& line) {
  const std::string newline(file.newline());
  const bool ended = file.text.empty() || file.text.back() == '\n';
  add(file, file.text.size(), file.text.size(), (ended ? "" : newline) + line + newline, Author::Generated);
  of_build_.insert(&file);
}

bool PatchDraft::is_edited(OpenFile& file, uint64_t begin, uint64_t end) const {
  auto found = edits_.find(&file);
  return found != edits_.end() &&
         std::ranges::any_of(found->second, [&](auto& edit) { return edit.begin <= begin && end <= edit.end; });
}

Result<SourcePatch> PatchDraft::finish() const {
  SourcePatch patch;
  for (auto& [file, edits] : edits_) {
    const bool again = again_.contains(file);
    if (edits.empty() && !again) continue;
    KERNELIFT_ASSIGN(std::string text, edited(*file, edits));
    if (text == file->text && !again) continue;
    FileChange change{file->path, file->name, file->text, std::move(text)};
    change.of_build = of_build_.contains(file);
    auto knobs = knobs_.find(file);
    std::vector<ByteEdit> declared = knobs == knobs_.end() ? std::vector<ByteEdit>() : knobs->second;
    KERNELIFT_ASSIGN(change.knobs, edited(*file, declared));
    for (auto& edit : edits) {
      if (edit.author == Author::Generated) declared.push_back(edit);
      if (!edit.copied.empty()) declared.push_back(edit), declared.back().text = edit.copied;
    }
    KERNELIFT_ASSIGN(change.declared, edited(*file, declared));
    patch.changes.push_back(std::move(change));
  }
  std::sort(patch.changes.begin(), patch.changes.end(), [](auto& a, auto& b) { return a.name < b.name; });
  const Recipe& recipe = q_.candidate.recipe;
  if (patch.changes.empty())
    return refused(recipe.is_default() ? "the candidate is the original: there is nothing to patch"
                                       : "the whole gain is in how the kernel is compiled (" + recipe.text() +
                                             "), which no change of the source can express");
  patch.notes = notes;
  patch.definitions = definitions;
  patch.reaches_others = reaches_others;
  return patch;
}

}  // namespace kernelift::reintegrate
