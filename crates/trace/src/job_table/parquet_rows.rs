//! Writer for rows of text as Parquet, for tables that are not jobs.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::parquet::{ParquetCells, io_error};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParquetColumnType {
    /// Text.
    Text,
    /// Doubles.
    Real,
    /// Integers of 64 bits.
    Whole,
}

/// A writer of rows, a batch at a time, each as a row group. An empty cell is null.
pub struct ParquetRowWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    types: Vec<ParquetColumnType>,
}

impl<W: Write + Send> ParquetRowWriter<W> {
    /// Creates a writer to `out`, which should be buffered, of columns with these names and types.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn new(out: W, columns: &[(&str, ParquetColumnType)]) -> io::Result<Self> {
        let types = columns.iter().map(|(_, kind)| *kind).collect();
        let file = begin(out, columns).map_err(io_error)?;
        Ok(Self { file, types })
    }

    /// Writes rows with a cell for each column. A cell that is no value of its column's type is null.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn write<R: AsRef<[String]>>(&mut self, rows: &[R]) -> io::Result<()> {
        self.row_group(rows).map_err(io_error)
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(self) -> io::Result<W> {
        self.file.into_inner().map_err(io_error)
    }

    fn row_group<R: AsRef<[String]>>(&mut self, rows: &[R]) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for (place, kind) in self.types.iter().enumerate() {
            let texts = rows.iter().map(|row| row.as_ref()[place].as_str());
            let column = group.next_column()?;
            cells(*kind, texts).put(column.expect("as many columns as the schema has"))?;
        }
        group.close()?;
        Ok(())
    }
}

fn begin<W: Write + Send>(
    out: W,
    columns: &[(&str, ParquetColumnType)],
) -> Result<SerializedFileWriter<W>> {
    let fields = columns
        .iter()
        .map(|(name, kind)| cells(*kind, std::iter::empty()).field(name))
        .collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("row")
        .with_fields(fields)
        .build()?;
    SerializedFileWriter::new(out, Arc::new(schema), Arc::default())
}

fn cells<'a>(kind: ParquetColumnType, texts: impl Iterator<Item = &'a str>) -> ParquetCells {
    match kind {
        ParquetColumnType::Text => {
            let known = |text: &'a str| Some(text).filter(|text| !text.is_empty());
            ParquetCells::Texts(texts.map(|text| known(text).map(ByteArray::from)).collect())
        }
        ParquetColumnType::Real => {
            ParquetCells::Reals(texts.map(|text| text.parse().ok()).collect())
        }
        ParquetColumnType::Whole => {
            ParquetCells::Wholes(texts.map(|text| text.parse().ok()).collect())
        }
    }
}
