//! Tests of the readers and writers of records.

mod any_bytes;
mod bad_input;
mod batches;
mod damage;
mod databases;
mod dialects;
mod folders;
mod formats;
#[cfg(feature = "parquet")]
mod parquet;
mod real_accounting;
mod real_records;
mod real_traces;
mod round_trip;
mod usage;
