// See slice_lines.h.
#include "reintegrate/patch/slice_lines.h"

#include "core/base/hash.h"

namespace kernelift::reintegrate {

bool SliceLines::traced(size_t line) const {
  return line < before_.size() && !mep_.origins[line].file.empty() && mep_.origins[line].line > 0;
}

Error SliceLines::changed_since(const OpenFile& file, uint32_t line) const {
  return refused(file.name + ":" + std::to_string(line) +
                 " is not the line that was extracted: the file has changed since then" + kScanAgain);
}

Result<std::pair<uint64_t, uint64_t>> SliceLines::trace(size_t line, OpenFile*& file) {
  const LineOrigin& origin = mep_.origins[line];
  KERNELIFT_ASSIGN(file, draft_.open(origin.file));
  if (origin.line > file->lines.size()) return changed_since(*file, origin.line);
  std::string_view there = file->lines[origin.line - 1].text, here = before_[line].text;
  uint64_t begin = file->offset(origin.line - 1);
  if (there == here) return std::pair{begin, begin + there.size()};
  size_t at = here.empty() ? there.npos : there.find(here);
  if (at == there.npos || there.find(here, at + 1) != there.npos) return changed_since(*file, origin.line);
  return std::pair{begin + at, begin + at + here.size()};
}

Status SliceLines::check_unchanged() {
  for (size_t line = 0; line < before_.size(); ++line) {
    if (!traced(line) || draft_.is_outside(mep_.origins[line].file)) continue;
    OpenFile* file = nullptr;
    const LineOrigin& origin = mep_.origins[line];
    KERNELIFT_ASSIGN(file, draft_.open(origin.file));
    if (is_as_extracted(origin.file, *file)) continue;
    if (origin.line > file->lines.size()) return changed_since(*file, origin.line);
    std::string_view here = before_[line].text, there = file->lines[origin.line - 1].text;
    // If the file has changed, a part of a line cannot be matched reliably: the whole line must be equal.
    bool same = mep_.origin_hashes.contains(origin.file) ? here == there : could_be_sliced(here, there);
    if (!same) return changed_since(*file, origin.line);
  }
  return done();
}

bool SliceLines::is_as_extracted(const std::string& name, const OpenFile& file) {
  auto then = mep_.origin_hashes.find(name);
  if (then == mep_.origin_hashes.end()) return false;
  auto [now, is_new] = hashes_.try_emplace(&file);
  if (is_new) now->second = hash_text(file.text).hex();
  return now->second == then->second;
}

Status SliceLines::check_copies(const std::vector<Hunk>& hunks) const {
  std::map<size_t, std::string> edited;
  for (auto& hunk : hunks) {
    bool paired = hunk.old_end - hunk.old_begin == hunk.new_end - hunk.new_begin;
    for (size_t line = hunk.old_begin; line < hunk.old_end; ++line)
      edited[line] = paired ? std::string(after_[hunk.new_begin + line - hunk.old_begin].text)
                            : "\n" + std::to_string(hunk.new_end - hunk.new_begin);
  }
  std::map<std::pair<std::string, uint32_t>, std::vector<size_t>> copies;
  for (size_t line = 0; line < before_.size(); ++line)
    if (traced(line)) copies[{mep_.origins[line].file, mep_.origins[line].line}].push_back(line);
  for (auto& [line, text] : edited) {
    if (!traced(line)) continue;
    for (size_t other : copies[{mep_.origins[line].file, mep_.origins[line].line}]) {
      if (other == line || before_[other].text != before_[line].text) continue;
      auto found = edited.find(other);
      if (found == edited.end() || found->second != text)
        return refused(location(line) +
                       " is included more than once, and the candidate changes only one of its copies");
    }
  }
  return done();
}

Status SliceLines::edit(const Hunk& hunk) {
  size_t old_count = hunk.old_end - hunk.old_begin, new_count = hunk.new_end - hunk.new_begin;
  if (old_count == 0) return insert(hunk);
  for (size_t line = hunk.old_begin; line < hunk.old_end; ++line)
    if (!traced(line))
      return refused("line " + std::to_string(line + 1) + " of the extracted kernel ('" +
                     std::string(before_[line].text) +
                     "') was written by the extractor and does not exist in the application");
  // Either the lines are consecutive in one file, or they are replaced one by one.
  bool consecutive = true;
  for (size_t line = hunk.old_begin + 1; line < hunk.old_end; ++line)
    consecutive &= mep_.origins[line].file == mep_.origins[line - 1].file &&
                   mep_.origins[line].line == mep_.origins[line - 1].line + 1;
  if (!consecutive && old_count != new_count) {
    const LineOrigin &first = mep_.origins[hunk.old_begin], &last = mep_.origins[hunk.old_end - 1];
    return refused("the edit from " + first.file + ":" + std::to_string(first.line) + " to " + last.file + ":" +
                   std::to_string(last.line) + " spans lines that are not adjacent in the application");
  }
  if (consecutive && old_count != new_count) return replace_run(hunk);
  for (size_t i = 0; i < old_count; ++i) {
    OpenFile* file = nullptr;
    KERNELIFT_ASSIGN(auto range, trace(hunk.old_begin + i, file));
    draft_.add(*file, range.first, range.second, std::string(after_[hunk.new_begin + i].text));
  }
  return done();
}

Status SliceLines::replace_run(const Hunk& hunk) {
  OpenFile* file = nullptr;
  KERNELIFT_ASSIGN(auto first, trace(hunk.old_begin, file));
  KERNELIFT_ASSIGN(auto last, trace(hunk.old_end - 1, file));
  size_t last_index = mep_.origins[hunk.old_end - 1].line - 1;
  bool whole = first.first == file->offset(mep_.origins[hunk.old_begin].line - 1) &&
               last.second == file->offset(last_index) + file->lines[last_index].text.size();
  if (!whole) return refused("the edit at " + location(hunk.old_begin) + " replaces part of a line by several");
  std::string text;
  for (size_t n = hunk.new_begin; n < hunk.new_end; ++n)
    text += (n > hunk.new_begin ? std::string(file->newline()) : "") + std::string(after_[n].text);
  uint64_t begin = first.first, end = last.second;
  if (hunk.new_begin == hunk.new_end) {  // Line ends are deleted together with their lines.
    end = file->offset(last_index + 1);
    if (file->lines[last_index].end.empty() && begin > 0)
      begin -= file->lines[mep_.origins[hunk.old_begin].line - 2].end.size();
  }
  draft_.add(*file, begin, end, text);
  return done();
}

Status SliceLines::insert(const Hunk& hunk) {
  size_t next = hunk.old_begin;
  bool after_previous = next > 0 && traced(next - 1) &&
                        (!traced(next) || (mep_.origins[next].file == mep_.origins[next - 1].file &&
                                           mep_.origins[next].line == mep_.origins[next - 1].line + 1));
  if (!after_previous && !traced(next))
    return refused("the candidate adds '" + std::string(after_[hunk.new_begin].text) +
                   "' at a position that is not next to any line of the application");
  size_t anchor = after_previous ? next - 1 : next;
  OpenFile* file = nullptr;
  KERNELIFT_ASSIGN(auto range, trace(anchor, file));
  size_t index = mep_.origins[anchor].line - 1;
  if (range.second - range.first != file->lines[index].text.size())
    return refused("the candidate adds lines next to " + location(anchor) +
                   ", but the kernel contains only a part of that line");
  std::string text;
  std::string newline(file->newline());
  for (size_t n = hunk.new_begin; n < hunk.new_end; ++n) text += std::string(after_[n].text) + newline;
  uint64_t at = file->offset(after_previous ? index + 1 : index);
  if (after_previous && file->lines[index].end.empty()) {  // The file's last line keeps having no line end.
    text = newline + text.substr(0, text.size() - newline.size());
    at = file->text.size();
  }
  draft_.add(*file, at, at, text);
  return done();
}

std::string SliceLines::location(size_t line) const {
  return mep_.origins[line].file + ":" + std::to_string(mep_.origins[line].line);
}

}  // namespace kernelift::reintegrate
