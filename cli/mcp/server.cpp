// See server.h. The end of stdin is the protocol's way to end a server; a client that was killed ends it as well.
#include "cli/mcp/server.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kernelift::cli::mcp {
namespace {

/// Signals that ask this process to end, as a file that can be read once one has come.
int signals_as_file() {
  sigset_t ends;
  sigemptyset(&ends);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, number);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  return signalfd(-1, &ends, SFD_CLOEXEC);
}

}  // namespace

Result<Exit> serve(const Application& application, const ToolboxOptions& options, const Context& context) {
  const int signals = signals_as_file();
  if (signals < 0) return environment_error(std::string("cannot wait for signals: ") + std::strerror(errno));
  EventLoop loop;
  Exit exit = Exit::Done;
  {
    Toolbox toolbox(loop, application, options);
    Session session(toolbox, KERNELIFT_VERSION, [&](const Json& message) { context.emit_line(message); });
    LineBuffer lines(kLongestFrame);
    loop.watch(STDIN_FILENO, [&] {
      char buffer[1 << 16];
      const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) return;
      if (got <= 0) return loop.stop();
      lines.add({buffer, static_cast<size_t>(got)});
      while (auto line = lines.next()) session.receive(*line);
    });
    loop.watch(signals, [&] { exit = Exit::Interrupted, loop.stop(); });
    context.note("kernelift mcp: serving " + application.root.string() + " on stdin and stdout");
    loop.run();
  }  // The toolbox ends what is still going on.
  close(signals);
  return exit;
}

}  // namespace kernelift::cli::mcp
