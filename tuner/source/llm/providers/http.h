// A single HTTPS POST by libcurl, with a deadline; it is cancelled at once when `stop` is set, and never retried. A
// reply that is a stream of events is handed on as it comes.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift::tuner {

/// Bytes: some twenty times the text of the longest answer that is asked for.
inline constexpr size_t kLargestReply = 2 << 20;

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  ///< Sent unchanged; never in an error.
  std::string body;
  double seconds = 600;  ///< Deadline of the whole reply.
};

struct HttpReply {
  long status = 0;
  bool streamed = false;   ///< It was a stream of events, with status 200: HttpStream has it.
  std::string body;        ///< Otherwise.
  double retry_after = 0;  ///< Seconds of the Retry-After header; 0 if there is none.
  bool too_large = false;  ///< `body` would be more than kLargestReply; the rest was not read.
};

/// Takes a stream of events as it comes.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  /// Some bytes, which may end anywhere. false: no more is wanted; the reply is complete.
  virtual bool take(std::string_view bytes) = 0;
  /// For how many seconds a reply that has begun, of whatever kind, may bring nothing now.
  virtual double patience() const = 0;
};

/// An Error means that no complete reply was received (no connection, deadline, connection lost, silence, stopped).
Result<HttpReply> http_post(const HttpRequest& request, HttpStream& stream, const std::atomic<bool>& stop);

}  // namespace kernelift::tuner
