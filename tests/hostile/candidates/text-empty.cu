// No text at all but a comment.
//! kind text
//! kernel map
//! devices both
//! must wrong unstable cheated suspect launch_failed refused compile_failed
// nothing
