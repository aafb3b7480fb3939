// A framed connection between two of our processes over a Unix socket. The other end may be a jailed process that is
// controlled by a candidate: a frame's head is checked before memory is reserved for it, every wait can have a
// deadline, and a peer that dies, stalls or sends malformed data is an outcome that the caller handles, not an Error.
#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline after(std::chrono::milliseconds wait) { return std::chrono::steady_clock::now() + wait; }
inline double seconds_since(Deadline begin) {
  return std::chrono::duration<double>(Deadline::clock::now() - begin).count();
}

inline constexpr uint64_t kLargestFrame = 1ull << 30;  ///< Bytes of a body; images and bitcode are far smaller.

enum class Arrival { Frame, Closed, TimedOut, Malformed };

struct Frame {
  Arrival arrival = Arrival::Closed;
  uint32_t type = 0;
  std::string body;
  std::vector<Descriptor> descriptors;
  explicit operator bool() const { return arrival == Arrival::Frame; }
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}
  static Result<std::pair<Channel, Channel>> pair();

  /// False if the peer has ended or the deadline passed; the channel is then unusable.
  bool send(uint32_t type, std::string_view body, std::span<const int> descriptors = {},
            std::optional<Deadline> deadline = {});
  /// Waits until the deadline, or for ever if there is none. A part of a frame that has arrived by then is kept, and
  /// the next call continues with it.
  Frame receive(std::optional<Deadline> deadline = {}, uint64_t largest = kLargestFrame);
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  /// A frame that has arrived in part.
  struct Begun {
    std::array<char, 16> head{};
    std::string body;
    size_t head_bytes = 0, body_bytes = 0;  ///< Bytes of each that have arrived.
    std::vector<Descriptor> descriptors;
  };
  /// Reads until `have` is `size`.
  Arrival read_up_to(size_t size, char* into, size_t& have, const std::optional<Deadline>& deadline);
  Descriptor socket_;
  Begun begun_;
};

}  // namespace kernelift::sandbox
