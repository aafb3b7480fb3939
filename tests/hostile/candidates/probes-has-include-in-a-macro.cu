// Asks whether a file exists by a macro.
//! kind probes
//! kernel map
//! devices both
//! must refused compile_failed
#define ASK __has_include("@SECRET@")
#if ASK
#error there
#endif
@KERNEL@