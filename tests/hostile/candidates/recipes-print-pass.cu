// A pass that prints the program to the terminal.
//! kind recipes
//! kernel map
//! devices cpu
//! must refused compile_failed compile_crashed no-gain timed_out launch_failed
//! recipe {"passes": "print,function(print)"}
@KERNEL@