// A single HTTPS POST by libcurl, with a deadline; it is cancelled at once when `stop` is set, and never retried.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::tuner {

/// Bytes: some twenty times the text of the longest answer that is asked for.
inline constexpr size_t kLargestReply = 2 << 20;

struct HttpReply {
  long status = 0;
  std::string body;
  double retry_after = 0;  ///< Seconds of the Retry-After header; 0 if there is none.
  bool too_large = false;  ///< More than kLargestReply; the rest was not read.
};

/// An Error means that no complete reply was received (no connection, deadline, connection lost, stopped). `headers`
/// are sent unchanged and never appear in an error.
Result<HttpReply> http_post(const std::string& url, const std::vector<std::string>& headers, const std::string& body,
                            double seconds, const std::atomic<bool>& stop);

}  // namespace kernelift::tuner
