// A compiler option that does not exist, with control characters.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! gap control characters of a recipe stay in the verdict's text; they are stripped where it is shown
//! recipe {"options": ["-no-such-\u001b[2J@MARK@"]}
@KERNEL@