// An inline variable of a class template, initialised by a call.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@template <class T> struct Hidden { static inline int once = __builtin_printf("hidden"); };
template struct Hidden<int>;
