//! Records in JSON: found one at a time in a stream, whatever their number, and read leniently.

mod lenient;
mod record_splitter;

pub(crate) use lenient::{LenientNumber, LenientTexts};
pub(crate) use record_splitter::for_each_record;
