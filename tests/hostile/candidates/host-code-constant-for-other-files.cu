// A constant that other files of the application would link against.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@extern const int optind = 99;
