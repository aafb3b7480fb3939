// An instantiation of a template, which makes code for the host.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@template <class T> struct Hidden { int x; constexpr int get() const { return x; } }; template struct Hidden<int>;
