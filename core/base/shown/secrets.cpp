// A secret is remembered as the set of fingerprints of all of its pieces of one length, in every form in which it is
// looked for. A text is searched without its blanks, by a hash that rolls over it: one pass for each length, however
// many secrets there are. Fingerprints are salted with random bits of this process.
#include "core/base/shown/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

extern char** environ;

namespace kernelift {
namespace {

constexpr size_t kPiece = 12;
constexpr std::string_view kMask = "[secret]";

/// Base64 of text that contains `value` with `before` bytes before it, modulo 3: the digits that depend on nothing
/// else.
std::string base64_core(std::string_view value, size_t before, const char* digits) {
  std::string out;
  size_t bit = before * 8;
  // The first digit that lies wholly in the value, and the end of the last one.
  for (size_t at = (bit + 5) / 6 * 6; at + 6 <= bit + value.size() * 8; at += 6) {
    unsigned digit = 0;
    for (size_t i = 0; i < 6; ++i) {
      const size_t place = at + i - bit;
      digit = digit << 1 | (static_cast<unsigned char>(value[place / 8]) >> (7 - place % 8) & 1u);
    }
    out += digits[digit];
  }
  return out;
}

std::string hex(std::string_view value, const char* digits) {
  std::string out;
  for (unsigned char c : value) out += digits[c >> 4], out += digits[c & 15];
  return out;
}

/// Everything that is not a letter or digit as %XX; `plain`: the characters that are left as they are beside those.
std::string percent(std::string_view value, std::string_view plain, const char* digits) {
  std::string out;
  for (unsigned char c : value)
    if (std::isalnum(c) || plain.find(static_cast<char>(c)) != plain.npos) out += static_cast<char>(c);
    else out += '%', out += digits[c >> 4], out += digits[c & 15];
  return out;
}

/// With a backslash or its number before what JSON or a shell escapes.
std::string backslashed(std::string_view value, std::string_view escaped) {
  std::string out;
  for (char c : value) {
    if (escaped.find(c) != escaped.npos) out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> forms_of(std::string_view value) {
  constexpr const char *kLower = "0123456789abcdef", *kUpper = "0123456789ABCDEF";
  constexpr const char* kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr const char* kUrlBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::vector<std::string> forms{std::string(value), hex(value, kLower), hex(value, kUpper), backslashed(value, "\"\\"),
                                 backslashed(value, "\"\\/")};
  for (auto* digits : {kLower, kUpper})
    for (auto* plain : {"-_.~", "-_.~!*'()", ""}) forms.push_back(percent(value, plain, digits));
  for (auto* digits : {kBase64, kUrlBase64})
    for (size_t before = 0; before < 3; ++before) forms.push_back(base64_core(value, before, digits));
  return forms;
}

struct Known {
  std::mutex mutex;
  uint64_t salt = 0, factor = 0;
  std::array<std::unordered_set<uint64_t>, 2> pieces;  ///< Of kShortestSecret and kPiece characters.
};

constexpr std::array<size_t, 2> kLengths{kShortestSecret, kPiece};

/// Never destroyed: errors are printed until the process ends.
Known& known() {
  static Known* all = [] {
    auto* made = new Known;
    std::random_device random;
    made->salt = uint64_t(random()) << 32 | random();
    made->factor = (uint64_t(random()) << 32 | random()) | 1;  // Odd: no character of a piece is lost.
    return made;
  }();
  return *all;
}

/// The rolling hash of the `length` characters before each position, given to `visit` with the position behind them.
template <class Visit>
void roll(const Known& all, std::string_view text, size_t length, Visit&& visit) {
  if (text.size() < length) return;
  uint64_t leaving = 1;
  for (size_t i = 0; i < length; ++i) leaving *= all.factor;
  auto value = [](char c) { return uint64_t(static_cast<unsigned char>(c)) + 1; };
  uint64_t hash = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    hash = hash * all.factor + value(text[i]);
    if (i >= length) hash -= leaving * value(text[i - length]);
    // Mixed, so that a set of few buckets can tell them apart.
    if (i + 1 >= length) visit((hash ^ all.salt) * 0x9e3779b97f4a7c15ull, i + 1);
  }
}

/// A key that a text is broken or blanks put into is the same key.
bool blank(char c) { return std::isspace(static_cast<unsigned char>(c)) || c == '\0'; }

std::string without_blanks(std::string_view text) {
  std::string out;
  for (char c : text)
    if (!blank(c)) out += c;
  return out;
}

/// Whether one of the words of a variable's name says that its value is secret.
bool speaks_of_secrets(std::string_view name) {
  constexpr std::string_view kWords[] = {"KEY",         "KEYS",   "APIKEY",   "TOKEN",     "TOKENS",       "SECRET",
                                         "SECRETS",     "PASS",   "PASSWORD", "PASSWD",    "PASSPHRASE",   "CREDENTIAL",
                                         "PAT",         "COOKIE", "BEARER",   "PWD",       "AUTH",         "APITOKEN",
                                         "CREDENTIALS", "SAS",    "DSN",      "ACCESSKEY", "AUTHORIZATION"};
  if (name == "PWD" || name == "OLDPWD" || name.ends_with("_FILE")) return false;  // Where it lies is no secret.
  std::string word;
  auto secret = [&] {
    for (auto* end : {"TOKEN", "SECRET", "PASSWORD", "APIKEY"})  // "GITHUBTOKEN"
      if (word.ends_with(end)) return true;
    return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
  };
  for (char c : name) {
    if (c != '_') {
      word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      continue;
    }
    if (secret()) return true;
    word.clear();
  }
  return secret();
}

/// What begins with a slash names a file or socket that holds the secret (SSH_AUTH_SOCK); a short word ("disabled")
/// occurs in texts that have nothing to do with it.
bool is_word_or_path(std::string_view value) {
  const bool word = std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isalpha(c); });
  return value.starts_with('/') || (word && value.size() < kPiece);
}

/// The parts of a URL that may hold secrets, as offsets.
struct Url {
  size_t user = 0, host = 0;  ///< Equal if there is no user.
  size_t query = std::string_view::npos;

  explicit Url(std::string_view text) {
    const size_t scheme = text.find("://");
    if (scheme == text.npos) return;
    user = host = scheme + 3;
    const size_t end = std::min(text.find_first_of("/?#", host), text.size());
    if (const size_t at = text.substr(0, end).rfind('@'); at != text.npos && at >= user) host = at + 1;
    query = text.find_first_of("?#", host);
  }
};

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '%' && i + 2 < text.size() && std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                      std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    if (code) out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)), i += 2;
    else out += text[i];
  }
  return out;
}

}  // namespace

void keep_secret(std::string_view value) {
  const std::string own = without_blanks(value);
  if (own.size() < kShortestSecret) return;
  Known& all = known();
  std::lock_guard hold(all.mutex);
  for (const std::string& form : forms_of(own)) {
    if (form.size() < kShortestSecret) continue;
    const size_t which = own.size() < kPiece || form.size() < kPiece ? 0 : 1;
    roll(all, form, kLengths[which], [&](uint64_t hash, size_t) { all.pieces[which].insert(hash); });
  }
}

void keep_secrets_of_url(std::string_view url) {
  const Url parts(url);
  auto keep = [](std::string_view text) { keep_secret(text), keep_secret(percent_decoded(text)); };
  if (parts.host > parts.user) {
    const std::string_view user = url.substr(parts.user, parts.host - 1 - parts.user);
    const size_t colon = user.find(':');
    // A name alone is a token, as in https://TOKEN@host; before a password it is a name.
    keep(colon == user.npos ? user : user.substr(colon + 1));
    if (colon != user.npos) keep_secret(user);
  }
  if (parts.query == url.npos) return;
  std::string_view rest = url.substr(parts.query + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find_first_of("&;#"));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    keep(pair.substr(pair.find('=') == pair.npos ? 0 : pair.find('=') + 1));
  }
}

std::string url_without_secrets(std::string_view url) {
  const Url parts(url);
  const size_t end = std::min(parts.query, url.size());
  return std::string(url.substr(0, parts.user)) + std::string(url.substr(parts.host, end - parts.host));
}

void keep_secrets_of_environment() {
  for (char** variable = environ; variable && *variable; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals == text.npos) continue;
    const std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
    if (speaks_of_secrets(name) && !is_word_or_path(value)) keep_secret(value);
    if (const Url url(value); url.host > url.user) keep_secrets_of_url(value);
  }
}

std::string without_secrets(std::string text) {
  Known& all = known();
  std::lock_guard hold(all.mutex);
  if (all.pieces[0].empty() && all.pieces[1].empty()) return text;
  std::string dense;
  std::vector<size_t> places;  // Of the characters of `dense` in `text`.
  dense.reserve(text.size()), places.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i)
    if (!blank(text[i])) dense += text[i], places.push_back(i);
  std::vector<bool> secret;
  for (size_t which = 0; which < kLengths.size(); ++which) {
    if (all.pieces[which].empty()) continue;
    roll(all, dense, kLengths[which], [&](uint64_t hash, size_t end) {
      if (!all.pieces[which].contains(hash)) return;
      secret.resize(dense.size());
      std::fill(secret.begin() + static_cast<ptrdiff_t>(end - kLengths[which]),
                secret.begin() + static_cast<ptrdiff_t>(end), true);
    });
  }
  if (secret.empty()) return text;
  std::string out;
  size_t copied = 0;
  for (size_t i = 0; i < dense.size();) {
    if (!secret[i]) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < dense.size() && secret[end]) ++end;
    out.append(text, copied, places[i] - copied).append(kMask);
    copied = places[end - 1] + 1;
    i = end;
  }
  return out.append(text, copied, text.npos);
}

Json json_without_secrets(Json value) {
  if (value.is_string()) return without_secrets(value.get<std::string>());
  if (value.is_array())
    for (auto& item : value) item = json_without_secrets(std::move(item));
  if (!value.is_object()) return value;
  Json out = Json::object();
  for (auto& [key, item] : value.items()) out[without_secrets(key)] = json_without_secrets(std::move(item));
  return out;
}

}  // namespace kernelift
