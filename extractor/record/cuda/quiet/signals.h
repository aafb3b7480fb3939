// Signals on the application's threads: a handler runs in the middle of anything, and one that ends the process, as many do
// at Ctrl-C, never goes back. What it interrupted keeps its locks: the driver's, CUPTI's, the C library's of the heap.
#pragma once
#include <csignal>

namespace kernelift {

/// Whether this thread runs a signal's handler: by the frames of its stack, as far as they can be walked; takes microseconds.
bool in_a_signals_handler();

/// While one lives on a thread, no signal is delivered to that thread but those that its own faults raise: exit() in a
/// handler would wait for ever for the heap that our code was in the middle of. Other threads of the application still
/// take what is sent to the process; threads that are started meanwhile, CUPTI's, never do. Two system calls: not for a
/// launch that nobody wants. (On Linux sigprocmask is the calling thread's own mask; pthread_sigmask would ask for a
/// newer C library.)
class Uninterrupted {
 public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted&) = delete;

 private:
  sigset_t before_;
  bool outermost_;
};

}  // namespace kernelift
