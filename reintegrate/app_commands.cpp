// Commands are killed on interruption, because the files that they read and write are restored right after.
#include "reintegrate/app_commands.h"

#include "core/base/file.h"
#include "core/base/shown/secrets.h"
#include "reintegrate/interruption.h"

namespace kernelift::reintegrate {

std::string last_lines(std::string text) {
  constexpr size_t kBytes = 600;
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (text.size() <= kBytes) return text;
  size_t line = text.find('\n', text.size() - kBytes);
  return "…" + text.substr(line == text.npos ? text.size() - kBytes : line);
}

Result<CommandOutcome> AppCommands::run(const std::string& name, const std::string& line,
                                        std::optional<std::chrono::milliseconds> timeout) const {
  ProcessOptions options;
  options.folder = root_;
  options.environment = environment_;
  options.timeout = timeout;
  options.output_limit = 64 << 20;
  auto ran = run_interruptibly({"/bin/sh", "-c", line}, options, Ending::Killed);
  if (!ran.ok()) return std::move(ran).error();
  KERNELIFT_TRY(write_atomically(logs_ / (name + ".log"), without_secrets("$ " + line + "\n" + ran->out + ran->err)));
  CommandOutcome outcome;
  outcome.ok = ran->ok();
  outcome.interrupted = InterruptGuard::interrupted();
  outcome.timed_out = ran->timed_out;
  outcome.seconds = ran->seconds;
  if (!outcome.ok) {
    std::string last = last_lines(ran->err.empty() ? ran->out : ran->err);
    outcome.why = "`" + line + "` " + ran->describe() + (last.empty() ? "" : ":\n" + last);
  }
  outcome.output = std::move(ran->out);
  outcome.output += (outcome.output.empty() || outcome.output.ends_with('\n') ? "" : "\n") + ran->err;
  return outcome;
}

}  // namespace kernelift::reintegrate
