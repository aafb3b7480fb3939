// A compiler option that prints a version and ends the process.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["--version"]}
@KERNEL@