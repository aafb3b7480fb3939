// An option that loads a library.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"options": ["-load-pass-plugin=@SECRET@", "-load=@SECRET@"]}
@KERNEL@