// What is spelled is reused, axis by axis: `grid.x` of a dim3, `(n + 255) / 256` and two ones of a number, `a` and `b` of
// `dim3(a, b)`. Worked example: the candidate's grid is (ceil_div(gx, 2), gy, gz) and the site says `k<<<grid, block>>>`:
// the grid becomes `dim3((grid.x + 1) / 2, grid.y, grid.z)`. Where the spelled type is not known, `dim3(<as spelled>).x`
// is right whatever it is.
#include "reintegrate/patch/launch_edit.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

namespace kernelift {
namespace {

const char* const kAxis = "xyz";
enum class Piece { Grid, Block, Shared };

/// To read or to set.
template <class Dim>
auto& along(Dim& dim, int axis) {
  return axis == 0 ? dim.x : axis == 1 ? dim.y : dim.z;
}

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Where the bracket that opens at `open` closes; npos if it does not.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    if (depth == 0) return at;
  }
  return text.npos;
}

size_t top_level_comma(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    if (depth == 0 && text[at] == ',') return at;
  }
  return text.npos;
}

/// Arithmetic outside brackets: then it is a number, not a dim3.
bool is_number(std::string_view text, std::string_view form) {
  if (text.empty() || !form.empty()) return form == "number";
  if (text.find_first_not_of("0123456789uU") == text.npos) return true;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    if (depth == 0 && at > 0 && std::strchr("+-*/%", text[at]) && !(text[at] == '-' && text.substr(at, 2) == "->")) return true;
  }
  return false;
}

std::vector<std::string> dim3_arguments(std::string_view text) {
  if (!text.starts_with("dim3(") || closing(text, 4) != text.size() - 1) return {};
  std::string_view rest = text.substr(5, text.size() - 6);
  std::vector<std::string> parts;
  for (;;) {
    size_t comma = top_level_comma(rest);
    std::string_view part = rest.substr(0, comma);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.front()))) part.remove_prefix(1);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back()))) part.remove_suffix(1);
    parts.emplace_back(part);
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (parts.size() == 1 && !is_number(parts[0], {})) return {};
  return parts;
}

/// Evaluating the text twice could do something twice.
bool has_effects(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "++" || text.substr(at, 2) == "--") return true;
    if (text[at] == '=' && (at == 0 || !std::strchr("=<>!", text[at - 1])) && text.substr(at, 2) != "==") return true;
  }
  return false;
}

bool calls_something(std::string_view text) {
  for (size_t at = 1; at < text.size(); ++at)
    if (text[at] == '(' && word_character(text[at - 1])) {
      size_t begin = at;
      while (begin > 0 && word_character(text[begin - 1])) --begin;
      std::string_view word = text.substr(begin, at - begin);
      if (word != "dim3" && word != "int" && word != "unsigned" && word != "size_t") return true;
    }
  return false;
}

std::string place(const LaunchSite& site) { return site.range.file + ":" + std::to_string(site.range.line); }

class LaunchEditor {
 public:
  LaunchEditor(const Mep& mep, const LaunchSite& site, const CandidateLaunch& launch, const Bindings& values,
               const Bindings& changed, const std::string& source, bool one_template)
      : mep_(mep), site_(site), launch_(launch), values_(values), changed_(changed), source_(source), one_template_(one_template) {}

  Result<LaunchEdits> run() {
    KERNELIFT_ASSIGN(bool grid, needs_edit(Piece::Grid));
    KERNELIFT_ASSIGN(bool block, needs_edit(Piece::Block));
    KERNELIFT_ASSIGN(bool shared, needs_edit(Piece::Shared));
    if (!grid && !block && !shared) return std::move(result_);
    if (site_.through_macro)
      return refused("the launch at " + place(site_) + " is written by a macro: its geometry cannot be changed in place");
    if (site_.kernels.size() > 1 && !one_template_)
      return refused("the launch at " + place(site_) + " serves " + std::to_string(site_.kernels.size()) +
                     " kernels: changing its geometry for one would break the others");
    if (grid) KERNELIFT_TRY(rewrite(Piece::Grid));
    if (block) KERNELIFT_TRY(rewrite(Piece::Block));
    if (shared) KERNELIFT_TRY(rewrite(Piece::Shared));
    return std::move(result_);
  }

 private:
  static const char* name(Piece piece) { return piece == Piece::Grid ? "grid" : piece == Piece::Block ? "block" : "shared memory"; }
  const Expression& wanted(Piece piece, int axis) const {
    return piece == Piece::Grid ? launch_.grid[axis] : piece == Piece::Block ? launch_.block[axis] : launch_.shared;
  }
  const std::string& spelled(Piece piece, int axis) const {
    return piece == Piece::Grid ? site_.grid[axis] : piece == Piece::Block ? site_.block[axis] : site_.shared;
  }
  const SourceRange& range(Piece piece) const {
    return piece == Piece::Grid ? site_.grid_range : piece == Piece::Block ? site_.block_range : site_.shared_range;
  }
  static int axes(Piece piece) { return piece == Piece::Shared ? 1 : 3; }

  /// True when the site would not launch what the candidate was verified with.
  Result<bool> needs_edit(Piece piece) {
    bool needed = false;
    for (int axis = 0; axis < axes(piece); ++axis) {
      auto text = Expression::parse(spelled(piece, axis));
      bool known = !spelled(piece, axis).empty() && text.ok();
      if (known && mentions_changed(*text)) {
        KERNELIFT_TRY(check_followed(piece, axis, *text));
        following_.insert(variable(piece, axis));
        continue;
      }
      KERNELIFT_ASSIGN(bool same, as_it_is(piece, axis));
      if (!same && !known && !changed_.empty())
        return refused("the " + std::string(name(piece)) + " of the launch at " + place(site_) + " would have to change along " + kAxis[axis] +
                       ", and whether it follows '" + changed_.begin()->first + "' by itself is not known");
      needed |= !same;
    }
    return needed;
  }

  bool mentions_changed(const Expression& text) const {
    auto variables = text.variables();
    return std::any_of(variables.begin(), variables.end(), [&](auto& variable) { return changed_.contains(variable); });
  }

  /// Whatever the site computes there may stay. Grids of other sizes than were recorded are asked about too: half of one
  /// block is one block, and half of three is not three.
  Result<bool> as_it_is(Piece piece, int axis) const {
    if (mep_.instances.empty()) return is_identity(piece, axis);
    for (auto& instance : mep_.instances)
      for (uint32_t other : {0u, 3u, 997u}) {
        Geometry geometry = instance.geometry;
        if (other && piece == Piece::Grid) along(geometry.grid, axis) = other;
        KERNELIFT_ASSIGN(Geometry wanted, launch_.evaluate(geometry, values_));
        if (component(wanted, piece, axis) != component(geometry, piece, axis)) return false;
      }
    return true;
  }

  bool is_identity(Piece piece, int axis) const {
    return wanted(piece, axis).text() == variable(piece, axis);
  }

  /// As candidates' expressions call it: gx, by, shared.
  static std::string variable(Piece piece, int axis) {
    if (piece == Piece::Shared) return "shared";
    return {piece == Piece::Grid ? 'g' : 'b', kAxis[axis]};
  }

  static uint32_t component(const Geometry& geometry, Piece piece, int axis) {
    if (piece == Piece::Shared) return geometry.shared_bytes;
    return along(piece == Piece::Grid ? geometry.grid : geometry.block, axis);
  }

  /// The source computes this axis from a knob that the patch turns. Where no other variable takes part, its new value
  /// is known and must be the verified one.
  Status check_followed(Piece piece, int axis, const Expression& text) {
    Bindings knobs = changed_;
    for (auto& knob : mep_.knobs) knobs.emplace(knob.name, knob.value);
    auto value = text.evaluate(knobs);
    if (!value.ok()) return done();
    for (auto& instance : mep_.instances) {
      KERNELIFT_ASSIGN(Geometry geometry, launch_.evaluate(instance.geometry, values_));
      if (*value != component(geometry, piece, axis))
        return refused("the " + std::string(name(piece)) + " of the launch at " + place(site_) + " would become " +
                       std::to_string(*value) + " along " + kAxis[axis] + ", but the candidate was verified with " +
                       std::to_string(component(geometry, piece, axis)));
    }
    return done();
  }

  Status rewrite(Piece piece) {
    const SourceRange& where = range(piece);
    std::string what = "the " + std::string(name(piece)) + " of the launch at " + place(site_);
    if (where.begin >= where.end || where.file != site_.range.file)
      return refused(what + " is not spelled there: it cannot be changed in place");
    if (where.end > source_.size() || !looks_like_argument(where))
      return refused(what + " is not where the scan saw it: " + site_.range.file + " has changed since; run `kernelift scan` again");
    KERNELIFT_ASSIGN(std::string text, replacement(piece, what));
    result_.edits.push_back({where.file, where.begin, where.end, text, what});
    return done();
  }

  bool looks_like_argument(const SourceRange& where) const {
    size_t before = where.begin, after = where.end;
    while (before > 0 && std::isspace(static_cast<unsigned char>(source_[before - 1]))) --before;
    while (after < source_.size() && std::isspace(static_cast<unsigned char>(source_[after]))) ++after;
    // `<<<grid, block>>>`, a call's arguments, or the fields of a launch configuration.
    bool opens = before > 0 && std::strchr("<,(={", source_[before - 1]);
    return opens && after < source_.size() && std::strchr(">,);}", source_[after]);
  }

  std::string as_spelled(Piece piece) const {
    const SourceRange& where = range(piece);
    return where.file == site_.range.file && where.end <= source_.size() && where.begin < where.end
               ? source_.substr(where.begin, where.end - where.begin) : std::string();
  }

  Result<std::string> replacement(Piece piece, const std::string& what) {
    KERNELIFT_TRY(check_reused(piece, what));
    std::map<std::string, std::string> names{{"shared", as_spelled(Piece::Shared)}};
    if (names["shared"].empty()) names["shared"] = "0";
    Bindings known = values_;
    spell_axes(Piece::Grid, site_.grid_form, names, known);
    spell_axes(Piece::Block, site_.block_form, names, known);

    std::vector<std::string> text;
    for (int axis = 0; axis < axes(piece); ++axis) {
      if (following_.contains(variable(piece, axis))) {  // As it is spelled it is what was verified.
        text.push_back(names.at(variable(piece, axis)));
        continue;
      }
      if (piece == Piece::Grid) KERNELIFT_TRY(check_block(axis, what, known));
      Expression simple = wanted(piece, axis).simplified(known);
      for (auto& name : simple.variables()) {
        if (!names.contains(name)) return refused(what + " depends on '" + name + "', which the source does not spell");
        if (following_.contains(name)) return refused(what + " depends on '" + name + "', which changes there with '" + changed_.begin()->first + "'");
      }
      text.push_back(simple.cpp(names));
    }
    if (piece == Piece::Shared) return text[0];
    bool number = is_number(as_spelled(piece), piece == Piece::Grid ? site_.grid_form : site_.block_form);
    while (text.size() > 1 && text.back() == "1") text.pop_back();
    std::string all = text[0];
    for (size_t axis = 1; axis < text.size(); ++axis) all += ", " + text[axis];
    return number && text.size() == 1 ? all : "dim3(" + all + ")";
  }

  /// Another site, which was not recorded, may have another block. A grid that follows the block by the recorded one's
  /// number would then be too small, or too large.
  Status check_block(int axis, const std::string& what, const Bindings& known) const {
    std::string grid = variable(Piece::Grid, axis), block = variable(Piece::Block, axis);
    auto uses = [](const Expression& text, const std::string& name) { return text.variables().contains(name); };
    const Expression &wanted_grid = wanted(Piece::Grid, axis), &wanted_block = wanted(Piece::Block, axis);
    if (is_identity(Piece::Grid, axis) || !uses(wanted_grid, grid) || uses(wanted_grid, block) || uses(wanted_block, block)) return done();
    auto here = known.find(block);
    if (here != known.end() && is_recorded(Piece::Block, axis, here->second)) return done();
    KERNELIFT_ASSIGN(bool same, as_it_is(Piece::Block, axis));
    if (same) return done();
    return refused(what + " would have to follow its block, which " + (here == known.end() ? "is not known there" : "is " + std::to_string(here->second) + " there") +
                   " along " + kAxis[axis] + ": the candidate was verified with launches of " + std::to_string(component(mep_.instances[0].geometry, Piece::Block, axis)));
  }

  /// What the replacement reuses is evaluated once for every use.
  Status check_reused(Piece piece, const std::string& what) {
    std::set<std::string> used;
    for (int axis = 0; axis < axes(piece); ++axis)
      for (auto& name : wanted(piece, axis).variables()) used.insert(name);
    auto uses = [&](char of) { return used.contains({of, 'x'}) || used.contains({of, 'y'}) || used.contains({of, 'z'}); };
    for (auto& [of, needed] : {std::pair{Piece::Grid, uses('g')}, {Piece::Block, uses('b')}, {Piece::Shared, used.contains("shared")}}) {
      std::string text = as_spelled(of);
      if (needed && has_effects(text)) return refused(what + " needs '" + text + "' more than once, which has side effects");
      if (needed && calls_something(text))
        result_.notes.push_back("The launch at " + place(site_) + " now evaluates '" + text + "' more than once.");
    }
    return done();
  }

  /// How the site spells gx, gy and gz (or bx, by, bz); a value that is a constant there is known.
  void spell_axes(Piece piece, const std::string& form, std::map<std::string, std::string>& names, Bindings& known) const {
    std::string text = as_spelled(piece);
    if (text.empty()) return;
    std::vector<std::string> parts = dim3_arguments(text);
    if (parts.empty() && is_number(text, form)) parts = {text};
    bool plain = std::all_of(text.begin(), text.end(), [](char c) { return word_character(c) || c == '.' || c == ':'; });
    std::string whole = form == "dim3" && plain ? text : "dim3(" + text + ")";
    for (size_t axis = 0; axis < 3; ++axis) {
      std::string name = {piece == Piece::Grid ? 'g' : 'b', kAxis[axis]};
      if (axis < parts.size()) names[name] = parts[axis];
      else names[name] = parts.empty() ? whole + "." + kAxis[axis] : "1";
      // What the scan worked out of a variable counts only if the recording agrees.
      auto value = Expression::parse(parts.empty() ? spelled(piece, static_cast<int>(axis)) : names[name]);
      if (!value.ok() || !value->variables().empty()) continue;
      auto constant = value->evaluate({});
      if (constant.ok() && (!parts.empty() || is_recorded(piece, static_cast<int>(axis), *constant))) known[name] = *constant;
    }
  }

  bool is_recorded(Piece piece, int axis, int64_t value) const {
    return std::all_of(mep_.instances.begin(), mep_.instances.end(),
                       [&](auto& instance) { return component(instance.geometry, piece, axis) == value; });
  }

  const Mep& mep_;
  const LaunchSite& site_;
  const CandidateLaunch& launch_;
  const Bindings& values_;
  const Bindings& changed_;
  const std::string& source_;
  bool one_template_;
  std::set<std::string> following_;  ///< gx, by, …: what the source computes from a changed knob.
  LaunchEdits result_;
};

}  // namespace

Result<LaunchEdits> edit_launch(const Mep& mep, const LaunchSite& site, const CandidateLaunch& launch,
                                const Bindings& values, const Bindings& changed, const std::string& source, bool one_template) {
  return LaunchEditor(mep, site, launch, values, changed, source, one_template).run();
}

}  // namespace kernelift
