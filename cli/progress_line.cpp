// "tried 12 (3 failed)  best at least 1.250x source: …  now compiler  1m 30s left"
#include "cli/progress_line.h"

#include <algorithm>
#include <cstdio>

#include "cli/duration.h"
#include "core/base/shown/outside_text.h"

namespace kernelift::cli {

namespace {

/// At most `width` characters, up to the end of a word where there is one.
std::string shortened(const std::string& text, size_t width) {
  constexpr size_t kMark = 4;  // Bytes of " …".
  if (width <= kMark || whole_characters(text, width).size() == text.size())
    return std::string(whole_characters(text, width));
  const std::string_view whole = whole_characters(text, width - kMark);
  const size_t word = whole.rfind(' ');
  return std::string(word == whole.npos ? whole : whole.substr(0, word)) + " …";
}

}  // namespace

std::string progress_line(const tuner::Progress& progress, size_t columns) {
  constexpr size_t kNoteWidth = 60;
  char best[32];
  std::snprintf(best, sizeof best, "%.3fx", progress.best);
  const bool found = !progress.best_note.empty();
  std::string line = "tried " + std::to_string(progress.tried) + " (" + std::to_string(progress.failed) +
                     " failed)  best " + (found ? "at least " : "") + best;
  std::string end = "  now " + progress.tier;
  if (!progress.spending.empty()) end += "  " + progress.spending;
  if (progress.seconds_left >= 0) end += "  " + duration_words(progress.seconds_left) + " left";
  else if (progress.evaluations_left >= 0) end += "  " + std::to_string(progress.evaluations_left) + " left";
  size_t note_width =
      columns > line.size() + end.size() + 2 ? std::min(kNoteWidth, columns - line.size() - end.size() - 2) : 0;
  if (found && note_width > 0) line += " " + shortened(shown_line(progress.best_note), note_width);
  return std::string(whole_characters(line + end, columns > 0 ? columns - 1 : 0));
}

}  // namespace kernelift::cli
