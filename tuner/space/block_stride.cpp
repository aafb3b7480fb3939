// See block_stride.h. Names of the block's size and of the thread's index are traced through plain assignments; then
// every increment by such a size must be the step of a loop that runs until its variable reaches a limit.
#include "tuner/space/block_stride.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "core/base/words.h"
#include "tuner/space/plain_text.h"
#include "tuner/space/statement_text.h"

namespace kernelift::tuner {
namespace {

/// The other end of the operand that begins at `at` (or ends there, if not `forward`): an enclosing bracket, a
/// separator, or an operator of lower precedence than a comparison.
size_t operand(std::string_view text, size_t at, bool forward) {
  int depth = 0;
  auto next = [&] { return forward ? at < text.size() : at > 0; };
  for (; next(); forward ? ++at : --at) {
    const char c = text[forward ? at : at - 1];
    if (std::string_view(forward ? "([{" : ")]}").find(c) != std::string_view::npos) ++depth;
    else if (std::string_view(forward ? ")]}" : "([{").find(c) != std::string_view::npos && --depth < 0) return at;
    else if (depth == 0 && std::string_view(";,?&|={}<>!").find(c) != std::string_view::npos) return at;
  }
  return at;
}

/// Names for classifying conditions: `threads` depend on the thread's index; names in `known` have the same value in
/// every run, or follow the block.
struct Conditions {
  const std::set<std::string>&threads, &known;
  /// The text combines the thread's index with a value that other runs may change.
  bool vary(std::string_view text) const {
    const std::string plain = without_indices(text);
    return holds(plain, threads) && std::ranges::any_of(names_in(plain), [&](auto& name) {
             return !threads.contains(name) && !known.contains(name);
           });
  }
};

/// A comparison depends on the thread's index and on a value that may change: `t < w`, `2 * w <= t + 1`, `ok = w != t`.
bool compares(std::string_view text, const Conditions& conditions) {
  for (size_t at = text.find_first_of("<>=!"); at != text.npos; at = text.find_first_of("<>=!", at + 1)) {
    const std::string_view two = text.substr(at, 2);
    const bool equal = two == "<=" || two == ">=" || two == "==" || two == "!=";
    if (two == "<<" || two == ">>" || (at > 0 && text.substr(at - 1, 2) == "->")) {
      at += two == "<<" || two == ">>";
      continue;
    }
    if (!equal && text[at] != '<' && text[at] != '>') continue;
    const size_t begin = operand(text, at, false), right = at + (equal ? 2 : 1), end = operand(text, right, true);
    if (conditions.vary(text.substr(begin, end - begin))) return true;
    at = right - 1;
  }
  return false;
}

/// The same for conditions without a comparison, `inside(t, w)` or `switch (t / w)`, and for selections: `min(t, w)`.
bool chooses(std::string_view text, const Conditions& conditions) {
  for (auto* word : {"if", "while", "for", "switch"})
    for (auto& header : headers(text, word))
      for (size_t at = 0; at < header.condition.size();) {  // Each conjunct separately: `i < n && t == 0`.
        const size_t end =
            std::min({header.condition.find("&&", at), header.condition.find("||", at), header.condition.size()});
        if (conditions.vary(std::string_view(header.condition).substr(at, end - at))) return true;
        at = end + 2;
      }
  for (auto* word : {"min", "max", "umin", "umax", "clamp"})
    for (size_t at : whole_words(text, word))
      if (const size_t open = at + std::string_view(word).size();
          text.substr(open, 1) == "(" && conditions.vary(text.substr(open, past_bracket(text, open) - open)))
        return true;
  return false;
}

/// The comma-separated parts between the bracket at `open` and its partner.
std::vector<std::string> listed(std::string_view text, size_t open) {
  std::vector<std::string> parts;
  const size_t close = past_bracket(text, open) - 1;
  for (size_t at = open + 1; at < close;) {
    const size_t end = std::min(end_of_expression(text, at), close);
    parts.push_back(without_outer_blanks(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

/// A function or macro definition with the names of its parameters, or a call with its arguments.
struct Listed {
  std::string name;
  std::vector<std::string> parts;
  bool defines = false;
};

std::vector<Listed> all_listed(std::string_view text) {
  static const std::set<std::string, std::less<>> kStatements{"if", "for", "while", "switch", "return"};
  std::vector<Listed> all;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!word_character(text[at])) continue;
    const size_t end = end_of_word(text, at), open = text.find_first_not_of(" \t\n", end);
    if (open != text.npos && text[open] == '(' && !kStatements.contains(text.substr(at, end - at))) {
      const size_t behind = text.find_first_not_of(" \t\n", past_bracket(text, open));
      const bool defines = text.substr(0, at).ends_with("define ") || (behind != text.npos && text[behind] == '{');
      all.push_back({std::string(text.substr(at, end - at)), listed(text, open), defines});
      for (auto& part : all.back().parts)
        if (defines) {
          size_t begin = part.size();
          while (begin > 0 && word_character(part[begin - 1])) --begin;
          part.erase(0, begin);
        }
    }
    at = end;
  }
  return all;
}

/// Adds the parameters of functions and macros that get one of `names` in some call: `inside(threadIdx.x, w)`.
void add_parameters(std::string_view text, std::set<std::string>& names) {
  const std::vector<Listed> all = all_listed(text);
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (auto& own : all)
      for (auto& use : all)
        for (size_t i = 0;
             own.defines && !use.defines && own.name == use.name && i < std::min(own.parts.size(), use.parts.size());
             ++i)
          if (!own.parts[i].empty() && holds(without_indices(use.parts[i]), names)) names.insert(own.parts[i]);
  }
}

/// Adds names that are computed from `known` and numbers alone: `int offset = 16; offset /= 2`.
void add_known(std::string_view text, std::set<std::string>& known) {
  std::map<std::string, std::vector<std::string>> values;
  for (size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1)) {
    if (at == 0 || text.substr(at + 1, 1) == "=" || text[at - 1] == '=' || text[at - 1] == '!') continue;
    size_t end = at;
    while (end > 0 && std::string_view("+-*/%&|^<> \t").find(text[end - 1]) != std::string_view::npos) --end;
    size_t begin = end;
    while (begin > 0 && word_character(text[begin - 1])) --begin;
    const std::string_view between = text.substr(end, at - end);
    const bool compares =
        (between.ends_with("<") && !between.ends_with("<<")) || (between.ends_with(">") && !between.ends_with(">>"));
    if (begin < end && !compares)
      values[std::string(text.substr(begin, end - begin))].push_back(
          without_outer_blanks(text.substr(at + 1, end_of_expression(text, at + 1) - at - 1)));
  }
  for (size_t at : whole_words(text, "define")) {
    const size_t name = std::min(text.find_first_not_of(" \t", at + 6), text.size()), end = end_of_word(text, name),
                 line = std::min(text.find('\n', end), text.size());
    if (name < end && text.substr(end, 1) != "(")
      values[std::string(text.substr(name, end - name))].push_back(without_outer_blanks(text.substr(end, line - end)));
  }
  // Incremented, or possibly changed through its address.
  std::erase_if(values, [&](auto& one) {
    return std::ranges::any_of(whole_words(text, one.first), [&](size_t at) {
      const std::string_view before = text.substr(0, at), behind = text.substr(at + one.first.size());
      return before.ends_with("++") || before.ends_with("--") || behind.starts_with("++") || behind.starts_with("--") ||
             (before.ends_with("&") && !before.ends_with("&&"));
    });
  });
  for (size_t before = 0; before != known.size();) {
    before = known.size();
    for (auto& [name, all] : values) {
      const bool holds_known = std::ranges::all_of(all, [&](auto& value) {
        return std::ranges::all_of(names_in(value), [&](auto& part) { return part == name || known.contains(part); });
      });
      if (holds_known) known.insert(name);
    }
  }
}

/// Whether elements are assigned to threads by threadIdx alone while another run may have more elements than threads:
/// any array, except for shared arrays that are indexed by threads only, as in a tree reduction.
bool owns_elements(std::string_view text, const Conditions& conditions) {
  std::map<std::pair<std::string, size_t>, std::vector<std::string>> indices;  // By array and dimension.
  for (auto& one : subscripts(text))
    if (!one.declared) indices[{one.array, one.dimension}].push_back(one.index);
  return std::ranges::any_of(indices, [&](auto& one) {
    auto& [array, all] = one;
    if (std::ranges::none_of(all, [&](auto& index) { return holds(index, conditions.threads); })) return false;
    return !is_shared(text, array.first) || std::ranges::any_of(all, [&](auto& index) {
      return std::ranges::any_of(names_in(index), [&](auto& name) {
        return !conditions.threads.contains(name) && !conditions.known.contains(name);
      });
    });
  });
}

/// Adds counters of loops whose bound is in `known`: `for (int u = 0; u < blockDim.x; ++u)`.
void add_counters(std::string_view text, std::set<std::string>& known) {
  for (auto& loop : headers(text, "for")) {
    const size_t sign = loop.condition.find('<');
    if (sign == loop.condition.npos) continue;
    const std::string limit = loop.condition.substr(sign + (loop.condition.substr(sign + 1, 1) == "=" ? 2 : 1)),
                      counter = without_outer_blanks(std::string_view(loop.condition).substr(0, sign));
    if (std::ranges::all_of(names_in(limit), [&](auto& name) { return known.contains(name); })) known.insert(counter);
  }
}

/// Indices and sizes along the other axes, which do not change.
std::set<std::string> other_axes(const std::string& thread) {
  std::set<std::string> others{"threadIdx.x", "threadIdx.y", "threadIdx.z", "blockDim.x", "blockDim.y", "blockDim.z"};
  others.erase(thread), others.erase("blockDim" + thread.substr(thread.find('.')));
  return others;
}

/// The thread's index is stored in a form that is not traced: `int t{threadIdx.x}`, `int t(threadIdx.x)`,
/// `me.t = threadIdx.x`, `#define tx threadIdx.x`.
bool is_hidden(std::string_view text, const std::string& thread) {
  auto last = [&](size_t end) { return end == 0 ? text.npos : text.find_last_not_of(" \t\n", end - 1); };
  for (size_t at : whole_words(text, thread)) {
    const size_t line = text.rfind('\n', at), begin = text.find_first_not_of(" \t", line == text.npos ? 0 : line + 1);
    if (begin < at && text[begin] == '#') return true;
    const size_t before = last(at);
    if (before == text.npos) continue;
    const size_t name_end = last(before);
    if (text[before] == '{' && name_end != text.npos && word_character(text[name_end])) return true;
    size_t name = name_end == text.npos ? 0 : name_end + 1;
    while (name > 0 && word_character(text[name - 1])) --name;
    const size_t type = last(name);
    if (text[before] == '(' && name_end != text.npos && name <= name_end && type != text.npos &&
        word_character(text[type])) {
      size_t word = type + 1;
      while (word > 0 && word_character(text[word - 1])) --word;
      if (const auto is = text.substr(word, type + 1 - word);
          is != "return" && is != "else" && is != "case" && is != "do")
        return true;
    }
    if (text[before] == '=' && name_end != text.npos && name > 0 && (text[name - 1] == '.' || text[name - 1] == '>'))
      return true;
  }
  return false;
}

/// Adds names that are assigned from `names`, except for those in `others`.
void add_derived(const std::vector<Assignment>& all, std::set<std::string>& names,
                 const std::set<std::string>& others) {
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (auto& one : all)
      if (!others.contains(one.name) && holds(without_indices(one.value), names)) names.insert(one.name);
  }
}

}  // namespace

bool has_block_stride_loops(std::string_view source, std::set<std::string> sizes, const std::string& thread) {
  const std::string text = plain_text(source);
  if (is_hidden(text, thread)) return false;
  const std::vector<Assignment> all = assignments(text);
  std::set<std::string> threads{thread}, alone{thread};  // Names that depend on the thread; names that equal its index.
  for (size_t before = 0; before != sizes.size() + threads.size() + alone.size();) {
    before = sizes.size() + threads.size() + alone.size();
    for (auto& one : all) {
      if (!one.adds && alone.contains(one.value)) alone.insert(one.name);
      if (holds(one.value, threads)) threads.insert(one.name);
      else if (!one.adds && holds(one.value, sizes) && !holds(one.value, {one.name})) sizes.insert(one.name);
    }
  }
  std::vector<Header> loops = headers(text, "for"), whiles = headers(text, "while");
  loops.insert(loops.end(), whiles.begin(), whiles.end());
  std::set<std::string> stepped;
  for (auto& one : all) {
    if (!holds(one.value, sizes) || !(one.adds || holds(one.value, {one.name}))) continue;
    const bool in_loop = std::ranges::any_of(loops, [&](auto& loop) {
      return loop.begin < one.at && one.at < loop.end && holds(loop.condition, {one.name});
    });
    if (!in_loop) return false;
    stepped.insert(one.name);
  }
  // A comparison of the index itself, outside a block-stride loop, would leave work undone in a larger run.
  for (auto& name : stepped) alone.erase(name);
  add_derived(all, alone, stepped), add_parameters(text, alone), add_derived(all, alone, stepped);
  std::set<std::string> known = sizes;
  known.merge(other_axes(thread));
  add_known(text, known), add_counters(text, known);
  const Conditions conditions{alone, known};
  return !stepped.empty() && !compares(text, conditions) && !chooses(text, conditions) &&
         !owns_elements(text, conditions);
}

bool elements_follow_block(std::string_view source, const std::set<std::string>& given, const std::string& thread) {
  const std::string text = plain_text(source);
  if (is_hidden(text, thread)) return false;
  const std::vector<Assignment> all = assignments(text);
  std::set<std::string> sizes = given, placed{"blockIdx"}, alone{thread}, stepped;
  auto names_any = [](std::string_view value, const std::set<std::string>& of) {  // Whole names: not x in threadIdx.x.
    return std::ranges::any_of(names_in(value), [&](auto& name) { return of.contains(name); });
  };
  for (auto& one : all)
    if (one.adds || names_any(one.value, {one.name})) stepped.insert(one.name);
  for (size_t before = 0; before != sizes.size() + placed.size() + alone.size();) {
    before = sizes.size() + placed.size() + alone.size();
    for (auto& one : all) {
      if (holds(one.value, placed)) placed.insert(one.name);
      else if (names_any(without_indices(one.value), stepped))
        continue;  // `int j = first + threadIdx.x` differs between iterations.
      else if (holds(without_indices(one.value), alone)) alone.insert(one.name);
      else if (!one.adds && holds(one.value, sizes) && !holds(one.value, {one.name})) sizes.insert(one.name);
    }
  }
  for (auto& name : stepped) alone.erase(name);
  std::set<std::string> known = sizes, constants = other_axes(thread);
  known.insert(constants.begin(), constants.end());
  add_known(text, known), add_known(text, constants), add_counters(text, known);
  const std::vector<Subscript> elements = subscripts(text);
  return std::ranges::none_of(elements, [&](auto& element) {
    const auto names = names_in(element.index);
    const bool of_thread =
        !element.declared && !names.empty() && holds(element.index, alone) &&
        std::ranges::all_of(names, [&](auto& name) { return alone.contains(name) || constants.contains(name); });
    if (!of_thread) return false;
    if (!is_shared(text, element.array))
      return !names_any(element.index, stepped);  // `x[first + t]` differs between iterations.
    return std::ranges::any_of(elements, [&](auto& use) {
      return use.dimension == element.dimension && use.array == element.array && !use.declared &&
             std::ranges::any_of(names_in(use.index),
                                 [&](auto& name) { return !alone.contains(name) && !known.contains(name); });
    });
  });
}

bool has_unguarded_chunks(std::string_view source, const std::set<std::string>& sizes, const std::string& thread) {
  const std::string text = plain_text(source);
  const std::vector<Assignment> all = assignments(text);
  // Names derived from the block's index; from the thread's index; from the block's size without its index; from the
  // last two together.
  std::set<std::string> placed{"blockIdx"}, threads{thread}, chunks = sizes, both;
  add_derived(all, placed, {});
  add_derived(all, threads, placed);
  add_derived(all, chunks, placed);
  for (auto& name : threads)
    if (chunks.contains(name)) both.insert(name);
  std::set<std::string> derived = chunks;  // Without the size itself.
  for (auto& size : sizes) derived.erase(size);
  auto is_of_both = [&](std::string_view words) {
    return holds(words, both) || (holds(words, threads) && holds(words, chunks));
  };
  std::vector<Header> guards;
  for (auto* word : {"if", "while", "for"})
    for (auto& header : headers(text, word))
      if (is_of_both(header.condition) && header.condition.find_first_of("<>") != header.condition.npos)
        guards.push_back(header);
  return std::ranges::any_of(subscripts(text), [&](auto& use) {
    const std::string_view index = use.index;
    if (use.declared || is_shared(text, use.array) || !is_of_both(index) || index.find("min(") != index.npos)
      return false;
    // `x[blockIdx.x * blockDim.x + threadIdx.x]` has the index that the grid's guard tests.
    if (holds(index, placed) && !holds(index, both) && !holds(index, derived)) return false;
    const std::string_view before = statement_before(text, use.at);
    const bool chosen = (before.find('?') != before.npos || before.find("&&") != before.npos) && is_of_both(before) &&
                        before.find_first_of("<>") != before.npos;
    return !chosen &&
           std::ranges::none_of(guards, [&](auto& header) { return header.begin < use.at && use.at < header.end; });
  });
}

}  // namespace kernelift::tuner
