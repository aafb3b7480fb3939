// Output streams and the state folder of a verb. stdout and stderr are written by system calls, so that the first
// failure and its reason are known: a result that a full disk or a closed pipe has swallowed is no success.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/verb.h"
#include "core/base/descriptor.h"
#include "core/base/file.h"
#include "core/base/output.h"
#include "core/base/shown/outside_text.h"
#include "core/base/shown/secrets.h"

namespace kernelift::cli {
namespace {

/// Of all documents that --json prints and that are no artefact. It grows where a member goes or changes its meaning.
constexpr int kDocumentVersion = 1;
constexpr size_t kLongestSaid = 16 << 10;  ///< Bytes of a line of a table: names of templates are long.
constexpr size_t kLongestTable = 64 << 20;

int lost = 0;  ///< errno of the first write to stdout that failed.

void to_stdout(const std::string& text) {
  if (lost == 0 && !write_all(STDOUT_FILENO, text)) lost = errno;
}

void to_stderr(const std::string& text) { (void)write_all(STDERR_FILENO, text); }

}  // namespace

void print_own(const std::string& text) { to_stdout(text); }

Exit settled(Exit exit) {
  if (lost == 0) return exit;
  to_stderr(std::string("kernelift: cannot write to stdout: ") + std::strerror(lost) +
            (lost == EPIPE    ? "; its reader ended before the result did\n"
             : lost == ENOSPC ? "; free some space there, and run it again\n"
                              : "; the result is incomplete\n"));
  return exit == Exit::Done || exit == Exit::No ? Exit::Environment : exit;
}

std::filesystem::path Context::state_folder() const {
  if (!state.empty()) return std::filesystem::absolute(state);
  return find_state_folder(std::filesystem::current_path());
}

void Context::emit(const Json& document) const {
  if (!json) return;
  Json whole = document;
  if (!document.contains("format")) {
    whole = {{"format", "kernelift-" + verb}, {"version", kDocumentVersion}};
    whole.update(document);
  }
  // Beyond ASCII everything is escaped: nothing is lost, and no terminal obeys it.
  to_stdout(json_without_secrets(whole).dump(1, ' ', true, Json::error_handler_t::replace) + "\n");
}

void Context::emit_error(const std::string& message, Exit exit) const {
  emit({{"format", "kernelift-error"},
        {"version", kDocumentVersion},
        {"error", message},
        {"exit", static_cast<int>(exit)}});
}

void Context::emit_line(const Json& document) const {
  to_stdout(json_without_secrets(document).dump(-1, ' ', true, Json::error_handler_t::replace) + "\n");
}

void Context::say(const std::string& line) const {
  const std::string shown = shown_line(without_secrets(line), kLongestSaid) + "\n";
  json ? to_stderr(shown) : to_stdout(shown);
}

void Context::say_lines(const std::string& text) const {
  const std::string shown = shown_lines(without_secrets(text), kLongestSaid, kLongestTable) + "\n";
  json ? to_stderr(shown) : to_stdout(shown);
}

void Context::note(const std::string& line) const { to_stderr(shown_line(without_secrets(line)) + "\n"); }
void Context::note_lines(const std::string& text) const {
  std::string shown = shown_lines(without_secrets(text));
  // All but the first line are indented: what a file's name or a program's output brings begins no line of ours.
  for (size_t at = shown.find('\n'); at != shown.npos && at + 1 < shown.size(); at = shown.find('\n', at + 1))
    if (shown[at + 1] != ' ' && shown[at + 1] != '\n') shown.insert(at + 1, "  ");
  to_stderr(shown + "\n");
}

void Context::progress(const std::string& line) const {
  if (!terminal()) return;
  // A line that fills the terminal wraps, and a wrapped one cannot be overwritten.
  const std::string shown = shown_line(without_secrets(line));
  to_stderr("\r\x1b[K" + std::string(whole_characters(shown, columns() - 1)));
}

Status Context::deliver(const std::string& file, const std::string& text) const {
  const std::string safe = without_secrets(text);
  if (!file.empty() && file != "-") return write_output(file, safe);
  to_stdout(safe);
  return done();
}

bool Context::terminal() const { return isatty(STDERR_FILENO); }

size_t Context::columns() {
  winsize window{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
}

}  // namespace kernelift::cli
