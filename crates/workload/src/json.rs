//! Records in JSON: found one at a time in a stream, whatever their number, and read leniently.

mod loose;
mod split;

pub(crate) use loose::{LenientNumber, LenientTexts};
pub(crate) use split::for_each_record;
