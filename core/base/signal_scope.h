// While a SignalScope exists, requests to end are given to a handler; then what was there is put back. A signal that
// this process was started to ignore stays ignored: `nohup`, or a shell's background job.
#pragma once
#include <signal.h>

#include <array>
#include <cstddef>

namespace kernelift {

class SignalScope {
 public:
  /// A terminal's Ctrl-C, a batch system's request, a lost terminal.
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

  /// `action`: as sigaction() takes it.
  explicit SignalScope(const struct sigaction& action) {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      if (!ignored(i)) sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~SignalScope() {
    for (size_t i = 0; i < kSignals.size(); ++i)
      if (!ignored(i)) sigaction(kSignals[i], &before_[i], nullptr);
  }
  SignalScope(const SignalScope&) = delete;

 private:
  bool ignored(size_t i) const { return (before_[i].sa_flags & SA_SIGINFO) == 0 && before_[i].sa_handler == SIG_IGN; }

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace kernelift
