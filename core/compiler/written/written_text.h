// What a source text contains beside plain code: directives, macros, pragmas, attributes, and spellings that compilers
// read differently. Judged on its tokens before anything is preprocessed (source_tokens.h), so it is known before a
// file could be read, and does not depend on which conditionals a pass skips. A text that the user did not write may
// contain only what the user's own contains, and macros under names that mean nothing yet.
//
// Rules: include embed undef line pragma directive conditional probe macro attribute linkage instantiation identifier
//        value (what another compiler, place or build makes of the same text) reserved (a name that C++ reserves and
//        that is nothing of device code) module raw-string splice trigraph character unknown-token
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

struct WrittenConstruct {
  std::string rule;
  std::string text;  ///< Its tokens; with the rule they say what it is.
  unsigned line = 0;
  std::string macro = {};  ///< Of the rule "macro": the name.
  bool numeric = false;    ///< Of the rule "macro": its body is arithmetic of numbers.
  std::string why = {};    ///< Of the rule "macro": why it could not be a new one; or empty.

  std::string identity() const { return rule + "\n" + text; }
};

/// The constructs of `text`, in order. A pragma that only advises the optimiser and an attribute that any code may
/// have are none.
std::vector<WrittenConstruct> written_constructs(std::string_view text);

/// What a text of the user's own permits a changed one to contain.
class OwnText {
 public:
  OwnText() = default;
  explicit OwnText(std::string_view text);
  /// As it was sent: the result of words() of another one.
  explicit OwnText(const std::vector<std::string>& words) : words_(words.begin(), words.end()) {}

  std::vector<std::string> words() const { return {words_.begin(), words_.end()}; }
  /// The first construct that the own text does not contain, as "rule: 'text' (NAME:line) …"; empty if there is none.
  std::string first_refusal(const std::vector<WrittenConstruct>& constructs, const std::string& name) const;

 private:
  std::multiset<std::string> words_;  ///< Identities of constructs, macros with numbers, and all identifiers.
};

/// The refusal of one construct, as admission and patches word it.
std::string refusal_text(const std::string& rule, const std::string& text, const std::string& place,
                         const std::string& why = {});

/// Names that C++ reserves: they begin with two underscores, or with one and a capital.
bool is_reserved_word(std::string_view word);
/// Those that any device code may have: qualifiers, attributes, what only computes. Names of intrinsics are not listed.
bool is_device_word(std::string_view word);
/// Those that are written like an intrinsic (__ldg): lower case, without underscores behind. Whether a header declares
/// it for the device is asked where the text is parsed.
bool is_like_an_intrinsic(std::string_view word);

/// Macros of headers that are the same for every compiler, place and build: qualifiers, limits, mathematical constants.
/// `assert` is not: a build may have NDEBUG.
bool is_free_macro(std::string_view name);

/// The pragmas that only advise the optimiser; `text` is what follows #pragma.
bool is_free_pragma(std::string_view text);

}  // namespace kernelift
