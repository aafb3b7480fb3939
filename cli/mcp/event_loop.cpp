// See event_loop.h. A callback may watch and forget at will: each is looked up again before it is called.
#include "cli/mcp/event_loop.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace kernelift::cli::mcp {

void EventLoop::watch(int fd, std::function<void()> ready) { readable_[fd] = std::move(ready); }
void EventLoop::watch_writable(int fd, std::function<void()> ready) { writable_[fd] = std::move(ready); }
void EventLoop::forget_writable(int fd) { writable_.erase(fd); }
void EventLoop::forget(int fd) { readable_.erase(fd), writable_.erase(fd); }

uint64_t EventLoop::at(Clock::time_point when, std::function<void()> then) {
  timers_[++last_timer_] = {when, std::move(then)};
  return last_timer_;
}

void EventLoop::drop(uint64_t timer) { timers_.erase(timer); }

int EventLoop::milliseconds_left() const {
  if (timers_.empty()) return -1;
  auto first = std::ranges::min_element(timers_, {}, [](auto& timer) { return timer.second.when; });
  auto left = std::chrono::ceil<std::chrono::milliseconds>(first->second.when - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

void EventLoop::call_timers() {
  const auto now = Clock::now();
  for (;;) {
    auto due = std::ranges::find_if(timers_, [&](auto& timer) { return timer.second.when <= now; });
    if (due == timers_.end() || stopped_) return;
    auto then = std::move(due->second.then);
    timers_.erase(due);
    then();
  }
}

void EventLoop::run() {
  while (!stopped_) {
    std::vector<pollfd> items;
    for (auto& [fd, ready] : readable_) items.push_back({fd, POLLIN, 0});
    for (auto& [fd, ready] : writable_) items.push_back({fd, POLLOUT, 0});
    poll(items.data(), items.size(), milliseconds_left());
    for (auto& item : items) {
      if (stopped_) return;
      auto& watched = item.events == POLLIN ? readable_ : writable_;
      auto found = watched.find(item.fd);
      if (item.revents == 0 || found == watched.end()) continue;
      auto ready = found->second;  // A copy: it may forget itself.
      ready();
    }
    call_timers();
  }
}

}  // namespace kernelift::cli::mcp
