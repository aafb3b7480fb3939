// One HTTPS POST over libcurl: with a deadline, and given up at once when asked to stop. No retries here.
#pragma once
#include <atomic>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct HttpReply {
  long status = 0;
  std::string body;
  double retry_after = 0;  ///< Seconds that the server asks us to wait; 0 if it does not.
};

/// An Error means that no complete reply came (no connection, deadline, cut off, stopped). `headers` are sent as given
/// and never appear in an error.
Result<HttpReply> http_post(const std::string& url, const std::vector<std::string>& headers, const std::string& body,
                            double seconds, const std::atomic<bool>& stop);

}  // namespace kernelift
