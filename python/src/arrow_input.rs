//! Tables that other libraries hand over, through the Arrow PyCapsule interface.
//!
//! This is the only file with unsafe code: a capsule holds a pointer, and its name alone says to what.
#![allow(unsafe_code)]

use arrow_array::RecordBatch;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::ErrorClass;

/// The name of a capsule that holds a stream.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// Takes all batches of an object with `__arrow_c_stream__`.
///
/// # Errors
/// If the object has no such method, or its stream fails.
pub(crate) fn take_batches(table: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: By the PyCapsule interface, a capsule of this name holds a pointer to a valid stream, which the consumer
    // takes by moving it out and leaving a released stream, as `from_raw` does. The capsule lives until the end of this
    // function, and the lock of the interpreter keeps others from taking the same stream meanwhile.
    let reader = unsafe {
        RecordBatchStreamReader::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>())
    };
    let failed = |error| ErrorClass::Record.raise(format_args!("the table: {error}"), None);
    let reader = reader.map_err(failed)?;
    let schema = reader.schema();
    let batches: Result<Vec<RecordBatch>, _> = reader.collect();
    Ok((schema, batches.map_err(failed)?))
}
