// Every byte is one choice; when they are used up, every choice is the first alternative, which is a leaf.
#include "tests/fuzz/candidate_grammar.h"

#include <initializer_list>
#include <vector>

namespace kernelift::fuzz {
namespace {

class Grammar {
 public:
  explicit Grammar(std::string_view bytes) : bytes_(bytes) {}

  unsigned choice(unsigned of) {
    if (at_ >= bytes_.size()) return 0;
    return static_cast<unsigned char>(bytes_[at_++]) % of;
  }
  bool is_used_up() const { return at_ >= bytes_.size(); }
  const char* pick(std::initializer_list<const char*> all) {
    return all.begin()[choice(static_cast<unsigned>(all.size()))];
  }
  bool rarely() { return choice(8) == 7; }

  std::string name() {
    switch (choice(8)) {
      case 0:
      case 1: return "fresh" + std::to_string(fresh_++);
      case 2: return pick({"fresh0", "tile", "helper", "Pair", "Real", "inner", "depth", "once"});
      case 7: return pick({"fresh", "kScale", "scaled", "scale", "Options", "smaller", "host_work", "calls"});
      default: return header_name();
    }
  }
  /// Names that the application's header or Kernelift's headers declare.
  std::string header_name() {
    if (rarely()) return pick({"lib", "std", "operator==", "BLOCK", "NULL", "assert", "size_t", "app"});
    return pick({"widen",
                 "rating",
                 "measure",
                 "norm",
                 "limit",
                 "rank",
                 "Traits",
                 "Box",
                 "Wrapped",
                 "Point",
                 "Color",
                 "Red",
                 "Vec",
                 "Mode",
                 "swap",
                 "fabs",
                 "abs",
                 "min",
                 "max",
                 "printf",
                 "memcpy",
                 "cudaFree",
                 "cudaSuccess",
                 "float2",
                 "dim3",
                 "malloc",
                 "make_int2",
                 "sqrt",
                 "cudaError_t",
                 "cudaMalloc",
                 "cudaMemcpyHostToDevice",
                 "uint3"});
  }
  std::string header_type() {
    return pick({"lib::Vec", "lib::Mode", "Color", "Point", "dim3", "cudaError_t", "float2", "Wrapped<float>",
                 "lib::Box<int>"});
  }
  std::string plain_type() {
    switch (choice(3)) {
      case 0: return pick({"int", "float", "double", "long", "unsigned", "bool", "char"});
      case 1: return header_type();
      default: return pick({"int", "Pair", "const char*", "lib::Mode", "Point", "float*", "Any"});
    }
  }
  std::string type() {
    switch (choice(8)) {
      case 6: return pick({"const ", "volatile ", "const volatile "}) + plain_type() + pick({"", "&", "*"});
      case 7:
        return pick({"auto", "T", "decltype(nullptr)", "decltype(auto)", "int&", "void", "short", "inner::Pair",
                     "typename lib::Traits<int>::type"});
      default: return plain_type();
    }
  }
  std::string specifier() {
    return pick({"__device__ ",
                 "",
                 "constexpr ",
                 "static ",
                 "inline ",
                 "__host__ ",
                 "__global__ ",
                 "extern ",
                 "consteval ",
                 "thread_local ",
                 "const ",
                 "volatile ",
                 "__constant__ ",
                 "__shared__ ",
                 "__forceinline__ ",
                 "constinit ",
                 "__managed__ ",
                 "register ",
                 "[[maybe_unused]] ",
                 "[[gnu::constructor]] ",
                 "__attribute__((used)) ",
                 "__attribute__((weak)) ",
                 "alignas(64) ",
                 "__attribute__((overloadable)) ",
                 "[[nodiscard]] ",
                 "__attribute__((visibility(\"default\"))) ",
                 "__grid_constant__ ",
                 "friend ",
                 "virtual ",
                 "explicit ",
                 "mutable ",
                 "typedef "});
  }
  std::string specifiers() {
    std::string all =
        pick({"__device__ ", "", "constexpr ", "static ", "inline ", "__host__ __device__ ", "const ",
              "static constexpr ", "inline constexpr ", "__device__ constexpr ", "static __device__ ", "extern const ",
              "__constant__ ", "const volatile ", "constexpr static inline ", "extern "});
    while (rarely()) all += specifier();
    return all;
  }
  std::string expression() {
    if (deeper_ > 3) return "1";
    ++deeper_;
    std::string made;
    switch (choice(16)) {
      case 0: made = pick({"0", "1", "7", "2.5f", "true", "nullptr", "'c'", "\"text\"", "5u", "{}"}); break;
      case 1: made = name(); break;
      case 2: made = "lib::" + name(); break;
      case 3: made = name() + "(" + expression() + ")"; break;
      case 4: made = expression() + pick({" + ", " == ", " < ", ", ", " = ", " << "}) + expression(); break;
      case 5: made = "[](" + parameters() + ") " + body(); break;
      case 6: made = type() + "{" + expression() + "}"; break;
      case 7: made = pick({"sizeof(", "alignof(", "noexcept(", "typeid("}) + type() + ")"; break;
      case 8: made = "(" + type() + ")(" + expression() + ")"; break;
      case 9:
        made = pick({"__LINE__", "__func__", "__COUNTER__", "({ 1; })", "new int", "this", "R\"(x)\"", "R\"x(\n)x\"",
                     "__builtin_trap()", "threadIdx.x", "system(\"x\")", "sizeof(__PRETTY_FUNCTION__)",
                     "(true ? 0 : widen(1))", "__GXX_ABI_VERSION", "__unheard_of(1)", "requires { scaled(1); }"});
        break;
      default: made = "1";
    }
    --deeper_;
    return made;
  }
  std::string parameters() {
    std::string all;
    const char* names[] = {" a", " b", " c"};
    for (unsigned n = choice(4), i = 0; i < n; ++i) {
      all += (all.empty() ? "" : ", ") + type() + names[i];
      if (rarely()) all += " = " + expression();
    }
    return all;
  }
  std::string body() {
    if (deeper_ > 2) return "{ return {}; }";
    switch (choice(12)) {
      case 0: return "{ return 0; }";
      case 2: return ";";
      case 3: return " = default;";
      case 4: return " = delete;";
      case 5: return "{}";
      case 6: return "{ return " + expression() + "; }";
      case 7: return "{ " + statement() + " return " + expression() + "; }";
      default: return "{ return {}; }";
    }
  }
  std::string operator_name() {
    return std::string("operator") +
           pick({"==", "+", "<",  "()", "[]", "\"\"_x", " int", " bool", " new",      " delete",
                 ",",  "=", "->", "&",  "!",  "<<",     "<=>",  "~",     " lib::Vec", " float"});
  }
  std::string template_head() {
    switch (choice(5)) {
      case 0: return "template <class T> ";
      case 1: return "template <> ";
      case 2: return "template ";
      case 3: return "template <int N, class T = " + type() + "> ";
      default: return "template <class T> requires (" + expression() + ") ";
    }
  }
  std::string operator_function() {
    std::string result = pick({"bool ", "int ", "lib::Vec ", "dim3 ", "auto "});
    std::string operation = pick({"==", "<", "+", "-", "|", "!=", "<<", ",", "*", "&&", "<=>", ">"});
    std::string first = choice(4) == 3 ? type() : header_type(), second = choice(2) ? type() : first;
    return specifiers() + result + "operator" + operation + "(" + first + " a, " + second + " b) { return {}; }";
  }
  std::string function() {
    if (choice(4) == 3) return operator_function();
    if (choice(3) == 2) {
      std::string made = choice(4) == 3 ? "template <class T> " : "";
      made += specifiers() + pick({"int ", "float ", "bool ", "auto ", "lib::Vec "}) + name() + "(";
      return made + (made[0] == 't' ? "T a" : header_type() + " a") + pick({"", ", int b", ", long b"}) + ") " +
             pick({"{ return {}; }", "{ return 9; }", ";"});
    }
    std::string head = choice(5) == 4 ? template_head() : "";
    std::string named = rarely() ? operator_name() : name();
    if (head == "template <> " || rarely()) named += "<" + type() + ">";
    std::string result = rarely() ? "" : type() + " ";
    std::string tail;
    if (rarely())
      tail = pick({" noexcept", " const", " asm(\"system\")", " __attribute__((alias(\"main\")))", " -> int", " try",
                   " requires true", " __attribute__((noinline))", " __attribute__((enable_if(true, \"\")))"});
    std::string of = choice(3) == 2 ? header_type() + " a" : parameters();
    return head + specifiers() + result + named + "(" + of + ")" + tail + " " + (result == "void " ? "{}" : body());
  }
  std::string variable() {
    std::string head = rarely() ? template_head() : "";
    std::string made = head + specifiers() + type() + " " + (rarely() ? "Pair::" : "") + name();
    if (rarely()) made += "[2]";
    switch (choice(8)) {
      case 0: return made + " = " + expression() + ";";
      case 1: return made + ";";
      case 2: return made + "{" + expression() + "};";
      case 3:
        return made + pick({"(1);", " asm(\"environ\");", " __attribute__((section(\"x\"))) = 1;", ", two = 2;",
                            " __attribute__((unused)) = 1;"});
      case 4: return made + "{};";
      default: return made + " = " + pick({"1", "2", "{}", "{1, 2}"}) + ";";
    }
  }
  std::string enumeration() {
    return std::string(pick({"enum ", "enum class ", "enum "})) + (choice(3) ? name() : "") +
           pick({"", " : char", " : long"}) + " { " + name() + (choice(2) ? " = " + expression() : "") + ", " + name() +
           " };";
  }
  std::string structure() {
    if (deeper_ > 2) return "struct Pair;";
    ++deeper_;
    std::string head = rarely() ? template_head() : "";
    std::string made = head + pick({"struct ", "class ", "union "}) + name();
    if (rarely()) made += "<" + type() + ">";
    if (rarely()) made += " : " + plain_type();
    made += " { public: ";
    for (unsigned n = choice(4); n > 0; --n) made += member() + " ";
    --deeper_;
    return made + "}" + pick({"", " it", " *at = nullptr"}) + ";";
  }
  std::string member() {
    switch (choice(8)) {
      case 0: return type() + " x;";
      case 1: return function();
      case 2: return "friend " + function();
      case 3: return "static " + variable();
      case 4: return specifiers() + pick({"Pair", "~Pair", "fresh", "Any"}) + "(" + parameters() + ") {}";
      case 5: return specifiers() + operator_name() + "(" + parameters() + ") const " + body();
      case 6: return "using " + name() + " = " + type() + ";";
      default: return declaration();
    }
  }
  std::string space() {
    if (deeper_ > 2) return ";";
    ++deeper_;
    std::string made = pick({"namespace inner { ", "namespace { ", "inline namespace inner { ", "namespace lib { ",
                             "namespace std { ", "namespace app { ", "extern \"C\" { ", "namespace inner::deep { ",
                             "extern \"C++\" { ", "namespace fresh [[deprecated]] { "});
    for (unsigned n = 1 + choice(3); n > 0; --n) made += declaration() + " ";
    --deeper_;
    return made + "}";
  }
  std::string alias() {
    switch (choice(9)) {
      case 0: return "typedef " + type() + " " + name() + ";";
      case 1: return "using " + name() + " = " + type() + ";";
      case 2: return "using namespace " + name() + ";";
      case 3: return "using lib::" + name() + ";";
      case 4: return "namespace " + name() + " = " + name() + ";";
      case 5: return "using enum lib::Mode;";
      case 6: return "template <class T> using " + name() + " = " + type() + ";";
      case 7: return "using std::" + name() + ";";
      default: return "using inner::" + name() + ";";
    }
  }
  std::string odd_declaration() {
    switch (choice(10)) {
      case 0: return "static_assert(" + expression() + ");";
      case 1: return name() + "(" + parameters() + ") -> " + type() + "<" + type() + ">;";
      case 2: return "template <class T> " + name() + "(T) -> " + name() + "<int>;";
      case 3: return "template <class T> concept " + name() + " = " + expression() + ";";
      case 4:
        return std::string(pick({"template ", "extern template "})) +
               pick({"struct lib::Box<double>;", "struct Wrapped<int>;", "int lib::rank<int>;",
                     "int rating<long>(long);", "class lib::Traits<char>;", "const int lib::kept<float>;",
                     "__device__ int rating<int>(int);", "__global__ int rating<int>(int);",
                     "__global__ int lib::rate<Point>(Point);"});
      case 9:
        return std::string(pick({"template <> constexpr int lib::Box<int>::get() const { return 9; }",
                                 "template <> inline constexpr int lib::Traits<Point>::size = 9;",
                                 "template <> constexpr int lib::rank<int> = 5;",
                                 "struct Pair { __device__ virtual int f(); }; __device__ int Pair::f() { return 0; }",
                                 "struct Pair { static const int x; }; const int Pair::x = 3;",
                                 "template <class T> struct lib::Traits<T*> { static constexpr int size = 1; };",
                                 "template <class T = int> struct Wrapped;"}));
      case 5: return std::string(pick({"asm(\"nop\");", "__asm__(\"\");", "export module m;", "import m;"}));
      case 6: return pick({"struct ", "class ", "enum ", "union "}) + name() + ";";
      case 7: return specifiers() + "auto [p, q] = " + type() + "{1, 2};";
      default: return "extern \"C\" " + function();
    }
  }
  std::string declaration() {
    if (deeper_ > 3) return ";";
    ++deeper_;
    std::string made;
    switch (choice(9)) {
      case 0:
      case 1: made = function(); break;
      case 2:
      case 3: made = variable(); break;
      case 4: made = structure(); break;
      case 5: made = space(); break;
      case 6: made = alias(); break;
      case 7: made = enumeration(); break;
      default: made = odd_declaration();
    }
    --deeper_;
    return made;
  }
  std::string directive() {
    switch (choice(10)) {
      case 0: return "#define " + name() + " " + expression() + "\n";
      case 1: return "#define M(" + std::string(pick({"x", "...", "x, y"})) + ") " + declaration() + "\n";
      case 2: return "#define M " + declaration() + "\nM\n";
      case 3: return "#undef " + name() + "\n";
      case 4:
        return std::string(pick({"#if 1", "#ifdef __CUDA_ARCH__", "#ifndef __CUDA_ARCH__", "#if __CUDA_ARCH__ > 10",
                                 "#ifdef BLOCK", "#if __cplusplus", "#ifdef __clang__"})) +
               "\n" + declaration() + pick({"\n#endif\n", "\n#else\n#endif\n", "\n", "\n#elif 1\n#endif\n"});
      case 5:
        return std::string("#pragma ") +
               pick({"unroll", "pack(1)", "clang force_cuda_host_device begin", "weak main", "clang attribute push",
                     "push_macro(\"BLOCK\")", "once", "redefine_extname fabs system", "GCC visibility push(hidden)",
                     "clang optimize off", "STDC FP_CONTRACT OFF", "omp declare target", "clang fp contract(off)",
                     "GCC poison widen"}) +
               "\n";
      case 6: return "_Pragma(\"" + std::string(pick({"unroll", "clang optimize off", "pack(1)"})) + "\")\n";
      case 7:
        return std::string(pick({"#line 3", "#include \"config.h\"", "#error x", "#", "# 1 \"a\"", "#ident \"x\""})) +
               "\n";
      case 8: return "#define " + name() + "(x) " + name() + "(x) + 1\n";
      default: return "#define FRESH_A " + specifiers() + "\nFRESH_A " + function() + "\n";
    }
  }
  std::string statement() {
    if (deeper_ > 3) return ";";
    ++deeper_;
    std::string made;
    switch (choice(8)) {
      case 0: made = expression() + ";"; break;
      case 1: made = variable(); break;
      case 2: made = structure(); break;
      case 3: made = alias(); break;
      case 4: made = "auto lambda = [&](" + parameters() + ") " + body() + ";"; break;
      case 5: made = "\n" + directive(); break;
      case 6: made = "extern " + type() + " " + name() + pick({";", "(int);", "[];"}); break;
      default: made = "static " + variable();
    }
    --deeper_;
    return made;
  }
  /// What stands in front of a kernel's name or behind its parameters.
  std::string kernel_part() {
    return pick({"__launch_bounds__(64) ", "static ", "[[maybe_unused]] ", "inline ", "__host__ ", "constexpr ",
                 "__attribute__((used)) ", "extern \"C\" ", "template <class T> ", "__device__ ", "friend ",
                 "[[gnu::hot]] ", "__cluster_dims__(2) ", "alignas(8) ", "extern "});
  }
  std::string file_piece() { return (choice(4) == 3 ? directive() : declaration()) + "\n"; }

  /// Other spellings of the same text, and pieces that leave something open.
  void respell(std::string& text) {
    switch (choice(48)) {
      case 1: return replace(text, "{", "<%");
      case 2: return replace(text, "#", "%:");
      case 3: return replace(text, "[", "<:");
      case 4: return splice(text, "\\\n");
      case 5: return splice(text, "\\ \n");
      case 6: return splice(text, "/**/");
      case 7: return splice(text, pick({"?\?/\n", "\r", "\f", "\\u0041", "\xE2\x80\xAE", "\xC2\xA0", "\x01", "$"}));
      case 8:
        text += pick({"}\n", "{\n", "/*\n", "// x \\\n", "\"\n", "#if 1\n", "R\"(\n", ")\n", "#endif\n", "\\"});
        return;
      case 9: return replace(text, "__device__", pick({"__attribute__((device))", "", "__host__ __device__", "[[x]]"}));
      default: return;
    }
  }

 private:
  static void replace(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
  }
  void splice(std::string& text, std::string_view what) {
    if (!text.empty()) text.insert((choice(256) << 8 | choice(256)) % text.size(), what);
  }

  std::string_view bytes_;
  size_t at_ = 0;
  int deeper_ = 0;
  unsigned fresh_ = 0;
};

}  // namespace

GrammarText candidate_text(std::string_view bytes, const std::string& original) {
  Grammar grammar(bytes);
  GrammarText made{original, {}};
  if (grammar.choice(4)) {
    const char* const types =
        "struct Pair { int x; };\nstruct Any { int x; template <class T> constexpr Any(T) : x(1) {} };\n";
    made.text.insert(made.text.find("// The kernel."), types), made.added = types;
  }
  for (unsigned n = 1 + grammar.choice(3); n > 0 && !grammar.is_used_up(); --n) {
    const unsigned place = grammar.choice(8);
    std::string piece = place == 5   ? grammar.kernel_part()
                        : place == 6 ? "  " + grammar.statement() + "\n"
                                     : grammar.file_piece();
    grammar.respell(piece);
    const size_t kernel = made.text.find("// The kernel."), name = made.text.find("__global__ void", kernel);
    size_t at = place < 3    ? kernel
                : place < 5  ? made.text.find("\n}", name)
                : place == 5 ? name
                : place == 6 ? made.text.find('\n', name)
                             : made.text.size();
    if (kernel == made.text.npos || name == made.text.npos || at == made.text.npos) break;
    if (place == 3 || place == 4) at += 3;
    if (place == 6) ++at;
    made.text.insert(std::min(at, made.text.size()), piece);
    made.added += piece + (place == 5 ? "scale " : "");
  }
  return made;
}

}  // namespace kernelift::fuzz
