// The error style of Kernelift: a Result<T> holds a value or an Error, and an Error is a sentence for a person (what
// happened, where, what to do) with the exit code of the command line. A bad candidate is never an Error: it is a
// Verdict (core/model/verdict/verdict.h). No exceptions cross a header; the recorder can use this file too.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace kernelift {

/// Exit codes of the command line; scripts rely on the numbers.
enum class Exit { Done = 0, No = 1, Usage = 2, Environment = 3, Refused = 4, Interrupted = 130 };

/// One sentence: what happened, where, and what to do about it. `exit` is kernelift's exit code if no caller handles
/// the error.
struct [[nodiscard]] Error {
  std::string message;
  Exit exit = Exit::Environment;

  /// The same error with its context put before it: "cannot read capture/: truncated manifest".
  Error in(const std::string& context) && { return {context + ": " + message, exit}; }
};

inline Error usage_error(std::string message) { return {std::move(message), Exit::Usage}; }
inline Error environment_error(std::string message) { return {std::move(message), Exit::Environment}; }
inline Error refused(std::string message) { return {std::move(message), Exit::Refused}; }
inline Error answer_is_no(std::string message) { return {std::move(message), Exit::No}; }

/// Always-on assertion for mistakes in this code; never reachable from input. It names the file without its folder,
/// because a distributed program must not name folders of the machine that built it.
#define KERNELIFT_ASSERT(condition, what)                                                                  \
  do {                                                                                                     \
    if (!(condition)) {                                                                                    \
      std::fprintf(stderr, "kernelift: internal error at %s:%d: %s (%s)\n", __FILE_NAME__, __LINE__, what, \
                   #condition);                                                                            \
      std::abort();                                                                                        \
    }                                                                                                      \
  } while (0)

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    check();
    return std::get<0>(state_);
  }
  const T& value() const& {
    check();
    return std::get<0>(state_);
  }
  T&& value() && {
    check();
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    check_failed();
    return std::get<1>(state_);
  }
  Error&& error() && {
    check_failed();
    return std::get<1>(std::move(state_));
  }

 private:
  void check() const { KERNELIFT_ASSERT(ok(), std::get<1>(state_).message.c_str()); }
  void check_failed() const { KERNELIFT_ASSERT(!ok(), "asked for the error of a good result"); }
  std::variant<T, Error> state_;
};

/// A Result without a value. `Status{}` (or `done()`) is success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& {
    check_failed();
    return *error_;
  }
  Error&& error() && {
    check_failed();
    return std::move(*error_);
  }

 private:
  void check_failed() const { KERNELIFT_ASSERT(!ok(), "asked for the error of a success"); }
  std::optional<Error> error_;
};
inline Status done() { return {}; }

/// Returns the error of `expression` from the enclosing function, if it is one.
#define KERNELIFT_TRY(expression)                                                               \
  do {                                                                                          \
    if (auto kl_status_ = (expression); !kl_status_.ok()) return std::move(kl_status_).error(); \
  } while (0)

#define KERNELIFT_CONCAT_(a, b) a##b
#define KERNELIFT_CONCAT(a, b) KERNELIFT_CONCAT_(a, b)
/// KERNELIFT_ASSIGN(auto x, f()) declares x as the value of f(), or returns f()'s error.
#define KERNELIFT_ASSIGN(target, expression) \
  KERNELIFT_ASSIGN_(KERNELIFT_CONCAT(kl_result_, __LINE__), target, expression)
#define KERNELIFT_ASSIGN_(tmp, target, expression) \
  auto tmp = (expression);                         \
  if (!tmp.ok()) return std::move(tmp).error();    \
  target = std::move(tmp).value()

}  // namespace kernelift
