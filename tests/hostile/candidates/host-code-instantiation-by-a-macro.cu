// An instantiation whose keyword comes from a macro.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define HIDDEN template
template <class T> struct Hidden { int x; constexpr int get() const { return x; } };
HIDDEN struct Hidden<int>;
