// Asks how long a file is.
//! kind embeds
//! kernel map
//! devices both
//! must refused compile_failed
#if __has_embed("@SECRET@" limit(4)) == 1
#error there
#endif
@KERNEL@