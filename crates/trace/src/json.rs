//! Streaming readers for JSON records: one record in memory at a time, with lenient values.

mod lenient;
mod record_splitter;

pub(crate) use lenient::{LenientNumber, LenientTexts};
pub(crate) use record_splitter::for_each_record;
