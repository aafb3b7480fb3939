// Text from outside as people may be shown it: notes and asserts of candidates, ideas and answers of models, names of
// kernels and files, diagnostics, replies of servers, messages of git. Its author may want to move a terminal's
// cursor, to forge a line, to hide behind characters that are not seen, or to fill the screen. Every sink (terminal,
// log, Markdown, HTML, commit message, comment) passes what it is given through one of these functions; data stays as
// it came.
#pragma once
#include <string>
#include <string_view>

namespace kernelift {

inline constexpr size_t kLongestLine = 2000;         ///< Bytes of one line.
inline constexpr size_t kLongestName = 8 << 10;      ///< Bytes of a name in a table: names of templates are long.
inline constexpr size_t kLongestMessage = 64 << 10;  ///< Bytes of a message of several lines.

/// On one line: line breaks and tabs become blanks. Control characters, invisible ones, those that change the direction
/// of writing, and bytes that are no UTF-8 become visible ("\x1b", "\u202e"). What is longer than `most` bytes is cut,
/// and the number of bytes left out is said. The result is its own result.
std::string shown_line(std::string_view text, size_t most = kLongestLine);

/// The same with line breaks and tabs as they are: each line is at most `line` bytes, the whole at most `most`.
std::string shown_lines(std::string_view text, size_t line = kLongestLine, size_t most = kLongestMessage);

/// The beginning of `text`, at most `most` bytes long, without half a character.
std::string_view whole_characters(std::string_view text, size_t most);

/// One line of plain text in Markdown, in a paragraph, list or cell of a table: nothing in it is markup.
std::string markdown_text(std::string_view text);

/// One line of code in Markdown, with its backquotes; not for cells of tables.
std::string markdown_code(std::string_view text);
/// Lines of code in Markdown, with what encloses them.
std::string markdown_block(std::string_view text);

/// One line behind `//` in C++: nothing in it continues on the next line.
std::string comment_text(std::string_view text);

/// In HTML, as text or in an attribute; line breaks stay, and nothing is cut.
std::string html_text(std::string_view text);

}  // namespace kernelift
