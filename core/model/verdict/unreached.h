// Code of a candidate's text to which no launch in check mode came, recorded or at another size: what it does there was
// compared with nothing.
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/launch/access_finding.h"

namespace kernelift {

struct Unreached {
  std::vector<CodePlace> places = {};  ///< Where the code begins, in order.
  std::vector<std::string> code = {};  ///< The lines of the first places; or empty.

  /// Fills `code` from the text that was compiled.
  void read(const std::string& source);
  bool empty() const { return places.empty(); }
  /// "line 14 (if (relu) v = fmaxf(v, 0.0f);) and line 17 (v *= 2;)"; empty: there is none.
  std::string text() const;
};

Json to_json(const Unreached&);
/// Malformed JSON is an exception: to be called within reading() (core/base/json.h).
Unreached unreached_from_json(const Json&);

}  // namespace kernelift
