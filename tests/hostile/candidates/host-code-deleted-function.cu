// A function that is deleted: host code that tries which overload there is finds it.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@long labs(int) = delete;
