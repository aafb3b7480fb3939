// See http.h. libcurl is opened at run time, as NVIDIA's libraries are: only --llm needs it, the machine's own copy
// finds the machine's certificates, and the same binary starts on nodes without libcurl.
#include "tuner/source/llm/providers/http.h"

#define CURL_DISABLE_TYPECHECK  // Otherwise curl's macros would replace the names of the table below.
#include <curl/curl.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "core/base/shown/secrets.h"

namespace kernelift::tuner {
namespace {

constexpr long kConnectSeconds = 15;

using Clock = std::chrono::steady_clock;

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

/// A request that is on its way.
struct Transfer {
  CURL* curl = nullptr;
  HttpStream& stream;
  const std::atomic<bool>& stop;
  HttpReply reply = {};
  bool begun = false;            ///< Something of the body came, or the head of a stream.
  bool enough = false;           ///< The stream wants no more.
  double silent = 0;             ///< Seconds, if it was ended for its silence.
  Clock::time_point heard = {};  ///< When something came.

  void hear() { begun = true, heard = Clock::now(); }
  bool is_stream() const {
    const char* type = nullptr;
    long status = 0;
    curl_library().getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    curl_library().getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status == 200 && type && std::string_view(type).starts_with("text/event-stream");
  }
};

size_t take_body(char* data, size_t size, size_t count, void* into) {
  auto* transfer = static_cast<Transfer*>(into);
  HttpReply& reply = transfer->reply;
  const std::string_view bytes(data, size * count);
  transfer->hear();
  if (reply.streamed || (reply.body.empty() && transfer->is_stream())) {
    reply.streamed = true;
    transfer->enough = !transfer->stream.take(bytes);
    return transfer->enough ? 0 : bytes.size();
  }
  reply.too_large = reply.body.size() + bytes.size() > kLargestReply;
  if (reply.too_large) return 0;
  reply.body += bytes;
  return bytes.size();
}

/// Called at least once a second; what is not 0 ends the transfer.
int keep_going(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto* transfer = static_cast<Transfer*>(of);
  if (transfer->stop) return 1;
  // A server that sends its answer in one piece sends nothing before it.
  if (!transfer->begun && transfer->is_stream()) transfer->hear();
  if (!transfer->begun) return 0;
  const double patience = transfer->stream.patience();
  if (Clock::now() - transfer->heard < std::chrono::duration<double>(patience)) return 0;
  transfer->silent = patience;
  return 1;
}

}  // namespace

Result<HttpReply> http_post(const HttpRequest& request, HttpStream& stream, const std::atomic<bool>& stop) {
  const Curl& library = curl_library();
  if (!library.complete)
    return environment_error(
        "asking a model needs libcurl, which is not on this machine (Debian, Ubuntu: apt-get install libcurl4)");
  std::unique_ptr<CURL, decltype(library.cleanup)> handle(library.init(), library.cleanup);
  if (!handle) return environment_error("libcurl cannot start");
  curl_slist* list = nullptr;
  for (auto& header : request.headers) list = library.append(list, header.c_str());
  std::unique_ptr<curl_slist, decltype(library.free_all)> owned(list, library.free_all);
  char failure[CURL_ERROR_SIZE] = "";
  CURL* curl = handle.get();
  Transfer transfer{curl, stream, stop};
  library.setopt(curl, CURLOPT_URL, request.url.c_str());
  library.setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  library.setopt(curl, CURLOPT_HTTPHEADER, list);
  library.setopt(curl, CURLOPT_POST, 1L);
  library.setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  library.setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
  library.setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  library.setopt(curl, CURLOPT_WRITEDATA, &transfer);
  library.setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  library.setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.seconds * 1000));
  library.setopt(curl, CURLOPT_NOSIGNAL, 1L);
  library.setopt(curl, CURLOPT_NOPROGRESS, 0L);
  library.setopt(curl, CURLOPT_XFERINFOFUNCTION, keep_going);
  library.setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  library.setopt(curl, CURLOPT_ERRORBUFFER, failure);
  CURLcode code = library.perform(curl);
  if (stop) return environment_error("stopped");
  if (transfer.silent > 0) {
    char text[64];
    std::snprintf(text, sizeof text, "the server sent nothing for %g s", transfer.silent);
    return environment_error(text);
  }
  if (code == CURLE_OPERATION_TIMEDOUT)
    return environment_error("no complete reply within " + std::to_string(static_cast<int>(request.seconds)) + " s");
  HttpReply& reply = transfer.reply;
  if (reply.too_large) return std::move(reply);
  // It may name a proxy with its password.
  if (code != CURLE_OK && !transfer.enough)
    return environment_error(without_secrets(*failure ? failure : library.strerror(code)));
  library.getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  curl_off_t wait = 0;
  library.getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
  reply.retry_after = static_cast<double>(wait);
  return std::move(reply);
}

}  // namespace kernelift::tuner
