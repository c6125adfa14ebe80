//! Streaming readers for JSON records: one record in memory at a time, with lenient values.

mod lenient;
mod record_splitter;
mod repair;

pub(crate) use lenient::{Lenient, LenientNumber, LenientTexts};
pub(crate) use record_splitter::for_each_record;
pub(crate) use repair::parse_record;
