// A compiler option that does not exist, with control characters.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-no-such-\u001b[2J@MARK@"]}
@KERNEL@