//! Tables that are handed to other libraries, without a copy.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, SchemaRef};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use tollgate_report::pluralise;

use crate::cells::{self, PythonTypes};
use crate::errors::ErrorClass;

/// Number of rows that a table shows of itself.
const SHOWN_ROWS: usize = 10;

/// Width of the text of a table, in columns of a terminal.
const SHOWN_WIDTH: usize = 100;

/// The gap between two columns of text.
const GAP: &str = "  ";

/// A table of columns, which other libraries read through Arrow without a copy.
#[pyclass(frozen, module = "tollgate")]
#[derive(Clone, Debug)]
pub(crate) struct Table {
    batches: Arc<[RecordBatch]>,
    schema: SchemaRef,
}

impl Table {
    /// Creates a table of batches with the same schema.
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self {
            batches: batches.into(),
            schema,
        }
    }

    /// Creates a table of one batch.
    pub(crate) fn of(batch: RecordBatch) -> Self {
        Self::new(batch.schema(), vec![batch])
    }

    fn len(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Returns each batch with a row of it, for the first rows.
    fn first_rows(&self, most: usize) -> impl Iterator<Item = (&RecordBatch, usize)> {
        let rows = |batch| (0..RecordBatch::num_rows(batch)).map(move |row| (batch, row));
        self.batches.iter().flat_map(rows).take(most)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
    }

    fn module_method<'py>(
        slf: &Bound<'py, Self>,
        module: &str,
        path: &[&str],
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut found = slf.py().import(module)?.into_any();
        for name in path {
            found = found.getattr(*name)?;
        }
        found.call1((slf,))
    }
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.len()
    }

    /// Each call gives a fresh stream over the same buffers. A requested schema is not followed, as the protocol allows.
    #[pyo3(signature = (requested_schema = None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches: Vec<RecordBatch> = self.batches.to_vec();
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref());
        let schema = schema.map_err(|error| ErrorClass::Internal.raise(error, None))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.names().map(str::to_owned).collect()
    }

    /// The types of the columns by name, as Arrow writes them.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let types = PyDict::new(py);
        for field in self.schema.fields() {
            types.set_item(field.name(), type_name(field.data_type()))?;
        }
        Ok(types)
    }

    /// The facts about the source of the table besides its rows.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metadata = PyDict::new(py);
        let mut keys: Vec<_> = self.schema.metadata().iter().collect();
        keys.sort();
        for (key, value) in keys {
            metadata.set_item(key, value)?;
        }
        Ok(metadata)
    }

    /// Returns the values of a column.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyList>> {
        let Ok(place) = self.schema.index_of(column) else {
            let names: Vec<&str> = self.names().collect();
            let message = format!("no column `{column}`: the columns are {}", names.join(", "));
            return Err(PyKeyError::new_err(message));
        };
        let types = PythonTypes::new(py)?;
        let values = PyList::empty(py);
        for batch in self.batches.iter() {
            for row in 0..batch.num_rows() {
                values.append(cells::to_python(&types, batch.column(place), row)?)?;
            }
        }
        Ok(values)
    }

    /// Returns the rows as dictionaries.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let types = PythonTypes::new(py)?;
        let mut rows = Vec::with_capacity(self.len());
        for (batch, row) in self.first_rows(usize::MAX) {
            let values = PyDict::new(py);
            for (name, column) in self.names().zip(batch.columns()) {
                values.set_item(name, cells::to_python(&types, column, row)?)?;
            }
            rows.push(values);
        }
        Ok(rows)
    }

    /// Returns the table as a `pyarrow.Table`.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::module_method(slf, "pyarrow", &["table"])
    }

    /// Returns the table as a `pandas.DataFrame`.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::module_method(slf, "pandas", &["DataFrame", "from_arrow"])
    }

    /// Returns the table as a `polars.DataFrame`.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::module_method(slf, "polars", &["DataFrame"])
    }

    /// Returns the table as a `duckdb` relation.
    fn to_duckdb<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::module_method(slf, "duckdb", &["from_arrow"])
    }

    pub(crate) fn __repr__(&self) -> String {
        let mut texts = Vec::new();
        let mut left_out = Vec::new();
        let mut width = 0;
        for (place, name) in self.names().enumerate() {
            let rows = self.first_rows(SHOWN_ROWS);
            let cells = rows.map(|(batch, row)| cells::to_text(batch.column(place), row));
            let column: Vec<String> = [name.to_owned()].into_iter().chain(cells).collect();
            let widest = column.iter().map(|cell| cell.chars().count()).max();
            let widest = widest.unwrap_or_default();
            width += widest + GAP.len();
            match width > SHOWN_WIDTH && place > 0 {
                true => left_out.push(name),
                false => texts.push((column, widest)),
            }
        }
        let shown = self.len().min(SHOWN_ROWS);
        let mut text = format!("{}\n", pluralise(self.len(), "row"));
        for line in 0..=shown {
            let cells = texts
                .iter()
                .map(|(column, widest)| format!("{:widest$}", column[line]));
            text.push_str(cells.collect::<Vec<_>>().join(GAP).trim_end());
            text.push('\n');
        }
        if self.len() > shown {
            text.push_str("..\n");
        }
        if !left_out.is_empty() {
            let _ = writeln!(text, "and the columns {}", left_out.join(", "));
        }
        text.truncate(text.trim_end().len());
        text
    }

    pub(crate) fn _repr_html_(&self) -> String {
        let mut html = "<table><thead><tr>".to_owned();
        for name in self.names() {
            let _ = write!(html, "<th>{}</th>", escape(name));
        }
        html.push_str("</tr></thead><tbody>");
        for (batch, row) in self.first_rows(SHOWN_ROWS) {
            html.push_str("<tr>");
            for column in batch.columns() {
                let _ = write!(html, "<td>{}</td>", escape(&cells::to_text(column, row)));
            }
            html.push_str("</tr>");
        }
        let _ = write!(
            html,
            "</tbody></table><p>{}</p>",
            pluralise(self.len(), "row")
        );
        html
    }
}

/// Returns a text as it stands in HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 => "string".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        DataType::Dictionary(_, values) => format!("dictionary<{}>", type_name(values)),
        DataType::Timestamp(_, Some(zone)) => format!("timestamp[us, {zone}]"),
        DataType::Duration(_) => "duration[us]".to_owned(),
        other => other.to_string().to_lowercase(),
    }
}
