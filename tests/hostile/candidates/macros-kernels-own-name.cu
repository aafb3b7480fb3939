// A macro with the kernel's own name: what the host launches is another.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define map(...) theirs(__VA_ARGS__)
