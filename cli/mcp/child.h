// A verb of Kernelift as a child process whose lines are passed on as they come. It and all that it starts end with
// this object, and with this process, however that ends.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/mcp/event_loop.h"
#include "cli/mcp/protocol/line_buffer.h"
#include "core/base/process_tree.h"
#include "core/base/result.h"

namespace kernelift::cli::mcp {

class Child {
 public:
  /// Called by the loop. `ended` is the last call, and may destroy the Child; the others may not, but end() it.
  struct Handlers {
    std::function<void(const std::string& line)> out = {};   ///< A line of its stdout.
    std::function<void(const std::string& line)> note = {};  ///< A line of its stderr.
    std::function<void(int exit_code)> ended;                ///< 128 and the number, if a signal ended it.
  };
  /// `words` are the verb and its options. An Error: no process can be started.
  static Result<std::unique_ptr<Child>> start(EventLoop& loop, const std::vector<std::string>& words,
                                              Handlers handlers);
  ~Child();
  Child(const Child&) = delete;
  /// Ends the process soon, from wherever this is called; its handlers are not called any more.
  static void end(std::unique_ptr<Child> child);

  /// False if it does not read any more. Waits until the child has room for all of it.
  bool write(const std::string& text);
  void close_input();
  /// Asks the verb, and nothing that it started, to end soon with what it has.
  void interrupt();

 private:
  Child(EventLoop& loop, Handlers handlers) : loop_(loop), handlers_(std::move(handlers)) {}
  struct Stream {
    int fd = -1;
    LineBuffer lines{64 << 20};
  };
  void read(Stream& stream, const std::function<void(const std::string&)>& handler);
  void close(Stream& stream);
  void ended();

  EventLoop& loop_;
  Handlers handlers_;
  bool unheard_ = false;  ///< end() was called.
  ProcessTree tree_;
  pid_t process_ = -1;
  int input_ = -1, process_file_ = -1;
  Stream out_, err_;
};

}  // namespace kernelift::cli::mcp
