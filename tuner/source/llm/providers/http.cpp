// See http.h. libcurl is opened at run time, as NVIDIA's libraries are: only --llm needs it, the machine's own copy
// finds the machine's certificates, and the same binary starts on nodes without libcurl.
#include "tuner/source/llm/providers/http.h"

#define CURL_DISABLE_TYPECHECK  // Otherwise curl's macros would replace the names of the table below.
#include <curl/curl.h>
#include <dlfcn.h>

#include <memory>

#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

constexpr long kConnectSeconds = 15;

size_t take(char* data, size_t size, size_t count, void* into) {
  auto* reply = static_cast<HttpReply*>(into);
  reply->too_large = reply->body.size() + size * count > kLargestReply;
  if (reply->too_large) return 0;
  reply->body.append(data, size * count);
  return size * count;
}

int keep_going(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::atomic<bool>*>(stop)->load();
}

/// The functions used, by the names that libcurl.so.4 has had since 2006.
struct Curl {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_setopt) setopt = nullptr;
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) getinfo = nullptr;
  decltype(&::curl_easy_strerror) strerror = nullptr;
  decltype(&::curl_slist_append) append = nullptr;
  decltype(&::curl_slist_free_all) free_all = nullptr;
  bool complete = false;
};

template <class Function>
bool take_symbol(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
  return into != nullptr;
}

const Curl& curl_library() {
  static const Curl curl = [] {
    Curl table;
    for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (!library) continue;
      table.complete = take_symbol(library, "curl_global_init", table.global_init) &&
                       take_symbol(library, "curl_easy_init", table.init) &&
                       take_symbol(library, "curl_easy_cleanup", table.cleanup) &&
                       take_symbol(library, "curl_easy_setopt", table.setopt) &&
                       take_symbol(library, "curl_easy_perform", table.perform) &&
                       take_symbol(library, "curl_easy_getinfo", table.getinfo) &&
                       take_symbol(library, "curl_easy_strerror", table.strerror) &&
                       take_symbol(library, "curl_slist_append", table.append) &&
                       take_symbol(library, "curl_slist_free_all", table.free_all);
      if (table.complete && table.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) break;
      table.complete = false;
    }
    return table;
  }();
  return curl;
}

}  // namespace

Result<HttpReply> http_post(const std::string& url, const std::vector<std::string>& headers, const std::string& body,
                            double seconds, const std::atomic<bool>& stop) {
  const Curl& library = curl_library();
  if (!library.complete)
    return environment_error(
        "asking a model needs libcurl, which is not on this machine (Debian, Ubuntu: apt-get install libcurl4)");
  std::unique_ptr<CURL, decltype(library.cleanup)> handle(library.init(), library.cleanup);
  if (!handle) return environment_error("libcurl cannot start");
  curl_slist* list = nullptr;
  for (auto& header : headers) list = library.append(list, header.c_str());
  std::unique_ptr<curl_slist, decltype(library.free_all)> owned(list, library.free_all);
  HttpReply reply;
  char failure[CURL_ERROR_SIZE] = "";
  CURL* curl = handle.get();
  library.setopt(curl, CURLOPT_URL, url.c_str());
  library.setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  library.setopt(curl, CURLOPT_HTTPHEADER, list);
  library.setopt(curl, CURLOPT_POST, 1L);
  library.setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  library.setopt(curl, CURLOPT_POSTFIELDS, body.c_str());
  library.setopt(curl, CURLOPT_WRITEFUNCTION, take);
  library.setopt(curl, CURLOPT_WRITEDATA, &reply);
  library.setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  library.setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(seconds * 1000));
  library.setopt(curl, CURLOPT_NOSIGNAL, 1L);
  library.setopt(curl, CURLOPT_NOPROGRESS, 0L);
  library.setopt(curl, CURLOPT_XFERINFOFUNCTION, keep_going);
  library.setopt(curl, CURLOPT_XFERINFODATA, const_cast<std::atomic<bool>*>(&stop));
  library.setopt(curl, CURLOPT_ERRORBUFFER, failure);
  CURLcode code = library.perform(curl);
  if (stop) return environment_error("stopped");
  if (code == CURLE_OPERATION_TIMEDOUT)
    return environment_error("no complete reply within " + std::to_string(static_cast<int>(seconds)) + " s");
  if (reply.too_large) return reply;
  // It may name a proxy with its password.
  if (code != CURLE_OK) return environment_error(without_secrets(*failure ? failure : library.strerror(code)));
  library.getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t wait = 0;
  library.getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
  reply.retry_after = static_cast<double>(wait);
  return reply;
}

}  // namespace kernelift::tuner
