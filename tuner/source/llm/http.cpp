// See http.h.
#include "tuner/source/llm/http.h"

#include <curl/curl.h>

#include <memory>
#include <mutex>

namespace kernelift {
namespace {

constexpr size_t kLargestReply = 16 << 20;
constexpr long kConnectSeconds = 15;

size_t take(char* data, size_t size, size_t count, void* into) {
  auto* body = static_cast<std::string*>(into);
  if (body->size() + size * count > kLargestReply) return 0;
  body->append(data, size * count);
  return size * count;
}

int keep_going(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return static_cast<const std::atomic<bool>*>(stop)->load(); }

}  // namespace

Result<HttpReply> http_post(const std::string& url, const std::vector<std::string>& headers, const std::string& body,
                            double seconds, const std::atomic<bool>& stop) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), curl_easy_cleanup);
  if (!handle) return environment_error("libcurl cannot start");
  curl_slist* list = nullptr;
  for (auto& header : headers) list = curl_slist_append(list, header.c_str());
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> owned(list, curl_slist_free_all);
  HttpReply reply;
  char failure[CURL_ERROR_SIZE] = "";
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(seconds * 1000));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, keep_going);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stop));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, failure);
  CURLcode code = curl_easy_perform(curl);
  if (stop) return environment_error("stopped");
  if (code == CURLE_OPERATION_TIMEDOUT) return environment_error("no complete reply within " + std::to_string(static_cast<int>(seconds)) + " s");
  if (code != CURLE_OK) return environment_error(*failure ? failure : curl_easy_strerror(code));
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t wait = 0;
  curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
  reply.retry_after = static_cast<double>(wait);
  return reply;
}

}  // namespace kernelift
