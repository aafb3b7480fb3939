// See tile_text.h. With `unroll`, the loops over a thread's outputs disappear, and adjacent elements of a tile are read
// together.
#include "tuner/source/rules/tiling/tile_text.h"

#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kTileVectorBytes = 16;  ///< The widest access to shared memory.
constexpr int64_t kUnrolledSteps = 8;

const clang::Stmt* content(const TileItem& item) {
  return item.variable ? static_cast<const clang::Stmt*>(item.variable->getInit()) : item.statement;
}

std::vector<const clang::Stmt*> contents(const std::vector<TileItem>& items) {
  std::vector<const clang::Stmt*> all;
  for (auto& item : items) all.push_back(content(item));
  return all;
}

/// A statement's text whose further lines are indented by `to` in place of `from`.
std::string moved_to(const std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t next = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, next - at);
    if (at > 0) line = "\n" + (line.starts_with(from) ? to + line.substr(from.size()) : line);
    out += line, at = next + 1;
  }
  return out;
}

std::string digits(int64_t value) { return std::to_string(value); }

}  // namespace

TileText::TileText(const KernelSource& source, const TiledLoop& loop, const TileShape& shape)
    : source_(source), loop_(loop), shape_(shape) {
  auto fresh = [&](const std::string& stem) { return source.fresh_name(stem); };
  const std::string step = loop.counter->getNameAsString();
  names_ = {fresh("u"),
            fresh("v"),
            fresh("part"),
            fresh("piece"),
            fresh("thread"),
            fresh("thread_step"),
            fresh("block_row"),
            fresh("block_column"),
            fresh("thread_row"),
            fresh("thread_column"),
            fresh(step + "_begin"),
            fresh(step + "_first"),
            fresh(step + "_end"),
            fresh("slice"),
            fresh("load")};
  for (auto& operand : loop.operands) {
    auto of_array = [&](auto& other) { return other.array == operand.array; };
    std::string stem = operand.array + (std::ranges::count_if(loop.operands, of_array) == 1 ? "_tile"
                                        : operand.of_rows                                   ? "_rows"
                                                                                            : "_columns");
    std::string name = fresh(stem);
    for (int other = 2; std::ranges::find(tiles_, name) != tiles_.end(); ++other) name = fresh(stem + digits(other));
    tiles_.push_back(name);
    width_ = std::min(width_, std::max<int64_t>(kTileVectorBytes / operand.bytes, 1));
  }
  width_ = std::min(width_, shape.thread_columns);
}

/// A tile that is stored along its columns has longer rows, so that threads that store together use different banks.
int64_t TileText::padding(const TileOperand& operand) const {
  return operand.along_steps ? std::max<int64_t>(kTileVectorBytes / operand.bytes, 1) : 0;
}

/// Elements of a tile that each thread loads.
int64_t TileText::pieces(const TileOperand& operand) const {
  return (operand.of_rows ? shape_.rows : shape_.columns) * shape_.depth() / shape_.threads();
}

/// A thread's elements follow from its number in the block, not from its two coordinates.
bool TileText::by_number(const TileOperand& operand) const {
  return !operand.along_steps || shape_.steps() != shape_.threads_x();
}

int64_t TileText::shared_bytes() const {
  int64_t bytes = 0;
  for (auto& operand : loop_.operands)
    bytes += shape_.depth() * ((operand.of_rows ? shape_.rows : shape_.columns) + padding(operand)) * operand.bytes;
  if (shape_.slices > 1)
    for (auto& sum : loop_.sums) bytes += shape_.rows * shape_.columns * sum.bytes;
  return bytes;
}

std::string TileText::subscripts(TileAxes axes) const {
  const std::string part = in_parts() ? "[" + names_.part + "]" : "";
  return (axes & kTileRow ? "[" + names_.u + "]" : "") + (axes & kTileColumn ? part + "[" + names_.v + "]" : "");
}

/// A column of a thread, which has as many neighbours as it reads at once, and more of them past those of the other
/// threads.
std::string TileText::thread_column() const {
  const std::string part = in_parts() ? names_.part + " * " + digits(width_ * shape_.threads_x()) + " + " : "";
  return names_.thread_column + " + " + part + names_.v;
}

/// Declares the indices of an output of the thread.
std::string TileText::indices(const std::string& indent, TileAxes axes) const {
  const TileIndex &row = loop_.row, &column = loop_.column;
  const std::string of_row = row.name + " = " + names_.block_row + " + " + names_.thread_row + " + " + names_.u,
                    of_column = column.name + " = " + names_.block_column + " + " + thread_column();
  std::string out;
  if (axes == (kTileRow | kTileColumn) && row.type == column.type) {
    add(out, indent, "const " + row.type + " " + of_row + ", " + of_column + ";");
    return out;
  }
  if (axes & kTileRow) add(out, indent, "const " + row.type + " " + of_row + ";");
  if (axes & kTileColumn) add(out, indent, "const " + column.type + " " + of_column + ";");
  return out;
}

void TileText::add_loops(std::string& out, std::string& indent, bool block) const {
  std::vector<std::pair<std::string, int64_t>> loops{{names_.u, shape_.thread_rows}};
  if (in_parts()) loops.emplace_back(names_.part, shape_.thread_columns / width_);
  loops.emplace_back(names_.v, in_parts() ? width_ : shape_.thread_columns);
  for (auto& [name, count] : loops) {
    add(out, indent, "#pragma unroll");
    add(out, indent,
        "for (int " + name + " = 0; " + name + " < " + digits(count) + "; ++" + name + ")" +
            (block && name == names_.v ? " {" : ""));
    indent += source_.step();
  }
}

/// The statement with accumulators and, in the loop, loads replaced by registers and tiles.
std::optional<std::string> TileText::rewritten(const clang::Stmt* statement, Region region,
                                               const std::string& indent) const {
  auto whole = source_.span(statement);
  if (!whole) return std::nullopt;
  std::vector<TextEdit> edits;
  bool spelled = true;
  auto replace = [&](const clang::Stmt* part, const std::string& by) {
    auto where = source_.span(part);
    if (where) edits.push_back({where->begin - whole->begin, where->end - whole->begin, by});
    else spelled = false;
    return false;
  };
  const std::string step = loop_.counter->getNameAsString() + " - " + names_.start;
  walk(statement, [&](const clang::Stmt* part) {
    auto used = [&](auto& load) { return std::ranges::find(load.uses, part) != load.uses.end(); };
    if (region == Region::Loop) {
      for (size_t i = 0; i < loop_.operands.size(); ++i)
        if (auto& operand = loop_.operands[i]; used(operand))
          return replace(part, tiles_[i] + "[" + step + "][" +
                                   (operand.of_rows ? names_.thread_row + " + " + names_.u : thread_column()) + "]");
      for (auto& kept : loop_.kept)
        if (used(kept)) return replace(part, kept.name + subscripts(kept.axes));
    }
    auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(part);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(part);
    for (auto& sum : loop_.sums)
      if ((sum.element && element && named_variable(element->getBase()) == sum.variable) ||
          (!sum.element && reference && reference->getDecl() == sum.variable))
        return replace(part, sum.name + subscripts(kTileRow | kTileColumn));
    for (auto& kept : loop_.kept)
      if (region == Region::Loop && reference && kept.variable && reference->getDecl() == kept.variable)
        return replace(part, kept.name + subscripts(kept.axes));
    return true;
  });
  auto text =
      spelled ? apply_edits(source_.text().substr(whole->begin, whole->end - whole->begin), edits) : std::nullopt;
  if (!text) return std::nullopt;
  return moved_to(*text, source_.indentation(whole->begin), indent);
}

/// The declaration of one variable. One that others share is written anew.
std::optional<std::string> TileText::declaration(const TileItem& item, Region region, const std::string& indent) const {
  auto* variable = item.variable;
  for (auto& sum : loop_.sums)
    if (!sum.element && sum.variable == variable) {
      auto value = rewritten(variable->getInit(), region, indent);
      return value ? std::optional(sum.name + subscripts(kTileRow | kTileColumn) + " = " + *value + ";") : std::nullopt;
    }
  if (llvm::cast<clang::DeclStmt>(item.statement)->isSingleDecl()) return rewritten(item.statement, region, indent);
  const std::string type = spelled_type(source_, variable);
  auto value = variable->getInit() ? rewritten(variable->getInit(), region, indent) : std::string();
  if (type.empty() || !value || variable->getType()->isPointerType()) return std::nullopt;
  return (variable->getType().isConstQualified() ? "const " : "") + type + " " + variable->getNameAsString() +
         (value->empty() ? "" : " = " + *value) + ";";
}

std::string TileText::comments_above(const clang::Stmt* statement, const std::string& indent) const {
  auto place = source_.span(statement);
  std::string comments;
  if (!place || !source_.first_on_line(place->begin)) return comments;
  for (size_t line = source_.line_begin(place->begin); line > loop_.begin;) {
    const size_t above = source_.line_begin(line - 1), begin = above + source_.indentation(above).size();
    const std::string text = source_.text().substr(begin, line - 1 - begin);
    if (!text.starts_with("//") && !(text.starts_with("/*") && text.ends_with("*/"))) break;
    comments.insert(0, indent + text + "\n");
    line = above;
  }
  return comments;
}

bool TileText::add_items(std::string& out, const std::string& indent, const std::vector<TileItem>& items, Region region,
                         bool repeated) const {
  const clang::Stmt* last = nullptr;
  return std::ranges::all_of(items, [&](auto& item) {
    auto text = item.variable ? declaration(item, region, indent) : rewritten(item.statement, region, indent);
    if (!text) return false;
    if (!repeated && item.statement != last) out += comments_above(item.statement, indent);
    last = item.statement;
    const bool ends = text->ends_with(";") || text->ends_with("}");
    add(out, indent, *text + (ends ? "" : ";"));
    return true;
  });
}

bool TileText::add_declarations(std::string& out, const std::string& indent) const {
  std::set<std::string> arrays;
  for (auto& operand : loop_.operands) arrays.insert(operand.array);
  const std::string rows = digits(shape_.thread_rows), columns = digits(shape_.thread_columns),
                    of_rows = "[" + rows + "]",
                    of_columns = in_parts() ? "[" + digits(shape_.thread_columns / width_) + "][" + digits(width_) + "]"
                                            : "[" + columns + "]";
  add(out, indent,
      "// Each block computes " + digits(shape_.rows) + " x " + digits(shape_.columns) + " outputs, each thread " +
          rows + " x " + columns + " of them, from tiles of " + listed({arrays.begin(), arrays.end()}) +
          " in shared memory.");
  if (shape_.slices > 1)
    add(out, indent, "// Threads that differ along z share the iterations, and their sums are added up in the end.");
  for (size_t i = 0; i < tiles_.size(); ++i) {
    auto& operand = loop_.operands[i];
    add(out, indent,
        "alignas(16) __shared__ " + operand.type + " " + tiles_[i] + "[" + digits(shape_.depth()) + "][" +
            digits(operand.of_rows ? shape_.rows : shape_.columns) +
            (padding(operand) ? " + " + digits(padding(operand)) : "") + "];");
  }
  if (shape_.slices > 1)
    for (auto& sum : loop_.sums)
      add(out, indent,
          "__shared__ " + sum.type + " " + source_.fresh_name(sum.name + "_parts") + of_rows + of_columns + "[" +
              digits(shape_.threads_y()) + "][" + digits(shape_.threads_x()) + "];");
  if (!add_items(out, indent, loop_.uniform, Region::Outputs)) return false;
  auto block = [&](const TileIndex& index, int64_t size) {
    return std::string("blockIdx.") + "xyz"[index.axis] + " * " + digits(size);
  };
  add(out, indent,
      "const int " + names_.block_row + " = " + block(loop_.row, shape_.rows) + ", " + names_.block_column + " = " +
          block(loop_.column, shape_.columns) + ";");
  auto past = [&](const std::string& smaller, const std::string& larger, int64_t side) {
    add(out, indent, "if (" + smaller + " >= " + larger + " + " + digits(side) + ") return;");
  };
  if (loop_.lower) past(names_.block_column, names_.block_row, shape_.rows);
  if (loop_.upper) past(names_.block_row, names_.block_column, shape_.columns);
  add(out, indent,
      "const int " + names_.thread_row + " = threadIdx.y * " + rows + ", " + names_.thread_column +
          " = threadIdx.x * " + digits(width_) + ";");
  const std::string x = digits(shape_.threads_x());
  auto numbered = [&](auto& operand) { return by_number(operand); };
  if (shape_.slices > 1 && !std::ranges::all_of(loop_.operands, numbered))
    add(out, indent, "const int " + names_.thread_step + " = threadIdx.z * " + x + " + threadIdx.x;");
  if (std::ranges::any_of(loop_.operands, numbered)) {
    const std::string row =
        shape_.slices > 1 ? "(threadIdx.z * " + digits(shape_.threads_y()) + " + threadIdx.y)" : "threadIdx.y";
    add(out, indent, "const int " + names_.thread + " = " + row + " * " + x + " + threadIdx.x;");
  }
  for (auto& sum : loop_.sums) add(out, indent, sum.type + " " + sum.name + of_rows + of_columns + " = {};");
  for (auto& kept : loop_.kept)
    add(out, indent,
        kept.type + " " + kept.name + (kept.axes & kTileRow ? of_rows : "") +
            (kept.axes & kTileColumn ? of_columns : "") + " = {};");
  return true;
}

/// What is done for each of the thread's outputs before the loop, or after it.
bool TileText::add_outputs(std::string& out, const std::string& indent, bool before) const {
  auto& items = before ? loop_.before : loop_.after;
  auto needs = contents(items);
  const std::string iterates = "if (" + loop_.first + " < " + loop_.bound + ") ";
  std::string first, last, loops, inner = indent;
  add_loops(loops, inner, true);
  // One slice begins with what the original begins with, the others with zeros.
  std::string guard = loop_.guard;
  if (before && shape_.slices > 1) guard = "threadIdx.z == 0" + (guard.empty() ? "" : " && " + guard);
  const std::string body = guard.empty() ? inner : inner + source_.step();
  if (before)
    for (auto& kept : loop_.kept) {
      add(first, body, (kept.variable ? "" : iterates) + kept.name + subscripts(kept.axes) + " = " + kept.value + ";");
      needs.push_back(kept.variable ? static_cast<const clang::Stmt*>(kept.variable->getInit()) : kept.uses.front());
    }
  for (auto& sum : loop_.sums) {
    if (!sum.element || (before && !sum.loaded)) continue;
    const std::string element = source_.spelled(sum.element), copy = sum.name + subscripts(kTileRow | kTileColumn),
                      when = sum.only_in_loop ? iterates : "";
    needs.push_back(sum.element);
    if (before) add(first, body, when + copy + " = " + element + ";");
    else add(last, body, when + element + " = " + copy + ";");
  }
  std::string between;
  if (!add_items(between, body, items, Region::Outputs)) return false;
  if (first.empty() && between.empty() && last.empty()) return true;
  std::string declared;
  if (!add_items(declared, body, loop_.needed_by(needs), Region::Outputs, true)) return false;
  const std::string work = declared + first + between + last;
  out += loops + indices(inner, kTileRow | kTileColumn);
  if (guard.empty()) {
    out += work;
  } else if (std::ranges::count(work, '\n') == 1) {
    out += inner + "if (" + guard + ") " + work.substr(body.size());
  } else {
    add(out, inner, "if (" + guard + ") {");
    out += work;
    add(out, inner, "}");
  }
  add(out, inner.substr(0, inner.size() - source_.step().size()), "}");
  return true;
}

/// Copies the operands' elements for the next iterations to shared memory, each thread as many of them.
bool TileText::add_staging(std::string& out, const std::string& indent, Staging staging) const {
  const std::string step = loop_.counter->getNameAsString(), inner = indent + source_.step();
  const auto pieces_of = [&](int64_t size) { return names_.piece + (size == 1 ? "" : " * " + digits(size)); };
  for (bool rows : {true, false})
    for (bool along_steps : {true, false}) {
      std::vector<const clang::Stmt*> uses;
      std::string copies, of_step, of_index, count;
      auto& index = rows ? loop_.row : loop_.column;
      const int64_t side = rows ? shape_.rows : shape_.columns;
      for (size_t i = 0; i < tiles_.size(); ++i) {
        auto& operand = loop_.operands[i];
        if (operand.of_rows != rows || operand.along_steps != along_steps) continue;
        // Neighbouring threads load neighbouring elements.
        const int64_t length = along_steps ? shape_.depth() : side;
        const std::string near = names_.thread + " % " + digits(length),
                          far = names_.thread + " / " + digits(length) + " + " + pieces_of(shape_.threads() / length);
        if (by_number(operand)) {
          of_step = along_steps ? near : far, of_index = along_steps ? far : near;
        } else {
          of_step = shape_.slices > 1 ? names_.thread_step : "threadIdx.x";
          of_index = "threadIdx.y + " + pieces_of(shape_.threads_y());
        }
        count = digits(pieces(operand));
        uses.push_back(operand.uses.front());
        const std::string tile = tiles_[i] + "[" + of_step + "][" + of_index + "]",
                          next = source_.fresh_name(tiles_[i] + "_next") + "[" + names_.piece + "]",
                          element = (index.guard.empty() ? "" : index.guard + " && ") + step + " < " + loop_.bound +
                                    " ? " + operand.element + " : 0";
        add(copies, inner,
            (staging == Staging::Load ? next : tile) + " = " + (staging == Staging::Store ? next : element) + ";");
      }
      if (copies.empty()) continue;
      const bool block = staging != Staging::Store || uses.size() > 1;
      add(out, indent, "#pragma unroll");
      add(out, indent,
          "for (int " + names_.piece + " = 0; " + names_.piece + " < " + count + "; ++" + names_.piece + ")" +
              (block ? " {" : ""));
      if (staging != Staging::Store) {
        const std::string of_indices =
                              index.name + " = " + (rows ? names_.block_row : names_.block_column) + " + " + of_index,
                          of_steps = step + " = " + names_.start + " + " + of_step;
        if (index.type == loop_.counter_type) {
          add(out, inner, "const " + index.type + " " + of_indices + ", " + of_steps + ";");
        } else {
          add(out, inner, "const " + index.type + " " + of_indices + ";");
          add(out, inner, "const " + loop_.counter_type + " " + of_steps + ";");
        }
        if (!add_items(out, inner, loop_.needed_by(uses), Region::Outputs, true)) return false;
      }
      out += copies;
      if (block) add(out, indent, "}");
    }
  return true;
}

/// Declares the registers of the operands that are loaded ahead, and what loads them.
bool TileText::add_loads_ahead(std::string& out, const std::string& indent) const {
  for (size_t i = 0; i < tiles_.size(); ++i)
    add(out, indent,
        loop_.operands[i].type + " " + source_.fresh_name(tiles_[i] + "_next") + "[" +
            digits(pieces(loop_.operands[i])) + "];");
  add(out, indent, "const auto " + names_.load + " = [&](" + loop_.counter_type + " " + names_.start + ") {");
  if (!add_staging(out, indent + source_.step(), Staging::Load)) return false;
  add(out, indent, "};");
  add(out, indent, names_.load + "(" + loop_.first + ");");
  return true;
}

/// The loop's body for each of the thread's outputs.
bool TileText::add_inner_loop(std::string& out, const std::string& indent) const {
  const std::string step = loop_.counter->getNameAsString();
  TileAxes mentioned = 0;
  for (auto* statement : contents(loop_.body))
    walk(statement, [&](const clang::Stmt* part) {
      auto used = [&](auto& load) { return std::ranges::find(load.uses, part) != load.uses.end(); };
      if (std::ranges::any_of(loop_.operands, used) || std::ranges::any_of(loop_.kept, used)) return false;
      auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(part);
      for (auto& sum : loop_.sums)
        if (sum.element && element && named_variable(element->getBase()) == sum.variable) return false;
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(part);
      if (reference && reference->getDecl() == loop_.row.variable) mentioned |= kTileRow;
      if (reference && reference->getDecl() == loop_.column.variable) mentioned |= kTileColumn;
      return true;
    });
  add(out, indent, "#pragma unroll " + digits(std::min(shape_.steps(), kUnrolledSteps)));
  add(out, indent,
      "for (" + loop_.counter_type + " " + step + " = " + (shape_.slices > 1 ? names_.first : names_.start) + "; " +
          step + " < " + names_.end + "; ++" + step + ")");
  std::string at = indent + source_.step();
  const bool block = loop_.body.size() > 1 || mentioned;
  add_loops(out, at, block);
  out += indices(at, mentioned);
  if (!add_items(out, at, loop_.body, Region::Loop)) return false;
  if (block) add(out, at.substr(0, at.size() - source_.step().size()), "}");
  return true;
}

/// Adds the sums of the other slices to those of the first, which computes the outputs from them.
void TileText::add_slices_up(std::string& out, const std::string& indent) const {
  const std::string inner = indent + source_.step(),
                    own = subscripts(kTileRow | kTileColumn) + "[threadIdx.y][threadIdx.x]";
  auto each = [&](const std::string& condition, bool stores) {
    std::string at = inner + source_.step(), lines;
    add(out, inner, "if (threadIdx.z == " + condition + ")");
    const bool block = loop_.sums.size() > 1;
    add_loops(out, at, block);
    for (auto& sum : loop_.sums) {
      const std::string part = source_.fresh_name(sum.name + "_parts") + own,
                        mine = sum.name + subscripts(kTileRow | kTileColumn);
      add(out, at, stores ? part + " = " + mine + ";" : mine + " += " + part + ";");
    }
    if (block) add(out, at.substr(0, at.size() - source_.step().size()), "}");
    add(out, inner, "__syncthreads();");
  };
  add(out, indent,
      "for (unsigned " + names_.slice + " = 1; " + names_.slice + " < " + digits(shape_.slices) + "; ++" +
          names_.slice + ") {");
  each(names_.slice, true);
  each("0", false);
  add(out, indent, "}");
  add(out, indent, "if (threadIdx.z != 0) return;");
}

std::optional<std::string> TileText::text() {
  const std::string indent = source_.indentation(loop_.begin), inner = indent + source_.step();
  if (shape_.slices > 1 && (!loop_.only_adds || !loop_.kept.empty())) return std::nullopt;
  std::string out;
  if (!add_declarations(out, indent) || !add_outputs(out, indent, true)) return std::nullopt;
  const bool sliced = shape_.slices > 1;
  const std::string depth = digits(shape_.depth()),
                    next = (sliced ? names_.first : names_.start) + " + " + digits(shape_.steps());

  if (shape_.ahead && !add_loads_ahead(out, indent)) return std::nullopt;
  out += comments_above(loop_.loop, indent);
  add(out, indent,
      "for (" + loop_.counter_type + " " + names_.start + " = " + loop_.first + "; " + names_.start + " < " +
          loop_.bound + "; " + names_.start + " += " + depth + ") {");
  if (!add_staging(out, inner, shape_.ahead ? Staging::Store : Staging::Whole)) return std::nullopt;
  add(out, inner, "__syncthreads();");
  if (shape_.ahead) add(out, inner, names_.load + "(" + names_.start + " + " + depth + ");");
  if (sliced)
    add(out, inner,
        "const " + loop_.counter_type + " " + names_.first + " = " + names_.start + " + threadIdx.z * " +
            digits(shape_.steps()) + ";");
  add(out, inner,
      "const " + loop_.counter_type + " " + names_.end + " = " + next + " < " + loop_.bound + " ? " + next + " : " +
          loop_.bound + ";");
  if (!add_inner_loop(out, inner)) return std::nullopt;
  add(out, inner, "__syncthreads();");
  add(out, indent, "}");
  if (sliced) add_slices_up(out, indent);
  if (!add_outputs(out, indent, false)) return std::nullopt;
  return out.substr(indent.size());
}

}  // namespace kernelift::tuner
