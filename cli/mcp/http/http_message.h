// What a request and an answer of HTTP/1.1 are to the server: the parts of them that it looks at.
#pragma once
#include <map>
#include <string>

namespace kernelift::cli::mcp {

struct HttpRequest {
  std::string method, path;                   ///< "POST", "/mcp"; without a query.
  std::map<std::string, std::string> fields;  ///< By their names in lower case; repeated ones joined by ", ".
  std::string body;
  std::string field(const std::string& name) const {
    auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

struct HttpAnswer {
  unsigned status = 200;
  std::map<std::string, std::string> fields = {};  ///< Content-Length is added.
  std::string body = {};
};

}  // namespace kernelift::cli::mcp
