// Includes a file, the directive split over lines.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#inc\
lude "@SECRET@"
@KERNEL@