// See server.h. The end of stdin is the protocol's way to end a server; a client that was killed ends it as well.
#include "cli/mcp/server.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/mcp/http/access_token.h"
#include "cli/mcp/http/endpoint.h"
#include "core/base/file.h"

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

/// One client, whose lines come on stdin.
class StdioServer {
 public:
  StdioServer(EventLoop& loop, Host& host, const Context& context)
      : loop_(loop), session_(host, KERNELIFT_VERSION), replies_(std::make_shared<Lines>(context)) {
    loop_.watch(STDIN_FILENO, [this] { read(); });
  }

 private:
  struct Lines : Replies {
    explicit Lines(const Context& context) : context(context) {}
    void answer(const Json& message) override { context.emit_line(message); }
    void tell(const Json& message) override { context.emit_line(message); }
    const Context& context;
  };

  void read() {
    char buffer[1 << 16];
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return;
    if (got <= 0) return loop_.stop();
    lines_.add({buffer, static_cast<size_t>(got)});
    while (auto line = lines_.next()) session_.receive(*line, replies_);
  }

  EventLoop& loop_;
  Session session_;
  const RepliesPointer replies_;
  LineBuffer lines_{kLongestFrame};
};

/// Listens, and says where and what clients need.
Result<std::unique_ptr<Endpoint>> endpoint_on(uint16_t port, EventLoop& loop, Host& host,
                                              const Application& application, const Context& context) {
  KERNELIFT_TRY(create_state_folder(application.state));
  const auto file = application.state / "mcp.token";
  EndpointOptions options;
  options.server_version = KERNELIFT_VERSION;
  KERNELIFT_ASSIGN(options.token, access_token(file));
  auto endpoint = std::make_unique<Endpoint>(loop, host, std::move(options));
  KERNELIFT_TRY(endpoint->listen(port));
  if (context.json)
    context.emit_line(
        {{"format", "kernelift-mcp-server"}, {"version", 1}, {"url", endpoint->url()}, {"token_file", file.string()}});
  else
    context.say("kernelift mcp: serving " + application.root.string() + " on " + endpoint->url() +
                "; the token that clients send is in " + file.string());
  return endpoint;
}

}  // namespace

Result<Exit> serve(const Application& application, const ToolboxOptions& options, std::optional<uint16_t> port,
                   const Context& context) {
  const int signals = signals_as_file();
  if (signals < 0) return environment_error(std::string("cannot wait for signals: ") + std::strerror(errno));
  EventLoop loop;
  Exit exit = Exit::Done;
  {
    Toolbox toolbox(loop, application, options);
    loop.watch(signals, [&] { exit = Exit::Interrupted, loop.stop(); });
    std::unique_ptr<StdioServer> stdio;
    std::unique_ptr<Endpoint> endpoint;
    if (port) {
      KERNELIFT_ASSIGN(endpoint, endpoint_on(*port, loop, toolbox, application, context));
    } else {
      stdio = std::make_unique<StdioServer>(loop, toolbox, context);
      context.note("kernelift mcp: serving " + application.root.string() + " on stdin and stdout");
    }
    loop.run();
  }  // The toolbox ends what is still going on.
  close(signals);
  return exit;
}

}  // namespace kernelift::cli::mcp
