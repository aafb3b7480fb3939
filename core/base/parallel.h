// Work on many equal pieces, spread over the machine's cores: reading and writing images of gigabytes. Threads are
// started and joined within the call. Not for the recorder, which must stay small, quick and safe inside the user's
// process.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// Calls work(0) … work(count - 1), each once, on as many threads as there are cores (at most 16). After an Error no
/// further piece is started. Returns the first Error. `work` must not throw.
inline Status in_parallel(size_t count, const std::function<Status(size_t)>& work) {
  constexpr unsigned kMostThreads = 16;
  std::atomic<size_t> next = 0;
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::optional<Error> first;
  auto take = [&] {
    for (size_t i; !stopped && (i = next++) < count;) {
      Status done_one = work(i);
      if (done_one.ok()) continue;
      std::lock_guard lock(mutex);
      if (!first) first = std::move(done_one).error();
      stopped = true;
    }
  };
  std::vector<std::thread> threads;
  size_t wanted = std::min<size_t>({count, kMostThreads, std::max(1u, std::thread::hardware_concurrency())});
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back(take);
  } catch (const std::system_error&) {
    // With fewer threads than wanted, the existing ones do all the work.
  }
  take();
  for (auto& thread : threads) thread.join();
  if (first) return std::move(*first);
  return done();
}

/// Calls work(begin, end) for the pieces of [0, count), each of `size` and the last one what is left; otherwise as
/// in_parallel().
template <class Work>
Status in_pieces(size_t count, size_t size, const Work& work) {
  return in_parallel((count + size - 1) / size,
                     [&](size_t piece) { return work(piece * size, std::min(count, (piece + 1) * size)); });
}

}  // namespace kernelift
