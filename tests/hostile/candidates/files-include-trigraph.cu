// Includes a file, the directive spelled by a trigraph.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
??=include "@SECRET@"
@KERNEL@