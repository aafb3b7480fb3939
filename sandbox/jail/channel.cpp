// Non-blocking socket with poll() against a deadline; descriptors are sent with the frame's head. See channel.h.
#include "sandbox/jail/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kernelift::sandbox {
namespace {

constexpr uint32_t kFrameMagic = 0x4b4c4652;  // "KLFR": the first bytes of every frame.
constexpr size_t kMostDescriptors = 8;

struct Head {
  uint32_t magic, type;
  uint64_t size;
};

/// For poll(); -1: no deadline.
int milliseconds_left(const std::optional<Deadline>& deadline) {
  if (!deadline) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return left < 0 ? 0 : static_cast<int>(std::min<long long>(left, 1 << 30));
}

/// True once the socket is ready; false at the deadline.
bool wait_for(int fd, short events, const std::optional<Deadline>& deadline) {
  for (;;) {
    pollfd item{fd, events, 0};
    int ready = poll(&item, 1, milliseconds_left(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return false;
  }
}

}  // namespace

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return environment_error(std::string("cannot make a socket pair: ") + std::strerror(errno));
  return std::pair{Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1]))};
}

bool Channel::send(uint32_t type, std::string_view body, std::span<const int> descriptors,
                   std::optional<Deadline> deadline) {
  KERNELIFT_ASSERT(descriptors.size() <= kMostDescriptors, "a frame carries few descriptors");
  Head head{kFrameMagic, type, body.size()};
  iovec parts[2] = {{&head, sizeof head}, {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts, message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
  if (!descriptors.empty()) {
    message.msg_control = control, message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  size_t left = sizeof head + body.size();
  while (left > 0) {
    if (!wait_for(fd(), POLLOUT, deadline)) return false;
    ssize_t sent = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return false;
    }
    left -= sent;
    message.msg_control = nullptr, message.msg_controllen = 0;
    while (sent > 0) {
      size_t step = std::min<size_t>(sent, message.msg_iov->iov_len);
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + step;
      message.msg_iov->iov_len -= step;
      sent -= step;
      if (message.msg_iov->iov_len == 0 && message.msg_iovlen > 1) ++message.msg_iov, --message.msg_iovlen;
    }
  }
  return true;
}

Arrival Channel::read_up_to(size_t size, char* into, size_t& have, const std::optional<Deadline>& deadline) {
  while (have < size) {
    if (!wait_for(fd(), POLLIN, deadline)) return Arrival::TimedOut;
    iovec part{into + have, size - have};
    msghdr message{};
    message.msg_iov = &part, message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
    message.msg_control = control, message.msg_controllen = sizeof control;
    ssize_t got = recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR || errno == EAGAIN) continue;
      return Arrival::Closed;
    }
    // Descriptors are received and closed even where none is expected, so that a hostile peer cannot fill our table.
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of; part_of = CMSG_NXTHDR(&message, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
      size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof fd, sizeof fd);
        Descriptor owned(fd);
        if (begun_.descriptors.size() < kMostDescriptors) begun_.descriptors.push_back(std::move(owned));
      }
    }
    if (got == 0) return Arrival::Closed;
    have += got;
  }
  return Arrival::Frame;
}

Frame Channel::receive(std::optional<Deadline> deadline, uint64_t largest) {
  auto without = [](Arrival how) { return Frame{how, 0, {}, {}}; };
  Head head{};
  static_assert(sizeof head == sizeof begun_.head);
  if (Arrival how = read_up_to(sizeof head, begun_.head.data(), begun_.head_bytes, deadline); how != Arrival::Frame)
    return without(how);
  std::memcpy(&head, begun_.head.data(), sizeof head);
  if (head.magic != kFrameMagic || head.size > largest) return without(Arrival::Malformed);
  // Grown as bytes arrive: a head that announces a gigabyte that is never sent reserves one step only.
  constexpr size_t kStep = 1 << 20;
  while (begun_.body_bytes < head.size) {
    size_t wanted = std::min<uint64_t>(head.size, begun_.body_bytes + kStep);
    begun_.body.resize(wanted);
    if (Arrival how = read_up_to(wanted, begun_.body.data(), begun_.body_bytes, deadline); how != Arrival::Frame)
      return without(how);
  }
  Begun whole = std::exchange(begun_, {});
  return Frame{Arrival::Frame, head.type, std::move(whole.body), std::move(whole.descriptors)};
}

}  // namespace kernelift::sandbox
