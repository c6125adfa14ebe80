//! Tollgate's own job table: CSV with a header line.
//!
//! `job_id,submit_s,runtime_s,procs,estimate_s,user,group,account,executable,queue,deadline_s,`
//! `budget,penalty_per_s,wait_s,held_s,cpu_time_s,peak_memory_bytes,requested_memory_bytes,status`, in any
//! order. Only the first four are required. `deadline_s` is a span after submission; numbers may
//! have fractions down to millionths; an empty cell means that the value is not known. Columns of
//! other names are kept and written back.

mod header;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_rows;
mod read;
mod write;

#[cfg(feature = "parquet")]
pub use self::parquet::ParquetWriter;
#[cfg(feature = "parquet")]
pub use parquet_rows::{ParquetColumnType, ParquetRowWriter};
pub use read::read;
pub use write::{JobTableWriter, write};

pub(crate) use header::separator;
pub(crate) use read::{io_error, read_to};
