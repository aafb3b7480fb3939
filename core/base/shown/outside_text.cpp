// See outside_text.h. One decoder reads the text character by character; what each sink allows differs only in line
// breaks and in the characters that it escapes.
#include "core/base/shown/outside_text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>

namespace kernelift {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool sound = false;  ///< Well-formed UTF-8; otherwise `code` is the one byte.
};

Character character_at(std::string_view text, size_t at) {
  auto byte = [&](size_t offset) { return static_cast<unsigned char>(text[at + offset]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (length == 1 || first > 0xf4 || at + length > text.size()) return {first, 1, false};
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[length] || code > 0x10ffff || surrogate) return {first, 1, false};
  return {code, length, true};
}

struct Span {
  uint32_t first, last;
};

/// Characters that are not seen, or that change how their neighbours are: general punctuation without a width, marks
/// and embeddings of the direction, line and paragraph separators, fillers, tags, and the private and unassigned last
/// planes.
constexpr Span kHidden[] = {{0x7f, 0x9f},     {0xad, 0xad},       {0x34f, 0x34f},   {0x61c, 0x61c},   {0x115f, 0x1160},
                            {0x17b4, 0x17b5}, {0x180b, 0x180f},   {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
                            {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb},
                            {0xfffe, 0xffff}, {0xe0000, 0x10ffff}};

bool hidden(uint32_t code) {
  return code < ' ' || std::any_of(
                           std::begin(kHidden), std::end(kHidden),
                           [&](const Span& span) { return code >= span.first && code <= span.last; });
}

std::string visible(const Character& character) {
  char text[16];
  if (!character.sound || character.code < 0x80) std::snprintf(text, sizeof text, "\\x%02x", character.code);
  else std::snprintf(text, sizeof text, character.code > 0xffff ? "\\U%08x" : "\\u%04x", character.code);
  return text;
}

enum class Breaks { Blanks, Kept };

/// Calls `put` with each character as it is shown, and with where it begins, until it returns false.
template <class Put>
void for_each_shown(std::string_view text, Breaks breaks, Put&& put) {
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::string_view own = text.substr(at, character.bytes);
    const size_t begin = at;
    at += character.bytes;
    const bool blank = character.code == '\n' || character.code == '\t' || character.code == '\r';
    // A carriage return before a line break is part of it; any other would hide the beginning of its line.
    bool go_on = true;
    if (!blank && (!character.sound || hidden(character.code))) go_on = put(visible(character), begin);
    else if (!blank) go_on = put(own, begin);
    else if (breaks == Breaks::Blanks) go_on = put(std::string_view(" "), begin);
    else if (character.code != '\r') go_on = put(own, begin);
    else if (at >= text.size() || text[at] != '\n') go_on = put(std::string_view("\\r"), begin);
    if (!go_on) return;
  }
}

std::string left_out(size_t bytes) { return " … (" + std::to_string(bytes) + " more bytes)"; }

template <class Escape>
std::string escaped(std::string_view text, Breaks breaks, Escape&& escape) {
  std::string out;
  for_each_shown(text, breaks, [&](std::string_view piece, size_t) {
    escape(piece, out);
    return true;
  });
  return out;
}

}  // namespace

std::string shown_line(std::string_view text, size_t most) {
  std::string out;
  for_each_shown(text, Breaks::Blanks, [&](std::string_view piece, size_t begin) {
    const bool fits = out.size() + piece.size() <= most;
    out += fits ? std::string(piece) : left_out(text.size() - begin);
    return fits;
  });
  return out;
}

std::string shown_lines(std::string_view text, size_t line, size_t most) {
  std::string out;
  size_t line_begin = 0;
  bool cut = false;  // The rest of this line is left out.
  size_t cut_at = 0;
  auto end_line = [&](size_t at) {
    if (cut) out += left_out(at - cut_at);
    cut = false;
  };
  bool whole = true;
  for_each_shown(text, Breaks::Kept, [&](std::string_view piece, size_t begin) {
    if (piece == "\n") {
      end_line(begin);
      whole = out.size() < most;
      out += whole ? "\n" : left_out(text.size() - begin);
      line_begin = out.size();
      return whole;
    }
    if (!cut && out.size() - line_begin + piece.size() > line) cut = true, cut_at = begin;
    if (!cut) out += piece;
    return true;
  });
  if (whole) end_line(text.size());
  return out;
}

std::string_view whole_characters(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kAnywhere = "\\`*[]<|~$", kAtBeginning = "#>+-=:_0123456789";
  const std::string line = shown_line(text);
  auto in_word = [&](size_t at) { return at < line.size() && std::isalnum(static_cast<unsigned char>(line[at])); };
  std::string out;
  bool beginning = true;  // Where marks of headings, lists and quotations count.
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool number = c >= '0' && c <= '9';
    bool markup = kAnywhere.find(c) != kAnywhere.npos || (c == '_' && !(i > 0 && in_word(i - 1) && in_word(i + 1))) ||
                  (c == '&' && (in_word(i + 1) || line.substr(i + 1, 1) == "#"));
    // "1." and "1)" begin a list; the mark behind the number is what is escaped.
    if (beginning && !number) markup |= kAtBeginning.find(c) != kAtBeginning.npos || (i > 0 && (c == '.' || c == ')'));
    if (c != ' ' && !number) beginning = false;
    if (markup) out += '\\';
    out += c;
  }
  return out;
}

namespace {

size_t longest_run_of_backquotes(std::string_view text) {
  size_t longest = 0, run = 0;
  for (char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  return longest;
}

}  // namespace

std::string markdown_block(std::string_view text) {
  const std::string lines = shown_lines(text);
  const std::string fence(std::max<size_t>(3, longest_run_of_backquotes(lines) + 1), '`');
  return fence + "\n" + lines + (lines.ends_with('\n') ? "" : "\n") + fence + "\n";
}

std::string markdown_code(std::string_view text) {
  const std::string line = shown_line(text);
  const std::string fence(longest_run_of_backquotes(line) + 1, '`');
  const bool pad = line.empty() || line.front() == '`' || line.back() == '`';
  return fence + (pad ? " " : "") + line + (pad ? " " : "") + fence;
}

std::string comment_text(std::string_view text) {
  std::string line = shown_line(text);
  // A backslash at the end continues the comment, and "??/" is one to compilers that know trigraphs.
  for (size_t at = line.find("?\?/"); at != line.npos; at = line.find("?\?/", at)) line.replace(at, 3, "? /");
  std::replace(line.begin(), line.end(), '\\', ' ');
  return line;
}

std::string html_text(std::string_view text) {
  return escaped(text, Breaks::Kept, [](std::string_view piece, std::string& out) {
    if (piece == "&") out += "&amp;";
    else if (piece == "<") out += "&lt;";
    else if (piece == ">") out += "&gt;";
    else if (piece == "\"") out += "&quot;";
    else if (piece == "'") out += "&#39;";
    else out += piece;
  });
}

}  // namespace kernelift
