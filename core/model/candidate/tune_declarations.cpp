// See tune_declarations.h. A comment holds statements, separated by semicolons:
//
//     tune NAME in SET [where CONDITION, …]     SET: {A, B, …} or A..B or A..B step S or A..B times F
//     where CONDITION, …
//     launch SIZE = EXPRESSION, …               SIZE: grid.x … block.z, shared
#include "core/model/candidate/tune_declarations.h"

#include <algorithm>
#include <functional>
#include <set>

#include "core/base/words.h"
#include "core/model/candidate/candidate.h"

namespace kernelift {
namespace {

constexpr std::string_view kMark = "kernelift:";
constexpr size_t kMostParameters = 64, kMostValues = 1024;

struct Comment {
  size_t begin = 0, end = 0;  ///< From the slashes to the end of the line, without the line end.
  size_t line = 0;
  std::vector<std::string> statements;
};

/// The parts of `text` between separators outside of brackets.
std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : separator;
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (at < text.size() && (c != separator || depth > 0)) continue;
    parts.push_back(without_outer_blanks(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  return parts;
}

std::vector<Comment> comments_of(std::string_view source) {
  std::vector<Comment> found;
  size_t line = 1;
  for (size_t at = 0; at < source.size();) {
    const size_t end = past_quoted(source, at);
    if (end == at) {
      line += source[at++] == '\n';
      continue;
    }
    const std::string_view text = source.substr(at, end - at);
    if (text.starts_with("//")) {
      const std::string words = without_outer_blanks(text.substr(2));
      if (words.starts_with(kMark)) {
        Comment comment{at, text.ends_with('\r') ? end - 1 : end, line, {}};
        for (auto& statement : parts_of(std::string_view(words).substr(kMark.size()), ';'))
          if (!statement.empty()) comment.statements.push_back(statement);
        found.push_back(std::move(comment));
      }
    }
    line += static_cast<size_t>(std::ranges::count(text, '\n'));
    at = end;
  }
  return found;
}

/// The text with only the statements that `keep` names; a line that held no others goes with its comment.
std::string with_statements(std::string_view source, const std::function<bool(const std::string&)>& keep) {
  std::string text;
  size_t at = 0;
  for (auto& comment : comments_of(source)) {
    std::string kept;
    size_t left = 0;
    for (auto& statement : comment.statements)
      if (keep(statement)) kept += (left++ ? "; " : "// kernelift: ") + statement;
    if (left == comment.statements.size() && (left > 0 || keep(""))) continue;
    const size_t from = source.rfind('\n', comment.begin);
    const size_t begin = comment.begin == 0 || from == source.npos ? 0 : from + 1;
    const std::string_view ahead = source.substr(begin, comment.begin - begin);
    const bool alone = ahead.find_first_not_of(" \t") == ahead.npos;
    size_t cut = comment.begin, go_on = comment.end;
    if (left == 0 && alone) {
      cut = begin, go_on = source.find('\n', comment.end);
      go_on = go_on == source.npos ? source.size() : go_on + 1;
    } else if (left == 0) {
      while (cut > begin && (source[cut - 1] == ' ' || source[cut - 1] == '\t')) --cut;
    }
    text.append(source, at, cut - at);
    text += kept;
    at = go_on;
  }
  return text.append(source, at);
}

std::string word_at(std::string_view text) { return std::string(text.substr(0, end_of_word(text, 0))); }

/// `text` without the word that it begins with.
std::string_view behind_word(std::string_view text) { return text.substr(end_of_word(text, 0)); }

class Reader {
 public:
  Status take(const Comment& comment) {
    line_ = comment.line;
    if (comment.statements.empty()) return wrong("a declaration is missing behind 'kernelift:'");
    for (auto& statement : comment.statements) {
      const std::string word = word_at(statement);
      const std::string rest = without_outer_blanks(behind_word(statement));
      if (word == "tune") KERNELIFT_TRY(take_parameter(rest));
      else if (word == "where") KERNELIFT_TRY(take_conditions(rest));
      else if (word == "launch") KERNELIFT_TRY(take_launch(rest));
      else
        return wrong("'" + (word.empty() ? statement : word) +
                     "' is no declaration; there are tune NAME in SET, where CONDITION and launch SIZE = EXPRESSION");
    }
    return done();
  }
  TuneDeclarations result;

 private:
  Error wrong(const std::string& what) const { return usage_error("line " + std::to_string(line_) + ": " + what); }

  Result<Expression> expression(const std::string& text) const {
    auto parsed = Expression::parse(text);
    if (!parsed.ok()) return wrong("'" + text + "' is no expression: " + parsed.error().message);
    return parsed;
  }

  Result<int64_t> number(const std::string& text) const {
    KERNELIFT_ASSIGN(Expression parsed, expression(text));
    auto value = parsed.evaluate({});
    if (!value.ok()) return wrong("'" + text + "' is no number, as the values of a parameter are");
    return value;
  }

  Status take_parameter(const std::string& text) {
    const auto ins = whole_words(text, "in");
    if (ins.empty()) return wrong("'tune " + text + "' has no set of values: tune NAME in {16, 32}");
    TuneDeclarations::Parameter parameter;
    parameter.name = without_outer_blanks(std::string_view(text).substr(0, ins[0])), parameter.line = line_;
    if (!Expression::is_name(parameter.name)) return wrong("'" + parameter.name + "' is no name");
    if (is_size(parameter.name)) return wrong("'" + parameter.name + "' is a size of the recorded launch already");
    if (auto* other = result.find(parameter.name))
      return wrong("'" + parameter.name + "' is declared twice, first in line " + std::to_string(other->line));
    if (result.parameters.size() == kMostParameters)
      return wrong("more than " + std::to_string(kMostParameters) + " parameters are declared");
    std::string set = text.substr(ins[0] + 2), conditions;
    if (auto wheres = whole_words(set, "where"); !wheres.empty()) {
      conditions = without_outer_blanks(std::string_view(set).substr(wheres[0] + 5));
      set.resize(wheres[0]);
      if (conditions.empty()) return wrong("a condition is missing behind 'where'");
    }
    KERNELIFT_ASSIGN(parameter.values, values_of(without_outer_blanks(set), parameter.name));
    result.parameters.push_back(std::move(parameter));
    return conditions.empty() ? done() : take_conditions(conditions);
  }

  static bool is_size(const std::string& name) { return with_geometry({}, {}).contains(name); }

  Result<std::vector<int64_t>> values_of(const std::string& set, const std::string& name) const {
    std::set<int64_t> values;
    if (set.starts_with('{') || set.find("..") == set.npos) {
      if (!set.starts_with('{') || !set.ends_with('}'))
        return wrong("'" + set + "' is no set of values; write {16, 32, 64}, 1..8, 16..128 step 16 or 8..256 times 2");
      for (auto& part : parts_of(std::string_view(set).substr(1, set.size() - 2), ',')) {
        if (part.empty() && set.find_first_not_of("{} \t") == set.npos) break;
        KERNELIFT_ASSIGN(int64_t value, number(part));
        values.insert(value);
      }
    } else {
      KERNELIFT_TRY(add_range(set, values));
    }
    if (values.empty()) return wrong("the set of values of '" + name + "' is empty");
    if (values.size() > kMostValues) return too_many();
    return std::vector(values.begin(), values.end());
  }

  Error too_many() const { return wrong("a parameter has at most " + std::to_string(kMostValues) + " values"); }

  /// A..B, with every value, every S-th (step S), or each F times the one before (times F).
  Status add_range(std::string set, std::set<int64_t>& values) const {
    int64_t step = 1, factor = 1;
    for (auto [word, into] : {std::pair("step", &step), std::pair("times", &factor)}) {
      auto at = whole_words(set, word);
      if (at.empty()) continue;
      KERNELIFT_ASSIGN(
          *into, number(without_outer_blanks(std::string_view(set).substr(at[0] + std::string_view(word).size()))));
      if (*into < (into == &factor ? 2 : 1))
        return wrong("'" + std::string(word) + " " + std::to_string(*into) + "' leads to no further value");
      set.resize(at[0]);
    }
    const size_t dots = set.find("..");
    KERNELIFT_ASSIGN(int64_t first, number(without_outer_blanks(std::string_view(set).substr(0, dots))));
    KERNELIFT_ASSIGN(int64_t last, number(without_outer_blanks(std::string_view(set).substr(dots + 2))));
    if (factor > 1 && first < 1) return wrong("a range with 'times' begins above 0");
    for (int64_t value = first; value <= last;) {
      values.insert(value);
      if (values.size() > kMostValues) return too_many();
      int64_t next = 0;
      const bool overflows =
          factor > 1 ? __builtin_mul_overflow(value, factor, &next) : __builtin_add_overflow(value, step, &next);
      if (overflows) break;
      value = next;
    }
    return done();
  }

  Status take_conditions(const std::string& text) {
    for (auto& part : parts_of(text, ',')) {
      if (part.empty()) return wrong("a condition is missing: where TILE * TILE <= 1024");
      KERNELIFT_ASSIGN(Expression holds, expression(part));
      result.conditions.push_back({std::move(holds), line_});
    }
    return done();
  }

  Status take_launch(const std::string& text) {
    for (auto& part : parts_of(text, ',')) {
      const size_t equals = part.find('=');
      const std::string name = without_outer_blanks(std::string_view(part).substr(0, equals));
      CandidateLaunch launch;
      if (equals == part.npos || !launch.size_named(name))
        return wrong("'" + part + "' sets no size of a launch; there are grid.x … block.z = EXPRESSION, and shared");
      for (auto& other : result.launch)
        if (other.name == name)
          return wrong("'" + name + "' is declared twice, first in line " + std::to_string(other.line));
      KERNELIFT_ASSIGN(Expression size, expression(without_outer_blanks(std::string_view(part).substr(equals + 1))));
      result.launch.push_back({name, std::move(size), line_});
    }
    return done();
  }

  size_t line_ = 0;
};

}  // namespace

const TuneDeclarations::Parameter* TuneDeclarations::find(std::string_view name) const {
  auto found = std::ranges::find(parameters, name, &Parameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

Result<TuneDeclarations> TuneDeclarations::parse(std::string_view source) {
  Reader reader;
  for (auto& comment : comments_of(source)) KERNELIFT_TRY(reader.take(comment));
  return std::move(reader.result);
}

std::string without_launch_declarations(std::string_view source) {
  return with_statements(source, [](const std::string& statement) { return word_at(statement) != "launch"; });
}

std::string without_declarations(std::string_view source, std::string_view original) {
  std::set<std::string> kept;
  for (auto& comment : comments_of(original)) {
    kept.insert(comment.statements.begin(), comment.statements.end());
    if (comment.statements.empty()) kept.insert("");  // One that declares nothing.
  }
  return with_statements(source, [&](const std::string& statement) { return kept.contains(statement); });
}

}  // namespace kernelift
