//! Tests of the readers and writers of records.

mod bad_input;
mod batches;
mod damage;
mod dialects;
mod documented_dialects;
mod documented_fields;
mod exports;
mod folders;
mod foreign_columns;
mod formats;
mod independent_counts;
mod optional_fields;
#[cfg(feature = "parquet")]
mod parquet;
mod real_accounting;
mod real_records;
mod real_traces;
mod record_template;
mod round_trip;
mod separators_in_names;
mod synonyms;
mod usage;
mod zero_is_known;
